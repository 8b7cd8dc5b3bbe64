"""Lists of tools: of a key, of a principal, and nobody hands on more than they have."""

from datetime import timedelta

import pytest

from portico.guard.core.errors import Overreach
from portico.guard.core.roles import Role
from portico.guard.issue_agent_key import IssueAgentKey
from portico.guard.issue_key import KeyWish
from portico.guard.manage_principals import PrincipalChange, PrincipalWish
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM
from portico.testing.world import together
from tests.guard.room import Room

GIT = ("git.*",)
A_DAY = timedelta(days=1)


async def listed(room: Room, name: str = "ana", role: Role = Role.MEMBER) -> Principal:
    """Somebody who came with a key for git alone."""
    issued = await room.issue_key(room.person(name, role), KeyWish(name="git", tools=GIT))
    return await room.enters(issued.key)


async def test_a_key_is_good_for_the_tools_that_it_lists() -> None:
    room = Room()

    ana = await listed(room)

    assert ana.tools == (GIT,)


async def test_a_key_made_with_a_listed_one_has_its_list() -> None:
    room = Room()
    ana = await listed(room)

    issued = await room.issue_key(ana, KeyWish(name="another"))

    assert (await room.enters(issued.key)).tools == (GIT,)


async def test_a_listed_key_makes_a_narrower_one_and_no_wider_one() -> None:
    room = Room()
    ana = await listed(room)

    narrow = await room.issue_key(ana, KeyWish(name="narrow", tools=("git.get_*",)))

    assert (await room.enters(narrow.key)).tools == (("git.get_*",),)
    for wide in [("*",), ("git.*", "mail.send"), ("git*",)]:
        with pytest.raises(Overreach, match=r"git\.\*"):
            await room.issue_key(ana, KeyWish(name="wide", tools=wide))


async def test_a_rotated_key_keeps_its_list() -> None:
    room = Room()
    ana = room.person("ana")
    old = await room.issue_key(ana, KeyWish(name="git", tools=GIT))

    new = await room.rotate_key(ana, old.key.id, A_DAY)

    assert (await room.enters(new.key)).tools == (GIT,)


async def test_a_listed_key_does_not_rotate_a_wider_one_of_the_same_person() -> None:
    room = Room()
    wide = await room.issue_key(room.person("ana"), KeyWish(name="wide"))
    ana = await listed(room)

    with pytest.raises(Overreach):
        await room.rotate_key(ana, wide.key.id, A_DAY)


async def test_a_principal_s_list_counts_for_each_of_its_keys() -> None:
    room = Room()
    root, bob = room.person("root", Role.ADMIN), room.person("bob")
    issued = await room.issue_key(bob, KeyWish(name="bob's"))

    changed = await room.change_principal(root, bob.id, PrincipalChange(tools=GIT))

    assert changed.tools == GIT
    assert (await room.enters(issued.key)).tools == (GIT,)
    more = await room.issue_key(await room.enters(issued.key), KeyWish(name="more"))
    assert more.stored.tools is None
    assert (await room.enters(more.key)).tools == (GIT,)


async def test_two_lists_that_are_alike_are_still_two() -> None:
    room = Room()
    root, bob = room.person("root", Role.ADMIN), await listed(room, "bob")
    await room.change_principal(root, bob.id, PrincipalChange(tools=GIT))
    issued = await room.issue_key(room.person("bob"), KeyWish(name="git", tools=GIT))

    more = await room.issue_key(await room.enters(issued.key), KeyWish(name="more"))

    assert more.stored.tools == GIT


async def test_an_admin_with_a_list_gives_nobody_more() -> None:
    room = Room()
    admin, bob = await listed(room, "root", Role.ADMIN), room.person("bob")
    agent = PrincipalWish(kind=PrincipalKind.AGENT, name="agent", clearance=TEAM)

    with pytest.raises(Overreach):
        await room.add_principal(admin, agent)
    with pytest.raises(Overreach):
        await room.change_principal(admin, bob.id, PrincipalChange(tools=("*",)))
    with pytest.raises(Overreach):
        await room.issue_key(admin, KeyWish(name="bob's", principal=bob.id))
    with pytest.raises(Overreach):
        await room.invite_again(admin, bob.id)


async def test_an_admin_with_a_list_gives_as_much_as_they_have() -> None:
    room = Room()
    admin, bob = await listed(room, "root", Role.ADMIN), room.person("bob")
    wish = PrincipalWish(kind=PrincipalKind.AGENT, name="agent", clearance=TEAM, tools=GIT)

    agent = await room.add_principal(admin, wish)
    key = await room.issue_key(admin, KeyWish(name="bob's", principal=bob.id, tools=GIT))

    assert agent.tools == GIT
    assert (await room.enters(key.key)).tools == (GIT,)


async def test_an_agent_that_is_made_for_a_listed_key_has_its_list_itself() -> None:
    room = Room()
    admin = await listed(room, "root", Role.ADMIN)
    issue_agent_key = IssueAgentKey(
        add_principal=room.add_principal, issue_key=room.issue_key, together=together
    )

    issued = await issue_agent_key(admin, KeyWish(name="desktop", tools=GIT))

    assert (await room.enters(issued.key)).tools == (GIT, GIT)
    with pytest.raises(Overreach):
        await issue_agent_key(admin, KeyWish(name="wider"))
