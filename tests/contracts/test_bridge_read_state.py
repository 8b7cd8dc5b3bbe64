"""What every store of read marks keeps to: the count is what one would find by looking."""

from collections.abc import Mapping
from dataclasses import replace

from portico.bridge.core.conversations import Conversation, Unread
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.bridge_talk import a_conversation, at, edited, message_id, say, to
from tests.contracts.doors import Doors


async def unread(
    doors: Doors, caller: Principal, *, upto: Label | None = None
) -> Mapping[str, Unread]:
    """By the id of the conversation."""
    found = await doors.read_state.unread(caller, max_label=upto)
    return {str(each.conversation): each for each in found}


async def count(doors: Doors, caller: Principal, talk: Conversation) -> int:
    found = (await unread(doors, caller)).get(str(talk.id))
    return 0 if found is None else found.count


async def a_talk(doors: Doors) -> tuple[Principal, Principal, Conversation]:
    """One who sends, one who reads from the beginning, and where."""
    root = await cleared_root(doors)
    ana = await joined(doors, root, "ana", FINANCE)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    await doors.conversations.join(ana, talk.id, ana.id)
    return root, ana, talk


async def test_what_others_say_is_unread_and_what_one_says_oneself_is_not(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    await say(doors, root, talk, "one")
    await say(doors, root, talk, "two", label=FINANCE)
    await say(doors, root, talk, "above", label=SECRET)
    await say(doors, ana, talk, "mine")

    assert await unread(doors, ana) == {
        str(talk.id): Unread(conversation=talk.id, count=2, mentions=0, label=join([TEAM, FINANCE]))
    }
    assert await count(doors, root, talk) == 1


async def test_it_is_read_up_to_a_place_and_never_back(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    for number in range(5):
        await say(doors, root, talk, f"number {number}")

    for place, left in ((2, 3), (1, 3), (4, 1), (99, 0), (1, 0)):
        await doors.read_state.read_to(ana, talk.id, place)
        assert await count(doors, ana, talk) == left
    await say(doors, root, talk, "one more")
    assert await count(doors, ana, talk) == 1


async def test_one_can_be_read_before_its_turn(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    said = [(await say(doors, root, talk, f"number {number}")).message for number in range(4)]

    for _ in range(2):
        await doors.read_state.read_one(ana, said[2].id)
    assert await count(doors, ana, talk) == 3
    await doors.read_state.read_to(ana, talk.id, 1)
    assert await count(doors, ana, talk) == 2
    await doors.read_state.read_to(ana, talk.id, 3)
    assert await count(doors, ana, talk) == 1
    await doors.read_state.read_one(ana, said[0].id)
    assert await count(doors, ana, talk) == 1


async def test_a_reader_may_ask_for_less_than_they_are_cleared_for(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    for number, label in enumerate([TEAM, FINANCE, TEAM]):
        await say(doors, root, talk, f"number {number}", label=label)

    low = (await unread(doors, ana, upto=TEAM))[str(talk.id)]
    assert (low.count, low.label) == (2, TEAM)
    assert await unread(doors, ana, upto=PUBLIC) == {}

    await doors.read_state.read_to(ana, talk.id, 3, max_label=TEAM)
    assert await unread(doors, ana, upto=TEAM) == {}
    high = (await unread(doors, ana))[str(talk.id)]
    assert (high.count, high.label) == (1, FINANCE)

    await doors.read_state.read_to(ana, talk.id, 3)
    assert await unread(doors, ana) == {}


async def test_what_is_hidden_is_not_counted_nor_passed_until_they_are_cleared_for_it(
    doors: Doors,
) -> None:
    root, ana, talk = await a_talk(doors)
    await say(doors, root, talk, "one")
    await say(doors, root, talk, "above", label=SECRET)
    await doors.read_state.read_one(ana, message_id("above"))

    assert (await unread(doors, ana))[str(talk.id)].label == TEAM
    for clearance, expected in ((PUBLIC, 0), (TEAM, 1), (SECRET, 2), (LAW, 1)):
        assert await count(doors, replace(ana, clearance=clearance), talk) == expected
    await say(doors, root, talk, "two")
    await doors.read_state.read_to(ana, talk.id, 3, max_label=TEAM)
    assert await count(doors, ana, talk) == 0
    assert await count(doors, replace(ana, clearance=SECRET), talk) == 1


async def test_those_that_name_the_reader_or_are_for_them_are_told_apart(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    await say(doors, root, talk, "nothing")
    await say(doors, root, talk, message=to(talk, "@ana", mentions=(ana.id,)))
    both = to(talk, "to @ana", mentions=(ana.id,), addressed=(ana.id, root.id))
    await say(doors, root, talk, message=both)
    await say(doors, root, talk, message=to(talk, "hush", addressed=(ana.id,)), label=SECRET)

    async def named() -> tuple[int, int]:
        found = (await unread(doors, ana)).get(str(talk.id))
        return (0, 0) if found is None else (found.count, found.mentions)

    assert await named() == (3, 2)
    await doors.read_state.read_one(ana, message_id("to @ana"))
    assert await named() == (2, 1)
    await doors.messages.delete(root, message_id("@ana"), at(9))
    assert await named() == (1, 0)
    await doors.read_state.read_to(ana, talk.id, 4)
    assert await named() == (0, 0)


async def test_what_is_deleted_or_becomes_more_secret_is_not_counted_any_more(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    said = [(await say(doors, root, talk, f"number {number}")).message for number in range(4)]
    await doors.read_state.read_to(ana, talk.id, 1)

    await doors.messages.delete(root, said[0].id, at(9))
    assert await count(doors, ana, talk) == 3
    await doors.messages.delete(root, said[1].id, at(9))
    assert await count(doors, ana, talk) == 2
    await doors.messages.edit(root, edited(said[2], "more", SECRET), at(9))
    assert await count(doors, ana, talk) == 1
    await doors.messages.edit(root, edited(said[3], "more", FINANCE), at(9))
    assert (await unread(doors, ana))[str(talk.id)].label == FINANCE


async def test_from_joining_on_and_not_if_it_is_muted_or_archived(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    bob = await joined(doors, root, "bob")
    await say(doors, root, talk, "before")
    assert await count(doors, bob, talk) == 0

    await doors.conversations.join(bob, talk.id, bob.id)
    await say(doors, root, talk, "after")
    assert await count(doors, bob, talk) == 1
    await doors.conversations.mute(bob, talk.id, muted=True)
    assert await count(doors, bob, talk) == 0
    await doors.conversations.mute(bob, talk.id, muted=False)
    assert await count(doors, bob, talk) == 1
    await doors.conversations.leave(bob, talk.id, bob.id)
    await doors.conversations.join(bob, talk.id, bob.id)
    assert await count(doors, bob, talk) == 0

    assert await count(doors, ana, talk) == 2
    await doors.conversations.put(root, replace(talk, archived_at=at(9)))
    assert await count(doors, ana, talk) == 0


async def test_a_count_can_be_of_some_conversations(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    other = await a_conversation(doors, root, await a_project(doors, root, "zeus"), "other")
    await doors.conversations.join(ana, other.id, ana.id)
    await say(doors, root, talk, "here")
    await say(doors, root, other, "there")

    assert {each.conversation for each in await doors.read_state.unread(ana)} == {
        talk.id,
        other.id,
    }
    [found] = await doors.read_state.unread(ana, conversations=[other.id])
    assert found.conversation == other.id
    assert await doors.read_state.unread(ana, conversations=[]) == []


async def test_what_one_cannot_see_or_takes_no_part_in_is_not_marked(doors: Doors) -> None:
    root, ana, talk = await a_talk(doors)
    stranger = await cleared_root(doors, "acme")
    bob = await joined(doors, root, "bob")
    await say(doors, root, talk, "here")

    for who in (bob, stranger, replace(ana, clearance=PUBLIC)):
        await doors.read_state.read_to(who, talk.id, 1)
        await doors.read_state.read_one(who, message_id("here"))
    assert await count(doors, ana, talk) == 1
    assert await unread(doors, bob) == {}
