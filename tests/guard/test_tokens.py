"""The story of somebody else's token that is shown at the door."""

import base64
import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.authentication import Authenticate, Entry
from portico.guard.core.authentication import principal_of
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.principals import NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.tokens import Issuer, SubjectRule, grants_of
from portico.guard.tokens import AuthenticateToken
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label, Level
from portico.testing.guard import TEAM, MemoryKeyRing, MemoryKeys, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from portico.testing.secrets import BelievedTokens, MemoryTokenSubjects

ISSUER = "https://login.example"
US = "https://portico.example/mcp"
NOW = BEGINNING + timedelta(days=1)
BY_NAME = SubjectRule(subject="ana-there", principal="ana")
BY_MAIL = SubjectRule(claim="email", like="*@a.example", create=Role.MEMBER, clearance=TEAM)


@dataclass
class Door:
    rules: list[SubjectRule] = field(default_factory=lambda: [BY_NAME, BY_MAIL])
    there: bool = True
    """Whether this machine has a space of its own."""

    def __post_init__(self) -> None:
        self.world, self.home = InMemoryStore(), a_space()
        self.world.spaces[self.home.id] = self.home
        self.ana = an_identity("ana")
        self.world.identities[self.ana.space, self.ana.id] = self.ana
        self.believed, self.clock = BelievedTokens(), TickingClock(NOW)
        ring = MemoryKeyRing(self.world)
        of_token = AuthenticateToken(
            issuers={ISSUER: Issuer(url=ISSUER, audience=US)},
            rules=self.rules,
            grants=grants_of({"portico:member": ["member"], "portico:viewer": ["viewer"]}),
            token_keys=self.believed,
            subjects=MemoryTokenSubjects(self.world),
            key_ring=ring,
            space=self._space,
            clock=self.clock,
            entropy=SeededEntropy(),
            pepper=b"pepper",
        )
        self.authenticate = Authenticate(
            key_ring=ring, clock=self.clock, pepper=b"pepper", of_token=of_token
        )

    async def _space(self) -> SpaceId | None:
        return self.home.id if self.there else None

    def token(self, **claims: Any) -> str:
        """One that its issuer has signed."""
        at = int(self.clock.now().timestamp())
        known = {"iss": ISSUER, "aud": US, "sub": "ana-there", "exp": at + 300, "client_id": "c"}
        given = {**known, "scope": "portico:member", **claims}
        header = {"alg": "RS256", "typ": "at+jwt", "kid": "k"}
        parts = (base64.urlsafe_b64encode(json.dumps(each).encode()) for each in (header, given))
        made = ".".join([*(part.rstrip(b"=").decode() for part in parts), "c2ln"])
        self.believed.signed_by.add(made)
        return made

    async def enters(self, **claims: Any) -> Entry:
        return await self.authenticate(self.token(**claims))


@pytest.fixture
def door() -> Door:
    return Door()


async def test_a_token_narrows_what_its_principal_may(door: Door) -> None:
    entry = await door.enters()

    assert entry.principal.id == door.ana.id
    assert entry.principal.scopes == SCOPES_OF[Role.MEMBER] - NEVER_OF_PROGRAMS
    assert entry.principal.clearance == door.ana.clearance

    few = await door.enters(scope="portico:viewer")
    none = await door.enters(scope="strange")

    assert few.principal.scopes == SCOPES_OF[Role.VIEWER]
    assert not few.principal.whole
    assert none.principal.scopes == frozenset()


async def test_who_asks_for_other_scopes_is_at_the_same_task_and_as_revoked(door: Door) -> None:
    wide, narrow = await door.enters(), await door.enters(scope="portico:viewer status")
    again = await door.enters()

    assert context_of(wide.principal) == context_of(narrow.principal)
    assert narrow.principal.scopes < wide.principal.scopes == again.principal.scopes
    await MemoryKeys(door.world).revoke(narrow.principal, narrow.key_id, NOW)
    for scope in ("portico:member", "portico:viewer", "another"):
        with pytest.raises(NotAuthenticated):
            await door.enters(scope=scope)


