"""What is unread: exactly, and for oneself alone."""

import pytest

from portico.bridge.core.errors import MessageNotFound
from portico.bridge.core.messages import NewMessage
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def test_what_others_said_since_one_joined_is_unread(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana)
    await room.says(ana, talk, "before")
    await room.join(bob, talk.id)
    await room.says(ana, talk, "after")
    await room.send_message(ana, NewMessage(conversation=talk.id, body="bob?", mentions=(bob.id,)))
    await room.says(bob, talk, "yes")

    inbox = await room.show_inbox(bob)

    [item] = inbox.unread
    assert (item.conversation.title, item.count, item.mentions) == ("talk", 2, 1)
    assert inbox.total == 2
    assert (await room.show_inbox(ana)).total == 1


async def test_the_total_alone_is_that_of_the_inbox(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    low: Principal,
) -> None:
    one, other = [await room.a_talk(ana, TEAM, with_=[bob, low]) for _ in range(2)]
    await room.says(ana, one, "a", TEAM)
    await room.says(ana, other, "bob?", SECRET)
    await room.send_message(ana, NewMessage(conversation=one.id, body="@bob", label=SECRET))

    for who, count, mentions in ((bob, 3, 1), (low, 1, 0), (ana, 0, 0)):
        counted = await room.count_unread(who)
        assert (counted.count, counted.mentions) == (count, mentions)
    assert (await room.mark(bob), await room.mark(low)) == (SECRET, TEAM)
    with pytest.raises(NotPermitted):
        await room.count_unread(room.enters("nobody", roles=[]))


async def test_a_count_is_as_secret_as_what_is_counted(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    low: Principal,
) -> None:
    talk = await room.a_talk(ana, TEAM, with_=[bob, low])
    await room.says(ana, talk, "a", TEAM)
    await room.says(ana, talk, "b", SECRET)

    assert (await room.show_inbox(low)).total == 1
    assert (await room.show_inbox(bob, upto=TEAM)).total == 1
    assert (await room.count_unread(bob, upto=TEAM)).count == 1
    assert await room.mark(bob) == TEAM
    assert (await room.show_inbox(bob)).total == 2
    assert await room.mark(bob) == SECRET


async def test_a_persons_inbox_is_a_task_of_its_own(room: TalkRoom) -> None:
    ana, boss = room.enters("ana", kind=PrincipalKind.PERSON), room.enters("boss")
    talk = await room.a_talk(ana, TEAM, with_=[boss])
    await room.says(boss, talk, "b", SECRET)

    await room.show_inbox(ana)

    assert await room.mark(ana) == SECRET
    assert await room.mark(ana, talk.id) == PUBLIC


async def test_up_to_where_a_page_ended_is_read_and_never_back(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, with_=[bob])
    for body in "abc":
        await room.says(ana, talk, body)
    first = await room.read_messages(bob, [talk.id], limit=1)
    second = await room.read_messages(bob, [talk.id], cursor=first.cursor, limit=1)

    await room.mark_read(bob, [talk.id], second.cursor)
    assert await room.unread(bob) == 1
    await room.mark_read(bob, [talk.id], first.cursor)
    assert await room.unread(bob) == 1
    with pytest.raises(InvalidCursor):
        await room.mark_read(ana, [talk.id], second.cursor)


async def test_what_was_not_looked_at_stays_unread(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM, with_=[bob])
    for body, label in (("a", TEAM), ("b", SECRET), ("c", TEAM)):
        await room.says(ana, talk, body, label)
    low = await room.read_messages(bob, [talk.id], upto=TEAM)

    await room.mark_read(bob, [talk.id], low.cursor)
    assert await room.unread(bob) == 3
    await room.mark_read(bob, [talk.id], low.cursor, upto=TEAM)

    assert await room.unread(bob) == 1
    high = await room.read_messages(bob, [talk.id])
    await room.mark_read(bob, [talk.id], high.cursor, upto=bob.clearance)
    assert await room.unread(bob) == 0


async def test_one_can_be_read_before_what_is_before_it(room: TalkRoom) -> None:
    ana, bob, low = room.enters("ana"), room.enters("bob"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM, with_=[bob, low])
    said = [await room.says(ana, talk, body, SECRET) for body in "abc"]

    await room.mark_one(bob, said[1].id)

    assert await room.unread(bob) == 2
    assert await room.mark(bob) == SECRET
    with pytest.raises(MessageNotFound):
        await room.mark_one(low, said[1].id)
    eve = room.enters("eve")
    await room.mark_one(eve, said[1].id)
    assert await room.unread(eve) == 0


async def test_how_far_one_has_read_can_be_noted_from_any_task(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, with_=[bob])
    await room.says(ana, talk, "a")
    page = await room.read_messages(bob, [talk.id])
    await room.marks.read(bob, [SECRET])

    await room.mark_read(bob, [talk.id], page.cursor)

    assert await room.unread(bob) == 0
