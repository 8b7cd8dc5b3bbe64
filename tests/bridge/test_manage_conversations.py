"""Conversations: begun, closed, put away."""

import pytest

from portico.bridge.core.errors import (
    Archived,
    BadBridgeInput,
    BelowContainer,
    ConversationNotFound,
    NotTakingPart,
    ProjectNotFound,
    WriteDown,
)
from portico.guard.core.errors import NotPermitted, PrincipalNotFound
from portico.guard.core.roles import Role
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom

NOBODY = PrincipalId.mint(BEGINNING, SeededEntropy("nobody"))


async def test_its_maker_takes_part_and_whom_they_bring() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")

    talk = await room.a_talk(ana, with_=[bob])

    inside = await room.list_participants(bob, talk.id)
    assert [its.name for its in inside] == ["ana", "bob"]
    assert (await room.show_conversation(bob, talk.id)).title == "talk"


async def test_it_is_no_less_secret_than_its_project() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    project = await room.a_project(ana, TEAM)

    with pytest.raises(BelowContainer):
        await room.create_conversation(ana, project.id, "talk", label=PUBLIC)
    assert (await room.create_conversation(ana, project.id, "talk")).label == TEAM


async def test_whoever_begins_one_knows_that_its_project_is_there() -> None:
    room = TalkRoom()
    ana, scout = room.enters("ana"), room.enters("scout", kind=PrincipalKind.AGENT)
    project = await room.a_project(ana, TEAM)

    with pytest.raises(BelowContainer):
        await room.create_conversation(scout, project.id, "talk", label=PUBLIC)

    assert await room.mark(scout) == TEAM


async def test_nothing_begins_in_what_is_put_away_or_hidden() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    project = await room.a_project(ana, SECRET)

    with pytest.raises(ProjectNotFound):
        await room.create_conversation(bob, project.id, "talk")
    await room.change_project(ana, project.id, archived=True)
    with pytest.raises(Archived):
        await room.create_conversation(ana, project.id, "talk")


async def test_every_flaw_is_told_at_once() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    project = await room.a_project(ana)

    with pytest.raises(BadBridgeInput) as refused:
        await room.create_conversation(ana, project.id, "", participants=[NOBODY] * 51)

    assert [flaw.field for flaw in refused.value.flaws] == ["title", "participants"]


async def test_whoever_is_brought_has_to_be_there() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    project = await room.a_project(ana)

    with pytest.raises(PrincipalNotFound):
        await room.create_conversation(ana, project.id, "talk", participants=[NOBODY])

    assert await room.list_conversations(ana) == []


async def test_a_closed_one_is_not_there_for_others() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, closed=True, with_=[bob])

    with pytest.raises(ConversationNotFound):
        await room.show_conversation(eve, talk.id)
    with pytest.raises(ConversationNotFound):
        await room.join(eve, talk.id)
    assert await room.list_conversations(eve) == []
    await room.join(bob, talk.id, eve.id)
    assert [its.id for its in await room.list_conversations(eve)] == [talk.id]
    await room.leave(eve, talk.id)
    assert room.audit.actions == [
        "conversation.joined",
        "conversation.joined",
        "conversation.left",
    ]


async def test_nobody_is_thrown_out_but_by_who_began_it_or_keeps_order() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    root = room.enters("root", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
    talk = await room.a_talk(ana, with_=[bob, eve])

    with pytest.raises(NotPermitted):
        await room.leave(bob, talk.id, eve.id)
    await room.leave(ana, talk.id, eve.id)
    await room.leave(root, talk.id, bob.id)

    assert [its.name for its in await room.list_participants(ana, talk.id)] == ["ana"]
    with pytest.raises(NotTakingPart):
        await room.leave(bob, talk.id)
    assert room.audit.actions == []


async def test_that_one_takes_part_is_not_told_from_above() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM)
    await room.marks.read(bob, [SECRET])

    with pytest.raises(WriteDown):
        await room.join(bob, talk.id)
    with pytest.raises(WriteDown):
        await room.leave(bob, talk.id)


async def test_who_hears_less_is_told_so_alone() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, with_=[bob])
    await room.mute(bob, talk.id, muted=True)

    seen = [[its.muted for its in await room.list_participants(who, talk.id)] for who in (ana, bob)]

    assert seen == [[False, False], [False, True]]
    await room.says(ana, talk, "hello")
    assert await room.unread(bob) == 0
    await room.mute(bob, talk.id, muted=False)
    assert await room.unread(bob) == 1
    with pytest.raises(NotTakingPart):
        await room.mute(eve, talk.id, muted=True)


async def test_what_it_is_called_is_not_told_from_above() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana, TEAM)

    assert (await room.change_conversation(ana, talk.id, title="walk")).title == "walk"
    await room.marks.read(ana, [SECRET])
    with pytest.raises(WriteDown):
        await room.change_conversation(ana, talk.id, title="the merger")
    with pytest.raises(BadBridgeInput):
        await room.change_conversation(ana, talk.id, title="a\nb")


async def test_what_is_put_away_is_quiet_until_it_is_taken_out() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, with_=[bob])
    await room.says(ana, talk, "hello")

    with pytest.raises(NotPermitted):
        await room.change_conversation(bob, talk.id, archived=True)
    await room.change_conversation(ana, talk.id, archived=True)

    with pytest.raises(Archived):
        await room.says(ana, talk, "more")
    assert await room.unread(bob) == 0
    assert await room.list_conversations(bob) == []
    assert len(await room.list_conversations(bob, archived=True)) == 1
    await room.change_conversation(ana, talk.id, archived=False)
    assert await room.unread(bob) == 1
    assert room.audit.actions == ["conversation.archived", "conversation.restored"]


async def test_of_a_project_its_own_are_listed_and_their_names_are_read() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk, _ = await room.a_talk(ana, SECRET), await room.a_talk(ana, TEAM)

    assert len(await room.list_conversations(bob, upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    found = await room.list_conversations(bob, project=talk.project)
    assert [its.id for its in found] == [talk.id]
    assert await room.mark(bob) == SECRET
    with pytest.raises(ProjectNotFound):
        await room.list_conversations(room.enters("eve", TEAM), project=talk.project)
