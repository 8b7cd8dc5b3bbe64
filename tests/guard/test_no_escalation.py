"""A schemer with every use case at hand, and no way to more than they were given."""

from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.core.keys import ApiKey
from portico.guard.core.principals import Identity, Role, Scope
from portico.guard.core.rules import fits
from portico.guard.keys import KeySpec
from portico.guard.principals import PrincipalChange, PrincipalSpec
from portico.guard.spaces import SpaceSpec
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM, an_identity
from tests.guard.room import Room

Result = TypeVar("Result")

ROOT = an_identity(
    "root",
    roles=[Role.ADMIN],
    grants=[Scope.SPACES_CREATE],
    clearance=Label(Level.RESTRICTED, frozenset({"finance", "legal"})),
)
SCHEMERS = [
    an_identity("schemer", roles=[Role.OPERATOR], clearance=Label(Level.CONFIDENTIAL)),
    an_identity("schemer", roles=[Role.ADMIN], clearance=TEAM),
    an_identity("schemer", roles=[Role.MEMBER], clearance=Label(Level.RESTRICTED)),
    replace(an_identity("schemer", roles=[Role.ADMIN], clearance=TEAM), tools=("git.*", "a.b")),
]
TABU = "mail.send"
OTHERS = [
    an_identity("bob", clearance=Label(Level.TEAM, frozenset({"finance"}))),
    an_identity("carol", roles=[Role.VIEWER], clearance=Label(Level.RESTRICTED)),
    an_identity("dan", roles=[Role.OPERATOR], clearance=TEAM),
]

tool_lists = st.lists(st.sampled_from(["*", "git.*", "git.get_*", "mail.*"]), max_size=2).map(tuple)
any_of = st.integers(0, 30)
labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["finance", "legal"]))
)
roles = st.frozensets(st.sampled_from(Role), max_size=2)
scopes = st.frozensets(st.sampled_from(Scope), max_size=6)
few_scopes = st.frozensets(st.sampled_from([Scope.STATUS_READ, Scope.KEYS_OWN, Scope.KEYS_WRITE]))


def run(story: Coroutine[Any, Any, Result]) -> Result:
    """In-memory doors never wait, so that a story ends at its first step."""
    try:
        story.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("an in-memory door has waited")


def tried(story: Coroutine[Any, Any, Result]) -> Result | None:
    try:
        return run(story)
    except PorticoError:
        return None


