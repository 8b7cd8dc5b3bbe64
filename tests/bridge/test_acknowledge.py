"""Saying that something has arrived, and what waits for it."""

from datetime import timedelta

import pytest

from portico.bridge.core.errors import MessageNotFound, WriteDown
from portico.bridge.core.message import NewMessage, Wanted
from portico.kernel.label import PUBLIC
from portico.testing.kernel import BEGINNING
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom

SOON = BEGINNING + timedelta(days=1, hours=1)


async def test_who_has_acknowledged_is_there_for_all_who_may_read_it() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    said = await room.says(ana, await room.a_talk(ana), "the door is locked")

    await room.acknowledge(bob, said.id)
    [first] = await room.list_acknowledged(eve, said.id)
    await room.acknowledge(bob, said.id)

    assert first.by == bob.id
    assert await room.list_acknowledged(ana, said.id) == [first]


async def test_a_secret_one_can_be_acknowledged_in_an_open_project() -> None:
    room = TalkRoom()
    ana, bob, low = room.enters("ana"), room.enters("bob"), room.enters("low", TEAM)
    said = await room.says(ana, await room.a_talk(ana, TEAM), "the merger", SECRET)

    await room.acknowledge(bob, said.id)

    assert len(await room.list_acknowledged(ana, said.id)) == 1
    with pytest.raises(MessageNotFound):
        await room.acknowledge(low, said.id)
    with pytest.raises(MessageNotFound):
        await room.list_acknowledged(low, said.id)


async def test_nothing_is_acknowledged_from_above() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    said = await room.says(ana, await room.a_talk(ana, TEAM), "lunch")
    await room.marks.read(bob, [SECRET])

    with pytest.raises(WriteDown):
        await room.acknowledge(bob, said.id)


async def test_what_is_overdue_waits_with_both_until_all_have_acknowledged() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, with_=[bob, eve])
    sent = await room.send_message(
        ana,
        NewMessage(
            conversation=talk.id,
            body="lock the door",
            addressed=(bob.id, eve.id),
            acknowledge=Wanted(until=SOON),
        ),
    )

    async def overdue() -> list[int]:
        return [len((await room.show_inbox(who)).overdue) for who in (ana, bob, eve)]

    assert await overdue() == [0, 0, 0]
    room.clock.turn(timedelta(hours=2))
    assert await overdue() == [1, 1, 1]
    await room.acknowledge(bob, sent.message.id)
    assert await overdue() == [1, 0, 1]
    await room.acknowledge(eve, sent.message.id)
    assert await overdue() == [0, 0, 0]


async def test_what_one_may_not_read_any_more_is_not_overdue() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM, with_=[bob])
    await room.send_message(
        ana,
        NewMessage(
            conversation=talk.id,
            body="the merger",
            label=SECRET,
            addressed=(bob.id,),
            acknowledge=Wanted(until=SOON),
        ),
    )
    room.clock.turn(timedelta(hours=2))

    assert (await room.show_inbox(bob, upto=TEAM)).overdue == []
    assert await room.mark(bob) == PUBLIC
    assert (await room.show_inbox(room.cleared_for(bob, TEAM))).overdue == []
