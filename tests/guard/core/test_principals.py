"""What each role brings, and who may hand it on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.errors import Overreach
from portico.guard.core.principals import (
    OF_THE_INSTALLATION,
    SCOPES_OF,
    Role,
    Scope,
    check_reach,
    scopes_of,
)
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.guard import a_person

SECRET = Label(Level.RESTRICTED)
FINANCE = Label(Level.TEAM, frozenset({"finance"}))

labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["finance", "legal"]))
)


BRINGS = {
    Role.VIEWER: """
        agents:read bridge:read debates:read events:read models:read runs:read servers:read
        space:read status:read tools:call tools:read""",
    Role.MEMBER: """
        agents:run agents:write approvals:read bridge:write contexts:open debates:join debates:run
        keys:own policy:read principals:read runs:write tools:write""",
    Role.OPERATOR: """
        approvals:answer bridge:declassify bridge:manage calls:read debates:manage keys:read
        keys:write runs:control secrets:read servers:approve servers:write traces:read
        workflows:write""",
    Role.ADMIN: """
        audit:read compartments:grant policy:write principals:write secrets:write space:delete
        space:export space:write""",
}


def test_each_role_brings_its_scopes_and_those_of_the_one_below_it() -> None:
    brought: set[str] = set()
    for role in Role:
        brought |= set(BRINGS[role].split())
        assert SCOPES_OF[role] == brought


def test_no_role_reaches_beyond_its_space_or_passes_for_an_invitation() -> None:
    assert {Scope.SPACES_CREATE, Scope.METRICS_READ} == OF_THE_INSTALLATION
    assert not (OF_THE_INSTALLATION | {Scope.INVITATION_ACCEPT}) & scopes_of(Role)


def test_scopes_are_those_of_all_roles_and_grants_together() -> None:
    assert scopes_of([]) == frozenset()
    assert scopes_of([Role.VIEWER], [Scope.SPACES_CREATE]) == (
        SCOPES_OF[Role.VIEWER] | {Scope.SPACES_CREATE}
    )


@pytest.mark.parametrize("giver", list(Role))
@pytest.mark.parametrize("given_role", list(Role))
@pytest.mark.requirement("guard:principals:no-escalation")
def test_a_role_is_handed_on_only_by_its_equals(giver: Role, given_role: Role) -> None:
    person = a_person(roles=[giver])

    if SCOPES_OF[given_role] <= SCOPES_OF[giver]:
        check_reach(person, SCOPES_OF[given_role], PUBLIC)
    else:
        with pytest.raises(Overreach, match="the scopes"):
            check_reach(person, SCOPES_OF[given_role], PUBLIC)


@pytest.mark.parametrize(
    ("role", "clearance", "given_clearance", "refused"),
    [
        (Role.MEMBER, SECRET, SECRET, None),
        (Role.MEMBER, PUBLIC, PUBLIC, None),
        (Role.MEMBER, PUBLIC, Label(Level.TEAM), "the clearance team"),
        (Role.ADMIN, FINANCE, SECRET, "the clearance restricted"),
        (Role.MEMBER, FINANCE, FINANCE, None),
        (Role.OPERATOR, SECRET, FINANCE, "the compartments finance"),
        (Role.ADMIN, SECRET, FINANCE, None),
    ],
)
@pytest.mark.requirement("guard:principals:no-escalation")
def test_a_clearance_is_handed_on_by_whoever_has_it(
    role: Role, clearance: Label, given_clearance: Label, refused: str | None
) -> None:
    """Except that an admin lets people into compartments which the admin is not in."""
    person = a_person(roles=[role], clearance=clearance)

    if refused is None:
        check_reach(person, frozenset(), given_clearance)
    else:
        with pytest.raises(Overreach, match=refused) as caught:
            check_reach(person, frozenset(), given_clearance)
        assert caught.value.what == refused


@given(st.frozensets(st.sampled_from(Role)), labels, st.frozensets(st.sampled_from(Scope)), labels)
@pytest.mark.requirement("guard:principals:no-escalation")
def test_nothing_beyond_the_givers_own_is_ever_within_reach(
    roles: frozenset[Role], clearance: Label, scopes: frozenset[Scope], wanted: Label
) -> None:
    giver = a_person(roles=roles, clearance=clearance)

    try:
        check_reach(giver, scopes, wanted)
    except Overreach:
        return

    assert scopes <= giver.scopes
    assert wanted.level <= clearance.level
    assert wanted.compartments <= clearance.compartments or giver.may(Scope.COMPARTMENTS_GRANT)