async def test_what_a_token_asked_for_can_be_done_when_it_has_ended(door: Door) -> None:
    """An approved call makes its asker anew from the grant, with no token at hand."""
    asked = await door.enters()

    held = await MemoryKeyRing(door.world).find(asked.key_id)

    assert held is not None
    assert principal_of(held).may(Scope.TOOLS_WRITE)
    assert principal_of(held).until is None


async def test_a_name_that_would_stand_for_others_in_a_rule_is_not_taken() -> None:
    door = Door(rules=[replace(BY_MAIL, claim="nick", like="*")])

    with pytest.raises(NotAuthenticated):
        await door.enters(sub="s-9", nick="ci-*")

    assert (await door.enters(sub="s-9", nick="zoe")).principal.name == "zoe"


async def test_an_entry_ends_with_its_token_which_ends_within_all_calendars(door: Door) -> None:
    until = (await door.enters()).principal.until

    with pytest.raises(NotAuthenticated):
        await door.enters(exp=2**39)

    assert until is not None
    assert NOW < until < NOW + timedelta(minutes=6)
    assert (await door.enters(exp=253_370_764_799)).principal.until is not None


async def test_a_token_brings_its_principal_as_they_are_now(door: Door) -> None:
    before = await door.enters()
    for role, clearance in (
        (Role.VIEWER, door.ana.clearance),
        (Role.MEMBER, Label(Level.RESTRICTED)),
    ):
        now = replace(door.ana, roles=frozenset({role}), clearance=clearance)
        door.world.identities[now.space, now.id] = now

        entry = await door.enters(scope="portico:member")

        assert entry.principal.scopes == SCOPES_OF[role] - NEVER_OF_PROGRAMS
        assert entry.principal.clearance == clearance

    gone = replace(door.ana, disabled_at=NOW)
    door.world.identities[gone.space, gone.id] = gone
    with pytest.raises(NotAuthenticated):
        await door.enters()
    assert before.principal.clearance == door.ana.clearance


async def test_a_token_that_nobody_has_signed_is_refused(door: Door) -> None:
    token = door.token()
    door.believed.signed_by.clear()

    with pytest.raises(NotAuthenticated):
        await door.authenticate(token)

    with pytest.raises(NotAuthenticated):
        await door.authenticate("ptc_unknown")

    assert Scope.TOOLS_CALL in (await door.enters()).principal.scopes


async def test_tokens_of_one_client_are_one_grant_which_is_listed_and_can_be_revoked() -> None:
    door = Door()
    first, second = await door.enters(jti="1"), await door.enters(jti="2")
    assert first.key_id == second.key_id
    keys = MemoryKeys(door.world)
    [listed] = await keys.page(first.principal, of=door.ana.id, after=None, limit=10)
    assert listed.name == f"token for c from {ISSUER}"

    await keys.revoke(first.principal, first.key_id, NOW)

    with pytest.raises(NotAuthenticated):
        await door.enters(jti="3")


async def test_somebody_new_is_made_once_and_known_by_their_subject(door: Door) -> None:
    mail = {"email": "zoe@a.example", "email_verified": True}

    first = await door.enters(sub="s-9", **mail)
    again = await door.enters(sub="s-9", **{**mail, "email": "married@a.example"})

    assert first.principal.name == "zoe@a.example"
    assert first.principal.roles == {Role.MEMBER}
    assert first.principal.clearance == TEAM
    assert again.principal.id == first.principal.id


async def test_nobody_becomes_somebody_who_is_there_already_by_having_their_name() -> None:
    door = Door(rules=[replace(BY_MAIL, claim="nick", like="*")])

    with pytest.raises(NotAuthenticated):
        await door.enters(sub="mallory", nick="ana")


@pytest.mark.parametrize(
    "door",
    [
        Door(rules=[]),
        Door(rules=[SubjectRule(subject="ana-there", principal="nobody")]),
        Door(rules=[SubjectRule(subject="ana-there")]),
        Door(there=False),
    ],
    ids=["no rule", "a rule that names nobody there is", "a rule that names nobody", "no space"],
)
async def test_a_token_is_refused_if_there_is(door: Door) -> None:
    with pytest.raises(NotAuthenticated):
        await door.enters()
