"""What every table keeps to: a guest sees their seat and what is asked there, and nothing else."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import WriteDown
from portico.debate.core.debates import Debate, DebateStatus
from portico.debate.core.errors import (
    DebateNotFound,
    DebateOver,
    NoAnswerExpected,
    NoSeatLeft,
    NotSeated,
)
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, cleared_root, joined
from tests.contracts.debate_table import a_debate, a_guest, a_reply, an_ask, said
from tests.contracts.doors import Doors

LATER = BEGINNING + timedelta(minutes=1)


async def seated(doors: Doors, guests: int = 2) -> tuple[Principal, Principal, Debate]:
    """A starter, a guest who has joined, and their debate."""
    admin = await cleared_root(doors)
    guest = await joined(doors, admin, "guest", FINANCE)
    debate = a_debate(admin, guests=guests)
    await doors.debates.add(admin, debate)
    await doors.debates.join(guest, debate.id, a_guest(guest))
    return admin, guest, debate


async def test_a_guest_is_one_of_the_voices(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)

    again = await doors.debates.join(guest, debate.id, replace(a_guest(guest), name="other"))

    assert again == a_guest(guest)
    with pytest.raises(DebateNotFound):  # it is private
        await doors.debates.read(guest, debate.id)
    with pytest.raises(DebateNotFound):
        await doors.debates.note(guest, debate.id, said(), TEAM)
    read = (await doors.debates.read(admin, debate.id)).debate
    assert read.debaters == (*debate.debaters, a_guest(guest))


async def test_no_more_sit_down_than_there_are_seats(doors: Doors, admin: Principal) -> None:
    debate = a_debate(admin, guests=2)
    await doors.debates.add(admin, debate)
    guests = [await joined(doors, admin, f"guest {number}") for number in range(5)]

    came = await asyncio.gather(
        *(doors.debates.join(guest, debate.id, a_guest(guest)) for guest in guests),
        return_exceptions=True,
    )

    none = a_debate(admin, "none")
    await doors.debates.add(admin, none)
    with pytest.raises(NoSeatLeft):
        await doors.debates.join(admin, none.id, a_guest(admin))
    with pytest.raises(NotSeated):
        await doors.seats.seat(admin, none.id)
    assert sum(isinstance(each, NoSeatLeft) for each in came) == 3
    assert len((await doors.debates.read(admin, debate.id)).debate.debaters) == 4


async def test_nobody_joins_what_they_may_not_know_of(doors: Doors, admin: Principal) -> None:
    low = await joined(doors, admin, "low", TEAM)
    secret = a_debate(admin, "secret", label=FINANCE, guests=1)
    alone = a_debate(admin, "alone")
    for debate in (secret, alone):
        await doors.debates.add(admin, debate)

    for debate in (secret, alone):
        with pytest.raises(DebateNotFound):
            await doors.debates.join(low, debate.id, a_guest(low))
        with pytest.raises(DebateNotFound):
            await doors.seats.secrecy(low, debate.id)
        with pytest.raises(DebateNotFound):
            await doors.seats.seat(low, debate.id)
        with pytest.raises(DebateNotFound):
            await doors.seats.answer(low, debate.id, "said:1", a_reply())


async def test_nobody_joins_a_debate_that_is_over(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)
    late = await joined(doors, admin, "late")
    await doors.debates.end(admin, debate.id, DebateStatus.STOPPED, None, at=LATER)

    with pytest.raises(DebateOver):
        await doors.debates.join(late, debate.id, a_guest(late))
    assert await doors.debates.join(guest, debate.id, a_guest(guest)) == a_guest(guest)
    with pytest.raises(DebateOver):
        await doors.seats.answer(guest, debate.id, "said:1", a_reply())
    assert (await doors.seats.seat(guest, debate.id)).over


async def test_a_seat_tells_what_is_asked_now(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)

    before = await doors.seats.seat(guest, debate.id)
    ask = an_ask(a_guest(guest))
    for _ in range(2):
        await doors.seats.ask(admin, debate.id, ask)
    await doors.seats.ask(admin, debate.id, an_ask(a_guest(guest), "said:2"))
    now = await doors.seats.seat(guest, debate.id)

    assert (before.asked, before.key, before.turn) == (None, None, 1)
    assert (now.voice, now.question) == ("guest:guest", debate.question.text)
    assert (now.key, now.schema, now.until) == ("said:1", ask.schema, debate.deadline)
    assert now.asked == f"{ask.system}\n\n{ask.prompt}"
    assert (now.label, now.over, now.run, now.turn) == (TEAM, False, debate.run, 1)


async def test_the_first_answer_counts(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)
    await doors.seats.ask(admin, debate.id, an_ask(a_guest(guest)))

    assert await doors.seats.answered(admin, debate.id, ["said:1", "said:9"]) == []
    for reply in (a_reply(), a_reply("another")):
        await doors.seats.answer(guest, debate.id, "said:1", reply)

    assert await doors.seats.answered(admin, debate.id, ["said:1", "said:9"]) == [
        ("said:1", a_reply())
    ]
    seat = await doors.seats.seat(guest, debate.id)
    assert (seat.asked, seat.turn) == (None, 2)


async def test_only_what_was_asked_of_them_is_theirs_to_answer(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)
    other = await joined(doors, admin, "other")
    await doors.debates.join(other, debate.id, a_guest(other))
    stranger = await joined(doors, admin, "stranger")
    await doors.seats.ask(admin, debate.id, an_ask(a_guest(guest)))

    assert await doors.seats.secrecy(stranger, debate.id) == TEAM
    with pytest.raises(NotSeated):
        await doors.seats.seat(stranger, debate.id)
    await doors.seats.ask(admin, debate.id, an_ask(replace(a_guest(other), name="guest:nobody")))
    with pytest.raises(NoAnswerExpected):
        await doors.seats.answer(other, debate.id, "said:1", a_reply())
    with pytest.raises(NoAnswerExpected):
        await doors.seats.answer(guest, debate.id, "said:7", a_reply())
    with pytest.raises(NotSeated):
        await doors.seats.answer(stranger, debate.id, "said:1", a_reply())

    assert (await doors.seats.seat(other, debate.id)).asked is None
    assert await doors.seats.answered(other, debate.id, ["said:1"]) == []


async def test_who_has_read_more_neither_joins_nor_answers_nor_asks(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)
    late = await joined(doors, admin, "late", SECRET)
    await doors.seats.ask(admin, debate.id, an_ask(a_guest(guest)))
    for each in (guest, late, admin):
        await doors.contexts.raise_taint(each, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.debates.join(late, debate.id, a_guest(late))
    with pytest.raises(WriteDown):
        await doors.seats.answer(guest, debate.id, "said:1", a_reply())

    with pytest.raises(WriteDown):
        await doors.seats.ask(admin, debate.id, an_ask(a_guest(guest), "said:2"))

    assert await doors.seats.answered(admin, debate.id, ["said:1"]) == []


async def test_a_guest_is_at_no_table_that_has_become_too_secret(doors: Doors) -> None:
    admin, guest, debate = await seated(doors)
    await doors.debates.note(admin, debate.id, said(), SECRET)

    with pytest.raises(DebateNotFound):
        await doors.seats.seat(guest, debate.id)
    with pytest.raises(DebateNotFound):
        await doors.seats.answer(guest, debate.id, "said:1", a_reply())
