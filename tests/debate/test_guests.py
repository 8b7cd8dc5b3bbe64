"""Guests join with a key of their own, are asked, answer or do not, and take up no process."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.debate.core.debaters import DebaterReply
from portico.debate.core.debates import (
    Debate,
    DebateSpec,
    DebateStatus,
    GuestAnswer,
    NoteKind,
    ReplaySpec,
    Seat,
    Why,
)
from portico.debate.core.errors import (
    DebateNotFound,
    DebateOver,
    InvalidDebate,
    NoAnswerExpected,
    NoDebaters,
    NoSeatLeft,
    NotSeated,
)
from portico.debate.core.events import DebaterAnswered, GuestsInvited
from portico.debate.core.questions import Preset
from portico.debate.guests import WakeDebate
from portico.engine.core.runs import Run, RunStatus
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.debate_fakes import ScriptedDebater
from tests.debate.room import ANA, BEN, VERA, Room, decision_of, later, put, some

YES = GuestAnswer(answer="Yes.", rationale="I looked.", confidence=0.9)


async def waiting(**wish: Any) -> tuple[Room, Debate]:
    """Its own voices have answered, and it waits for a guest."""
    room = Room(ScriptedDebater(name="a:1"), ScriptedDebater(name="b:1", answer="no"))
    debate = await room.begin("Is it so?", guests=1, **wish)
    run = await room.leg(debate)
    assert run.status is RunStatus.WAITING
    return room, debate


async def seated(**wish: Any) -> tuple[Room, Debate]:
    """And Ben has come, and is asked."""
    room, debate = await waiting(**wish)
    await room.join(BEN, debate.id)
    assert (await room.leg(debate)).status is RunStatus.WAITING
    return room, debate


async def slept(room: Room, debate: Debate, by: timedelta) -> Run:
    """Until whatever it waits for is due."""
    later(room, by)
    room.runs.due(room.clock.now())
    return await room.leg(debate)


async def test_a_debate_with_guests_says_that_it_waits_and_can_be_stopped() -> None:
    room, debate = await waiting()

    [wanted] = [told for told in room.told(debate.id) if isinstance(told, GuestsInvited)]
    assert wanted.seats == 1
    assert (await room.whole(debate.id)).debate.status is DebateStatus.RUNNING
    await room.stop(ANA, debate.id)
    assert (await room.leg(debate)).status is RunStatus.DONE
    whole = await room.whole(debate.id)
    assert whole.debate.status is DebateStatus.STOPPED
    assert decision_of(whole).why is Why.STOPPED
    with pytest.raises(DebateOver):
        await room.join(BEN, debate.id)


async def test_guests_alone_are_heard_where_nobody_else_is_wanted() -> None:
    room = Room(ScriptedDebater(name="a:1"), ScriptedDebater(name="b:1", answer="no"))

    debate = await room.begin("Is it so?", guests=2, debaters=("none",))

    assert (debate.debaters, debate.guests) == ((), 2)
    with pytest.raises(NoDebaters):
        await room.begin("Is it so?", guests=1, debaters=("none",))


async def test_a_guest_is_asked_and_their_answer_counts() -> None:
    room, debate = await waiting()

    first = await room.join(BEN, debate.id)
    assert first.key is None
    assert (await room.leg(debate)).status is RunStatus.WAITING
    seat = await room.join(BEN, debate.id)
    assert seat.key == "said:1:guest:ben"
    assert seat.asked is not None
    assert "Is it so?" in seat.asked
    await room.answer(BEN, debate.id, YES)
    ended = await room.leg(debate)

    assert ended.status is RunStatus.DONE
    whole = await room.whole(debate.id)
    assert decision_of(whole).answer == "yes"
    assert "guest:ben" in decision_of(whole).options[0].debaters
    assert "guest:ben, round 1" in room.logs.files[debate.id]
    answered = [told for told in room.told(debate.id) if isinstance(told, DebaterAnswered)]
    assert answered[-1].voice == "guest:ben"
    assert whole.debate.spent.calls == 2


async def test_a_guest_who_joins_before_it_has_begun_is_asked_with_the_others(room: Room) -> None:
    debate = await room.begin("Is it so?", guests=1)
    await room.join(BEN, debate.id)

    assert (await room.leg(debate)).status is RunStatus.WAITING
    await room.answer(BEN, debate.id, YES)
    assert (await room.leg(debate)).status is RunStatus.DONE


async def test_guests_who_never_come_are_not_waited_for_to_the_end() -> None:
    room, debate = await waiting(deadline=timedelta(seconds=100))

    ended = await slept(room, debate, timedelta(seconds=60))

    whole = await room.whole(debate.id)
    assert ended.status is RunStatus.DONE
    skipped = [note.body for note in whole.notes if note.kind is NoteKind.SKIPPED]
    assert {"what": "guests:1", "why": "late", "saved": 0} in skipped
    assert decision_of(whole).why in (Why.TIE, Why.TOO_UNSURE)


async def test_who_answers_after_that_is_still_heard_while_it_goes_on() -> None:
    room, debate = await seated(deadline=timedelta(seconds=100))

    later(room, timedelta(seconds=60))
    await room.answer(BEN, debate.id, YES)
    await room.leg(debate)

    whole = await room.whole(debate.id)
    assert "said:1:guest:ben" in {note.name for note in whole.notes}


class Killed(BaseException):
    """A process, between two things that it does."""


class Gone(WakeDebate):
    async def __call__(self, guest: Principal, seat: Seat) -> None:
        raise Killed


def gone(room: Room) -> Gone:
    return Gone(runs=room.runs, queue=room.line, bus=room.bus)


async def unheard(**wish: Any) -> tuple[Room, Debate]:
    """A guest has answered, and was gone before they told the run so."""
    room, debate = await seated(**wish)
    with pytest.raises(Killed):
        await replace(room.answer, wake=gone(room))(BEN, debate.id, YES)
    return room, debate


async def test_an_answer_that_nobody_called_about_is_found_after_a_while() -> None:
    room, debate = await unheard(deadline=timedelta(hours=1))
    assert (await room.seen(debate.run)).status is RunStatus.WAITING

    ended = await slept(room, debate, timedelta(minutes=1))

    assert ended.status is RunStatus.DONE
    decision = decision_of(await room.whole(debate.id))
    assert (decision.answer, decision.options[0].debaters) == ("yes", ("a:1", "guest:ben"))


async def test_a_guest_whom_nobody_called_about_is_asked_after_a_while() -> None:
    room, debate = await waiting()
    with pytest.raises(Killed):
        await replace(room.join, wake=gone(room))(BEN, debate.id)

    await slept(room, debate, timedelta(seconds=15))

    assert (await room.join(BEN, debate.id)).key == "said:1:guest:ben"


async def test_an_answer_that_nobody_called_about_counts_also_past_the_deadline() -> None:
    room, debate = await unheard(deadline=timedelta(seconds=20))

    await slept(room, debate, timedelta(seconds=30))

    whole = await room.whole(debate.id)
    assert {"overdue", "said:1:guest:ben"} <= {note.name for note in whole.notes}
    assert "guest:ben" in decision_of(whole).options[0].debaters


async def test_whoever_calls_after_it_has_looked_by_itself_is_heard_at_once() -> None:
    room, debate = await waiting()
    await room.join(BEN, debate.id)
    for _ in range(3):
        assert (await room.leg(debate)).status is RunStatus.WAITING
        later(room, timedelta(seconds=15))
        room.runs.due(room.clock.now())
    await room.leg(debate)

    await room.answer(BEN, debate.id, YES)

    assert (await room.seen(debate.run)).status is RunStatus.QUEUED
    assert (await room.leg(debate)).status is RunStatus.DONE


async def test_a_guest_takes_part_in_the_critique_round_and_in_its_replay() -> None:
    room, debate = await seated(preset=Preset.DEBATE, thoroughness=0.9)
    await room.answer(BEN, debate.id, GuestAnswer(answer="yes", rationale="I think so."))

    assert (await room.leg(debate)).status is RunStatus.WAITING
    seat = await room.join(BEN, debate.id)
    assert seat.key == "said:2:guest:ben"
    assert "Others have answered otherwise" in (seat.asked or "")
    changed = GuestAnswer(answer="no", changed_because="I had read it wrongly.")
    await room.answer(BEN, debate.id, changed)
    assert (await room.leg(debate)).status is RunStatus.DONE
    whole = await room.whole(debate.id)
    said = {note.name: note.body["shown"] for note in whole.notes if note.kind is NoteKind.SAID}
    assert said["said:2:guest:ben"] == "no"
    again = await room.replay(ANA, debate.id, ReplaySpec())
    assert again.now == again.was


async def test_two_guests_who_come_at_once_are_both_noticed(room: Room) -> None:
    debate = await room.begin("Is it so?", guests=2)
    await room.leg(debate)

    await asyncio.gather(room.join(BEN, debate.id), room.join(ANA, debate.id))
    await room.leg(debate)
    await asyncio.gather(room.answer(BEN, debate.id, YES), room.answer(ANA, debate.id, YES))
    ended = await room.leg(debate)

    assert ended.status is RunStatus.DONE
    names = {note.name for note in (await room.whole(debate.id)).notes}
    assert {"said:1:guest:ben", "said:1:guest:ana"} <= names


async def test_who_answers_just_before_the_run_is_put_away_is_heard_at_once(room: Room) -> None:
    debate = await room.begin("Is it so?", guests=2)
    await room.join(BEN, debate.id)
    real = room.talk.publish

    async def tell(caller: Any, which: Any, *happenings: Any, label: Any) -> None:
        await real(caller, which, *happenings, label=label)
        if any(isinstance(each, GuestsInvited) for each in happenings):
            await room.answer(BEN, debate.id, YES)

    put(room.talk, "publish", tell)
    await room.leg(debate)

    notes = {note.name for note in (await room.whole(debate.id)).notes}
    assert "said:1:guest:ben" in notes


async def test_an_answer_that_is_none_of_the_choices_can_be_said_otherwise() -> None:
    room = Room(*some("a:1", "b:1", answer="red"))
    debate = await room.begin("Which?", guests=1, choices=("red", "blue"))
    await room.join(BEN, debate.id)
    await room.leg(debate)

    with pytest.raises(InvalidDebate, match="'elephant' is none of the choices") as refused:
        await room.answer(BEN, debate.id, GuestAnswer(answer="elephant"))
    assert refused.value.fix == "Answer with one of: red, blue."
    await room.answer(BEN, debate.id, GuestAnswer(answer="B"))
    await room.leg(debate)
    whole = await room.whole(debate.id)
    [said] = [note.body["shown"] for note in whole.notes if note.name == "said:1:guest:ben"]
    assert said == "blue"


@pytest.mark.parametrize(
    "answer", [GuestAnswer(answer=" \x00 "), GuestAnswer(answer="yes", confidence=1.5)]
)
async def test_an_answer_that_could_not_be_counted_is_refused(answer: GuestAnswer) -> None:
    room, debate = await seated()

    with pytest.raises(InvalidDebate):
        await room.answer(BEN, debate.id, answer)


async def test_what_a_guest_said_that_cannot_be_read_is_heard_and_not_counted() -> None:
    room, debate = await seated()
    garbled = DebaterReply(text="{ what?", prompt_tokens=0, output_tokens=0)
    await room.seats.answer(BEN, debate.id, "said:1:guest:ben", garbled)
    await slept(room, debate, timedelta(minutes=4))

    whole = await room.whole(debate.id)
    [note] = [note for note in whole.notes if note.name == "said:1:guest:ben"]
    assert (note.kind, note.body["code"]) == (NoteKind.FAILED, "unreadable")


async def test_a_debate_of_guests_alone_is_held_estimated_and_replayed() -> None:
    room = Room()
    wish = DebateSpec(question="What should we do", guests=2)
    estimate = await room.estimate(ANA, wish)
    assert (estimate.most_tokens, estimate.likely_tokens, estimate.fits) == (0, 0, True)
    debate = (await room.start(ANA, wish)).debate
    for guest in (ANA, BEN):
        await room.join(guest, debate.id)
    await room.leg(debate)
    for guest in (ANA, BEN):
        await room.answer(guest, debate.id, GuestAnswer(answer=f"Ask {guest.name}."))
    assert (await room.leg(debate)).status is RunStatus.DONE

    whole = await room.whole(debate.id)
    skipped = {str(note.body["what"]) for note in whole.notes if note.kind is NoteKind.SKIPPED}
    assert skipped == {"judging", "synthesis"}
    again = await room.replay(ANA, debate.id, ReplaySpec())
    assert [option.debaters for option in again.now.options] == [
        option.debaters for option in decision_of(whole).options
    ]


async def test_a_guest_who_never_answered_is_not_waited_for_in_a_replay() -> None:
    room, debate = await seated()
    await slept(room, debate, timedelta(minutes=4))

    again = await room.replay(ANA, debate.id, ReplaySpec())

    assert again.now == again.was
    assert again.notes == ()


async def test_there_are_no_more_guests_than_seats_and_only_who_is_asked_answers() -> None:
    room, debate = await waiting()

    with pytest.raises(NotSeated):
        await room.answer(BEN, debate.id, YES)
    await room.join(BEN, debate.id)
    with pytest.raises(NoAnswerExpected):
        await room.answer(BEN, debate.id, YES)
    with pytest.raises(NoSeatLeft):
        await room.join(ANA, debate.id)
    with pytest.raises(NotPermitted):
        await room.join(VERA, debate.id)


async def test_a_guest_is_cleared_for_what_they_are_asked_and_has_read_it(room: Room) -> None:
    secret = Label(Level.CONFIDENTIAL)
    debate = await room.begin("Is it so?", guests=1, label=secret)

    with pytest.raises(DebateNotFound):
        await room.join(replace(BEN, clearance=Label(Level.TEAM)), debate.id)
    await room.join(BEN, debate.id)

    mine = [known for known in room.world.contexts.values() if known.principal == BEN.id]
    assert [(known.label, known.untrusted) for known in mine] == [(secret, True)]
