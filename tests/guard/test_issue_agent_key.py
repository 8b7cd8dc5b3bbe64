"""The story of a key for a program: an agent's, or one's own with less."""

from datetime import timedelta

import pytest

from portico.guard.core.errors import NameTaken, NotPermitted, Overreach
from portico.guard.core.roles import FOR_AGENTS, Role, Scope
from portico.guard.issue_agent_key import IssueAgentKey
from portico.guard.issue_key import KeyWish
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.world import together
from tests.guard.room import Room

TEAM = Label(Level.TEAM)


def issuing(room: Room) -> IssueAgentKey:
    return IssueAgentKey(
        add_principal=room.add_principal, issue_key=room.issue_key, together=together
    )


async def test_an_admin_gets_a_new_agent_that_answers_nothing() -> None:
    room = Room()
    ana = room.person("ana", Role.ADMIN, clearance=Label(Level.RESTRICTED))

    issued = await issuing(room)(ana, KeyWish(name="editor", lifetime=timedelta(days=7)))
    agent = await room.enters(issued.key)

    assert (agent.kind, agent.name, agent.clearance) == (PrincipalKind.AGENT, "editor", TEAM)
    assert agent.scopes == FOR_AGENTS
    assert issued.stored.expires_at is not None
    assert not agent.scopes & {Scope.APPROVALS_ANSWER, Scope.KEYS_OWN, Scope.CONTEXTS_OPEN}


async def test_an_agent_is_never_cleared_for_more_than_whoever_makes_it() -> None:
    room = Room()
    ana = room.person("ana", Role.ADMIN, clearance=PUBLIC)

    issued = await issuing(room)(ana, KeyWish(name="editor"))

    assert (await room.enters(issued.key)).clearance == PUBLIC


@pytest.mark.parametrize("role", [Role.MEMBER, Role.OPERATOR])
async def test_whoever_adds_nobody_gets_a_key_of_their_own_with_what_a_program_may(
    role: Role,
) -> None:
    room = Room()
    ana = room.person("ana", role)

    issued = await issuing(room)(ana, KeyWish(name="editor"))
    program = await room.enters(issued.key)

    assert program.id == ana.id
    assert program.scopes == FOR_AGENTS


async def test_a_viewer_makes_none() -> None:
    room = Room()

    with pytest.raises(NotPermitted):
        await issuing(room)(room.person("ana", Role.VIEWER), KeyWish(name="editor"))


async def test_a_program_is_refused_what_only_a_person_has() -> None:
    room = Room()
    ana = room.person("ana", Role.ADMIN)
    wish = KeyWish(name="editor", scopes=frozenset({Scope.APPROVALS_ANSWER}))

    with pytest.raises(Overreach, match="approvals:answer"):
        await issuing(room)(ana, wish)

    assert [each.name for each in room.world.identities.values()] == ["ana"]


async def test_it_may_be_narrowed_further() -> None:
    room = Room()
    wish = KeyWish(name="editor", scopes=frozenset({Scope.TOOLS_READ}), clearance=PUBLIC)

    issued = await issuing(room)(room.person("ana", Role.ADMIN), wish)
    agent = await room.enters(issued.key)

    assert (agent.scopes, agent.clearance) == ({Scope.TOOLS_READ}, PUBLIC)


async def test_a_name_that_somebody_has_is_taken() -> None:
    room = Room()
    ana = room.person("ana", Role.ADMIN)
    await issuing(room)(ana, KeyWish(name="editor"))

    with pytest.raises(NameTaken):
        await issuing(room)(ana, KeyWish(name="editor"))
