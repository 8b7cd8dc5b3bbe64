"""Projects and conversations: begun, closed, put away; what is above somebody is not there."""

import pytest

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    ConversationNotFound,
    InvalidBridgeInput,
    NotTakingPart,
    ProjectNameTaken,
    ProjectNotFound,
    WriteDown,
)
from portico.guard.core.errors import NotPermitted, PrincipalNotFound
from portico.guard.core.principals import Role
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def test_a_project_is_as_secret_as_what_its_maker_has_read(room: TalkRoom) -> None:
    ana = room.enters("ana")
    await room.marks.read(ana, [SECRET])

    made = await room.create_project(ana, "plans")

    assert made.label == SECRET
    assert await room.show_project(ana, "plans") == made
    with pytest.raises(WriteDown):
        await room.create_project(ana, "other", label=TEAM)

    pat = room.enters("pat", kind=PrincipalKind.PERSON)
    await room.create_project(pat, "pat's plans", label=SECRET)
    await room.list_projects(pat)

    assert (await room.create_project(pat, "picnic")).label == PUBLIC


async def test_nobody_makes_what_is_above_them(room: TalkRoom) -> None:
    with pytest.raises(AboveClearance):
        await room.create_project(room.enters("ana", TEAM), "plans", label=SECRET)
    with pytest.raises(NotPermitted):
        await room.create_project(room.enters("eve", roles=[Role.VIEWER]), "plans")


async def test_a_hidden_name_can_be_used_again_and_the_most_secret_is_found_by_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    high = await room.create_project(ana, "plans", label=SECRET)

    low = await room.create_project(bob, "plans")

    assert await room.show_project(bob, "plans") == low
    assert await room.show_project(ana, "plans") == high
    with pytest.raises(ProjectNameTaken):
        await room.create_project(bob, "plans")


