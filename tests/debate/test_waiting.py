"""Chat programs and guests wait for a debate, for their turn, and for an answer cut to size."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.tokens import O200k
from portico.debate.core.debates import Debate, DebateId, DebateSpec, DebateStatus
from portico.debate.core.errors import DebateNotFound
from portico.debate.debaters import ShortenAnswer
from portico.debate.debates import AskInChat, WaitForDebate
from portico.debate.guests import WaitAtSeat
from tests.debate.room import ANA, BEN, Room, some

LONG = timedelta(seconds=20)


def waiting(room: Room) -> WaitForDebate:
    return WaitForDebate(look=room.look, follow_debate=room.follow)


async def test_what_is_over_is_told_at_once(room: Room) -> None:
    whole = await room.held()

    now = await waiting(room)(ANA, whole.debate.id, patience=LONG)

    assert now.status is DebateStatus.DECIDED

    for which in (whole.debate.id, DebateId.of_digest(b"nowhere")):
        with pytest.raises(DebateNotFound):
            await waiting(room)(BEN, which, patience=LONG)


@pytest.mark.parametrize("patience", [timedelta(0), timedelta(milliseconds=20)])
async def test_when_their_patience_is_over_they_hear_how_it_stands(
    room: Room, patience: timedelta
) -> None:
    begun = await room.begin()

    now = await waiting(room)(ANA, begun.id, patience=patience)

    assert now.status is DebateStatus.RUNNING


async def test_whoever_waits_is_told_when_it_ends(room: Room) -> None:
    begun = (await room.start(ANA, DebateSpec(question="Is it so?"))).debate

    async with asyncio.TaskGroup() as group:
        waits = group.create_task(waiting(room)(ANA, begun.id, patience=LONG))
        await asyncio.sleep(0)
        await room.leg(begun)

    assert waits.result().status is DebateStatus.DECIDED


def waiter(room: Room) -> WaitAtSeat:
    return WaitAtSeat(join_debate=room.join, bus=room.bus, at_first=timedelta(milliseconds=100))


async def with_a_seat(room: Room) -> Debate:
    wish = DebateSpec(question="Is it so?", guests=1)
    return (await room.start(ANA, wish)).debate


async def test_whoever_has_no_patience_hears_that_nothing_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await with_a_seat(room)

    seat = await waiter(room)(BEN, debate.id, patience=timedelta(0))

    assert (seat.voice, seat.asked, seat.over) == ("guest:ben", None, False)


async def test_patience_ends_where_nothing_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await with_a_seat(room)

    seat = await waiter(room)(BEN, debate.id, patience=timedelta(milliseconds=150))

    assert seat.asked is None


async def test_whoever_waits_is_told_what_is_asked() -> None:
    room = Room(*some("alpha:one"))
    debate = await with_a_seat(room)

    async with asyncio.TaskGroup() as group:
        waits = group.create_task(waiter(room)(BEN, debate.id, patience=LONG))
        await asyncio.sleep(0)
        await room.leg(debate)

    assert "Is it so?" in (waits.result().asked or "")


async def test_whoever_sits_down_is_told_at_once_what_is_asked_also_without_patience() -> None:
    room = Room(*some("alpha:one"))
    debate = await with_a_seat(room)
    sitting = WaitAtSeat(join_debate=room.join, bus=room.bus)

    async with asyncio.TaskGroup() as group:
        sits = group.create_task(sitting(BEN, debate.id, patience=timedelta(0)))
        await asyncio.sleep(0)
        await room.leg(debate)

    assert "Is it so?" in (sits.result().asked or "")
    assert sits.result().new is False  # looked at again since


WISH = DebateSpec(question="Is it so?")


class Chat:
    def __init__(self) -> None:
        self.room = Room(*some("a:1", "b:1"))

    async def ask(self, wish: DebateSpec = WISH, *, again: bool = False) -> Debate:
        return await AskInChat(start_debate=self.room.start)(ANA, wish, again=again)

    async def answered(self, wish: DebateSpec = WISH) -> Debate:
        debate = await self.ask(wish)
        await self.room.leg(debate)
        return debate


@pytest.fixture
def chat() -> Chat:
    return Chat()


async def test_the_same_question_is_the_same_debate_until_it_was_heard(chat: Chat) -> None:
    first, second = await chat.ask(), await chat.ask()
    await chat.room.leg(first)

    assert first.id == second.id
    assert (await chat.ask()).id != first.id


async def test_a_program_asks_the_same_or_another_by_its_key_or_its_question(chat: Chat) -> None:
    first = await chat.answered()

    again = await chat.ask(again=True)

    assert (again.id, again.status.over) == (first.id, True)

    debates = [
        await chat.ask(),
        await chat.ask(DebateSpec(question="Is it not?")),
        await chat.ask(DebateSpec(question="Is it so?", material="It rains.")),
    ]

    assert len({each.id for each in debates}) == 3

    debates = [await chat.answered() for _ in range(10)]

    assert len({each.id for each in debates}) == 10


async def test_a_key_of_the_program_s_own_says_what_is_the_same() -> None:
    chat, keyed = Chat(), DebateSpec(question="Is it so?", key="k")
    first = await chat.answered(keyed)

    second, other = await chat.ask(keyed), await chat.ask()

    assert (second.id, other.id == first.id) == (first.id, False)


async def test_what_stands_under_its_key_already_and_is_another_is_passed_by(chat: Chat) -> None:
    first = await chat.ask(DebateSpec(question="Is it so?", debaters=("a:1", "b:1")))

    second = await chat.ask()

    assert first.id != second.id


SHORTEN = ShortenAnswer(tokenizer=O200k())


def test_an_answer_is_cut_as_late_as_can_be_where_it_does_not_fit() -> None:
    assert SHORTEN("It is so.", None) == SHORTEN("It is so.", 100) == "It is so."
    assert SHORTEN("one two three four", 3) == "one two three"


@given(st.text(max_size=60), st.integers(1, 10))
def test_it_is_a_beginning_that_fits(text: str, most: int) -> None:
    short = SHORTEN(text, most)

    assert text.startswith(short)
    assert O200k().count(short) <= most