class Scheming(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.room = Room()
        self.hand: list[ApiKey] = []
        self.given_scopes: frozenset[str] = frozenset()
        self.given_clearance = Label(Level.PUBLIC)

    @initialize(schemer=st.sampled_from(SCHEMERS))
    def the_schemer_comes_in(self, schemer: Identity) -> None:
        self.schemer = schemer
        self.room.holds(ROOT, schemer, *OTHERS)
        self.root = as_principal(ROOT)
        for identity in OTHERS:
            tried(self.room.issue_key(as_principal(identity), KeySpec(name="their own")))
        self.roots_key = run(self.room.issue_key(self.root, KeySpec(name="root's own"))).key
        self.roots_session = run(self.room.open_session(self.roots_key.reveal(), "root's")).key
        own = run(self.room.issue_key(as_principal(schemer), KeySpec(name="my own")))
        self.hand.append(own.key)
        self._remember_what_was_given()

    @rule(
        hand=any_of,
        to=st.none() | any_of,
        scopes=st.none() | few_scopes | scopes,
        clearance=st.none() | labels,
        tools=st.none() | tool_lists,
    )
    def makes_a_key(  # a wish each
        self,
        hand: int,
        to: int | None,
        scopes: frozenset[Scope] | None,
        clearance: Label | None,
        tools: tuple[str, ...] | None = None,
    ) -> None:
        principal = None if to is None else self._anybody(to).id
        wish = KeySpec(
            name="k", principal=principal, scopes=scopes, clearance=clearance, tools=tools
        )
        if (caller := self._enters(hand)) and (made := tried(self.room.issue_key(caller, wish))):
            self.hand.append(made.key)

    @rule(hand=any_of, key=any_of)
    def rotates_a_key(self, hand: int, key: int) -> None:
        caller, key_id, overlap = self._enters(hand), self._any_key(key), timedelta(days=1)
        if caller and (made := tried(self.room.rotate_key(caller, key_id, overlap))):
            self.hand.append(made.key)

    @rule(hand=any_of, key=any_of)
    def revokes_a_key(self, hand: int, key: int) -> None:
        if caller := self._enters(hand):
            tried(self.room.revoke_key(caller, self._any_key(key)))

    @rule(hand=any_of)
    def logs_in(self, hand: int) -> None:
        shown = self.hand[hand % len(self.hand)].reveal()
        if made := tried(self.room.open_session(shown, "b")):
            self.hand.append(made.key)

    @rule(hand=any_of, key=any_of)
    def logs_somebody_out(self, hand: int, key: int) -> None:
        if caller := self._enters(hand):
            tried(self.room.end_session(caller, self._any_key(key)))

    @rule(hand=any_of, roles=roles, clearance=labels, tools=st.none() | tool_lists)
    def adds_somebody(
        self,
        hand: int,
        roles: frozenset[Role],
        clearance: Label,
        tools: tuple[str, ...] | None,
    ) -> None:
        name = f"puppet {len(self.room.world.identities)}"
        wish = PrincipalSpec(
            kind=PrincipalKind.AGENT, name=name, roles=roles, clearance=clearance, tools=tools
        )
        if caller := self._enters(hand):
            tried(self.room.add_principal(caller, wish))

    @rule(hand=any_of, roles=roles, clearance=labels, tools=st.none() | tool_lists)
    def invites_themselves(
        self,
        hand: int,
        roles: frozenset[Role],
        clearance: Label,
        tools: tuple[str, ...] | None = None,
    ) -> None:
        name = f"alias {len(self.room.world.identities)}"
        wish = PrincipalSpec(
            kind=PrincipalKind.PERSON, name=name, roles=roles, clearance=clearance, tools=tools
        )
        caller = self._enters(hand)
        if caller and (made := tried(self.room.invite_person(caller, wish))):
            self.hand.append(made.key)

    @rule(hand=any_of, who=any_of)
    def invites_somebody_again(self, hand: int, who: int) -> None:
        caller, principal = self._enters(hand), self._anybody(who).id
        if caller and (made := tried(self.room.invite_again(caller, principal))):
            self.hand.append(made.key)

    @rule(hand=any_of)
    def accepts_an_invitation(self, hand: int) -> None:
        caller, key_id = self._enters(hand), self.hand[hand % len(self.hand)].id
        if caller and (made := tried(self.room.accept_invitation(caller, key_id))):
            self.hand.append(made.key)

    @rule(
        hand=any_of,
        who=any_of,
        roles=st.none() | roles,
        clearance=st.none() | labels,
        disabled=st.none() | st.booleans(),
        tools=st.none() | tool_lists,
    )
    def changes_somebody(  # noqa: PLR0917 # a change each
        self,
        hand: int,
        who: int,
        roles: frozenset[Role] | None,
        clearance: Label | None,
        disabled: bool | None,
        tools: tuple[str, ...] | None,
    ) -> None:
        change = PrincipalChange(roles=roles, clearance=clearance, disabled=disabled, tools=tools)
        if caller := self._enters(hand):
            tried(self.room.change_principal(caller, self._anybody(who).id, change))

    @rule(hand=any_of)
    def founds_a_space(self, hand: int) -> None:
        if caller := self._enters(hand):
            assert tried(self.room.found_space(caller, SpaceSpec(name="s", admin="me"))) is None

    @rule(who=any_of, clearance=labels)
    def an_honest_admin_changes_a_clearance(self, who: int, clearance: Label) -> None:
        change = PrincipalChange(clearance=clearance)
        tried(self.room.change_principal(self.root, self._anybody(who).id, change))
        self._remember_what_was_given()

    @rule(who=any_of, roles=roles)
    def an_honest_admin_changes_roles(self, who: int, roles: frozenset[Role]) -> None:
        change = PrincipalChange(roles=roles)
        tried(self.room.change_principal(self.root, self._anybody(who).id, change))
        self._remember_what_was_given()

    @invariant()
    def no_key_in_hand_opens_more_than_was_given(self) -> None:
        for number in range(len(self.hand)):
            if principal := self._enters(number):
                clearance, given = principal.clearance, self.given_clearance
                assert principal.scopes - {Scope.INVITATION_ACCEPT} <= self.given_scopes
                assert clearance.level <= given.level
                assert (
                    clearance.compartments <= given.compartments
                    or Scope.COMPARTMENTS_GRANT in self.given_scopes
                )

    @invariant()
    def no_key_in_hand_is_good_for_a_tool_that_was_not_listed(self) -> None:
        if self.hand and self.schemer.tools is not None:
            for number in range(len(self.hand)):
                principal = self._enters(number)
                assert principal is None or not all(fits(TABU, its) for its in principal.tools)

    @invariant()
    def whoever_is_above_is_not_spoken_for_and_not_shut_out(self) -> None:
        if not self.hand or Role.ADMIN in self._now(self.schemer).roles:
            return
        if Scope.PRINCIPALS_WRITE in self.given_scopes:
            return  # an admin once: what was done then stays done
        for number in range(len(self.hand)):
            principal = self._enters(number)
            assert principal is None or principal.id != ROOT.id
        assert run(self.room.enters(self.roots_key)).id == ROOT.id
        assert run(self.room.in_session(self.roots_session)).id == ROOT.id

    def _now(self, identity: Identity) -> Identity:
        return self.room.world.identities[identity.space, identity.id]

    def _enters(self, number: int) -> Principal | None:
        key = self.hand[number % len(self.hand)]
        for way_in in (self.room.enters, self.room.in_session):
            try:
                return run(way_in(key))
            except (NotAuthenticated, InvitationUsed):
                continue
        return None

    def _anybody(self, number: int) -> Identity:
        identities = [*self.room.world.identities.values()]
        return identities[number % len(identities)]

    def _any_key(self, number: int) -> str:
        ids = [*self.room.world.keys]
        return ids[number % len(ids)]

    def _remember_what_was_given(self) -> None:
        now = self.room.world.identities[self.schemer.space, self.schemer.id]
        self.given_scopes |= now.scopes
        self.given_clearance = join([self.given_clearance, now.clearance])


@pytest.mark.requirement("guard:principals:no-escalation")
def test_no_sequence_of_use_cases_gives_anybody_more_than_they_were_given() -> None:
    run_state_machine_as_test(
        Scheming, settings=settings(max_examples=60, stateful_step_count=25, deadline=None)
    )


def test_the_schemer_does_get_somewhere() -> None:
    """Or the law above would hold for want of anything that works."""
    state = Scheming()
    state.the_schemer_comes_in(SCHEMERS[1])

    state.makes_a_key(0, None, None, None)
    state.invites_themselves(0, frozenset({Role.ADMIN}), TEAM)
    state.accepts_an_invitation(2)
    state.rotates_a_key(3, 4)
    state.logs_in(0)
    state.no_key_in_hand_opens_more_than_was_given()

    assert len(state.hand) >= 5
    assert state._enters(len(state.hand) - 1) is not None


@pytest.mark.requirement("guard:principals:no-escalation")
def test_the_law_notices_a_key_that_is_too_wide() -> None:
    state = Scheming()
    state.the_schemer_comes_in(SCHEMERS[0])
    stolen = run(state.room.issue_key(state.root, KeySpec(name="stolen")))

    state.hand.append(stolen.key)

    with pytest.raises(AssertionError):
        state.no_key_in_hand_opens_more_than_was_given()


def test_the_law_notices_a_key_that_is_good_for_too_many_tools() -> None:
    state = Scheming()
    state.the_schemer_comes_in(SCHEMERS[3])
    state.no_key_in_hand_is_good_for_a_tool_that_was_not_listed()
    stolen = run(
        state.room.issue_key(state.root, KeySpec(name="stolen", tools=("git.*", "mail.*")))
    )

    state.hand.append(stolen.key)

    with pytest.raises(AssertionError):
        state.no_key_in_hand_is_good_for_a_tool_that_was_not_listed()