async def test_what_is_hidden_and_what_is_not_there_are_refused_alike(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    hidden = await room.create_project(ana, "plans", label=SECRET)

    with pytest.raises(ProjectNotFound) as one:
        await room.show_project(bob, "plans")
    with pytest.raises(ProjectNotFound) as other:
        await room.show_project(bob, "nothing")
    with pytest.raises(ProjectNotFound):
        await room.change_project(bob, hidden.id, name="mine")

    assert str(one.value).replace("plans", "nothing") == str(other.value)
    assert await room.list_projects(bob) == []


async def test_whoever_is_told_a_name_has_read_it(
    room: TalkRoom, ana: Principal, bob: Principal
) -> None:
    scout = room.enters("scout", kind=PrincipalKind.AGENT)
    await room.create_project(ana, "plans", label=SECRET)
    await room.create_project(ana, "picnic", label=TEAM)

    with pytest.raises(ProjectNameTaken):
        await room.create_project(scout, "plans", label=SECRET)

    assert await room.mark(scout) == SECRET
    assert len(await room.list_projects(bob, upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    assert len(await room.list_projects(bob)) == 2
    assert await room.mark(bob) == SECRET


async def test_every_flaw_is_told_at_once(room: TalkRoom, ana: Principal) -> None:
    with pytest.raises(InvalidBridgeInput) as refused:
        await room.create_project(ana, "two\nlines", "x" * 10_001)

    assert [flaw.field for flaw in refused.value.field_errors] == ["name", "description"]
    with pytest.raises(InvalidBridgeInput):
        await room.list_projects(ana, limit=0)


async def test_what_a_project_is_called_is_not_told_from_above(room: TalkRoom) -> None:
    ana = room.enters("ana")
    project = await room.create_project(ana, "picnic", "by the lake", TEAM)
    changed = await room.change_project(ana, project.id, name="picnic!")
    await room.marks.read(ana, [SECRET])

    with pytest.raises(WriteDown):
        await room.change_project(ana, project.id, description="the merger")

    assert (changed.name, changed.description) == ("picnic!", "by the lake")


async def test_only_who_keeps_order_puts_away_what_others_made(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    root = room.enters("root", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
    project = await room.create_project(ana, "picnic")

    with pytest.raises(NotPermitted):
        await room.change_project(bob, project.id, archived=True)
    away = await room.change_project(root, project.id, archived=True)
    again = await room.change_project(root, project.id, archived=True)

    assert away.archived_at is not None
    assert again.archived_at == away.archived_at
    assert await room.list_projects(ana) == []
    assert [its.id for its in await room.list_projects(ana, archived=True)] == [project.id]
    back = await room.change_project(ana, project.id, archived=False)
    assert back.archived_at is None
    assert room.audit.actions == ["project.archived", "project.restored"]


async def test_the_one_with_the_latest_news_comes_first_by_what_one_may_see(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    first = await room.a_talk(ana, TEAM)
    second = await room.a_talk(ana, TEAM)
    await room.says(ana, first, "hidden", SECRET)

    assert [its.id for its in await room.list_projects(bob)] == [second.project, first.project]
    assert [its.id for its in await room.list_projects(ana)] == [first.project, second.project]
    page = await room.list_projects(bob, after=str(second.project), limit=1)
    assert [its.id for its in page] == [first.project]
    assert await room.list_projects(bob, after="unknown") == []


NOBODY = PrincipalId.mint(BEGINNING, SeededEntropy("nobody"))


async def test_its_maker_takes_part_and_whom_they_bring(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
) -> None:
    talk = await room.a_talk(ana, with_=[bob])

    inside = await room.list_participants(bob, talk.id)
    assert [its.name for its in inside] == ["ana", "bob"]
    assert (await room.show_conversation(bob, talk.id)).title == "talk"


async def test_it_is_no_less_secret_than_its_project(room: TalkRoom, ana: Principal) -> None:
    scout = room.enters("scout", kind=PrincipalKind.AGENT)
    project = await room.a_project(ana, TEAM)

    for who in (ana, scout):
        with pytest.raises(BelowContainer):
            await room.create_conversation(who, project.id, "talk", label=PUBLIC)

    assert await room.mark(scout) == TEAM
    assert (await room.create_conversation(ana, project.id, "talk")).label == TEAM


async def test_nothing_begins_in_what_is_put_away_or_hidden(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    project = await room.a_project(ana, SECRET)

    with pytest.raises(ProjectNotFound):
        await room.create_conversation(bob, project.id, "talk")
    await room.change_project(ana, project.id, archived=True)
    with pytest.raises(Archived):
        await room.create_conversation(ana, project.id, "talk")


async def test_whoever_is_brought_has_to_be_there(room: TalkRoom, ana: Principal) -> None:
    project = await room.a_project(ana)

    with pytest.raises(InvalidBridgeInput) as refused:
        await room.create_conversation(ana, project.id, "", participants=[NOBODY] * 51)
    with pytest.raises(PrincipalNotFound):
        await room.create_conversation(ana, project.id, "talk", participants=[NOBODY])

    assert [flaw.field for flaw in refused.value.field_errors] == ["title", "participants"]
    assert await room.list_conversations(ana) == []


async def test_a_closed_one_is_not_there_for_others(room: TalkRoom) -> None:
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


async def test_nobody_is_thrown_out_but_by_who_began_it_or_keeps_order(room: TalkRoom) -> None:
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


async def test_nothing_is_told_from_above(
    room: TalkRoom, ana: Principal, bob: Principal, talk: Conversation
) -> None:
    assert (await room.change_conversation(ana, talk.id, title="walk")).title == "walk"
    for who in (ana, bob):
        await room.marks.read(who, [SECRET])

    for ask in (
        room.join(bob, talk.id),
        room.leave(bob, talk.id),
        room.change_conversation(ana, talk.id, title="the merger"),
    ):
        with pytest.raises(WriteDown):
            await ask
    with pytest.raises(InvalidBridgeInput):
        await room.change_conversation(ana, talk.id, title="a\nb")


async def test_who_hears_less_is_told_so_alone(room: TalkRoom) -> None:
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


async def test_what_is_put_away_is_quiet_until_it_is_taken_out(room: TalkRoom) -> None:
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


async def test_of_a_project_its_own_are_listed_and_their_names_are_read(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk, _ = await room.a_talk(ana, SECRET), await room.a_talk(ana, TEAM)

    assert len(await room.list_conversations(bob, upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    found = await room.list_conversations(bob, project=talk.project)
    assert [its.id for its in found] == [talk.id]
    assert await room.mark(bob) == SECRET
    with pytest.raises(ProjectNotFound):
        await room.list_conversations(room.enters("eve", TEAM), project=talk.project)
