"""A debate that is cut off anywhere goes on elsewhere: nobody is paid twice for what is written
down, what is lost stays charged, and it is decided as if nothing had happened."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from portico.debate.core.debaters import DebaterReply, DebaterRequest
from portico.debate.core.debates import Debate, DebateId, DebateStatus, Note, Verdict, WholeDebate
from portico.debate.core.questions import Preset, QuestionKind
from portico.engine.core.runs import RunStatus
from portico.kernel.budget import Cost, Tokens
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.debate_fakes import ScriptedDebater, ScriptedDebaters
from portico.testing.debates import MemoryBlackboard, MemoryBudgetLedger
from tests.debate.room import ANA, BEN, Room, decision_of
from tests.debate.virtual_time import in_no_time
from tests.engine.journals import Fuse, FusedJournal


class FusedBoard(MemoryBlackboard):
    fuse: Fuse

    async def note(self, caller: Principal, debate: DebateId, note: Note, label: Label) -> Note:
        await self.fuse(f"before writing {note.name}")
        written = await super().note(caller, debate, note, label)
        await self.fuse(f"after writing {note.name}")
        return written

    async def add(self, caller: Principal, debate: Debate) -> None:
        await super().add(caller, debate)
        await self.fuse("after a debate was begun")

    async def end(self, caller: Principal, debate: DebateId, *args: Any, **named: Any) -> Debate:
        await self.fuse("before the end")
        ended = await super().end(caller, debate, *args, **named)
        await self.fuse("after the end")
        return ended


class FusedPurse(MemoryBudgetLedger):
    fuse: Fuse

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        await self.fuse(f"before reserving {name}")
        passed = await super().reserve(caller, debate, name, cost)
        await self.fuse(f"after reserving {name}")
        return passed

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        await self.fuse(f"before settling {name}")
        await super().settle(caller, debate, name, cost)
        await self.fuse(f"after settling {name}")


class FusedVoices(ScriptedDebaters):
    fuse: Fuse

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        reply = await super().ask(caller, ask, hear)
        await self.fuse(f"between answer and note of {ask.key}")
        return reply


def split() -> list[ScriptedDebater]:
    """Two against two: they widen, and criticise each other."""
    voices = [
        ScriptedDebater(name=f"{family}:1", answer=answer)
        for family, answer in (("a", "yes"), ("b", "no"), ("c", "no"), ("d", "yes"))
    ]
    voices[0].again = "no"
    return voices


def writers() -> list[ScriptedDebater]:
    parts = [
        {"question": "Is the first so?", "kind": "yes_no"},
        {"question": "What of the second", "kind": "open"},
    ]
    return [
        ScriptedDebater(name=f"{family}:1", answer=f"yes{rest}", parts=parts, better="tie")
        for family, rest in (("a", ""), ("b", ", of course"), ("c", ", as far as one can see"))
    ]


def a_room(voices: list[ScriptedDebater], fuse: Fuse) -> Room:
    room = Room()
    board, purse, asked = FusedBoard(room.world), FusedPurse(room.world), FusedVoices(*voices)
    board.fuse = purse.fuse = asked.fuse = fuse
    room.blackboard, room.purse, room.voices = board, purse, asked
    room.assemble()
    return room


class Story:
    """One debate, cut off at one place."""

    def __init__(self, voices: list[ScriptedDebater], length: int, **wish: Any) -> None:
        self.fuse = Fuse(0)
        self.room = a_room(voices, self.fuse)
        self.length, self.wish = length, wish

    async def __call__(self) -> str | None:
        """Where it was cut off; None if it came to its end before."""
        room = self.room
        self.debate = await room.begin("Is it so?", **self.wish)
        self.fuse.left = self.length
        journal = FusedJournal(room, self.fuse)
        carrying = asyncio.ensure_future(room.leg(self.debate, journal))
        gone = asyncio.ensure_future(self.fuse.gone.wait())
        await asyncio.wait([carrying, gone], return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not self.fuse.gone.is_set():
            await carrying
            return None
        carrying.cancel()
        await asyncio.wait([carrying])
        where = self.fuse.at
        self.written = await self.notes()
        self.paid = Counter(ask.key for ask in room.voices.asks)
        self.fuse.mended()
        ended = await room.leg(self.debate)
        assert ended.status is RunStatus.DONE, where
        return where

    async def notes(self) -> dict[tuple[DebateId, str], Note]:
        parts = await self.room.blackboard.parts(ANA, self.debate.id)
        wholes = [await self.room.whole(each) for each in (self.debate.id, *(p.id for p in parts))]
        return {(w.debate.id, note.name): note for w in wholes for note in w.notes}

    async def check(self, where: str) -> None:
        """What was written down was asked once; and twice at most what was not."""
        asked = Counter(ask.key for ask in self.room.voices.asks)
        for debate, name in self.written:
            key = f"{debate}:{name}"
            assert asked[key] == self.paid[key], f"{key} again: {where}"
        assert max(asked.values()) <= 2, where
        repeated = {key for key, times in asked.items() if times > 1}
        assert len(repeated) <= 4, where  # as many as were under way at once
        open_ones = {
            f"{debate}:{name}": held
            for (_, debate, name), held in self.room.world.debate_reservations.items()
            if not held.settled
        }
        for key in repeated:
            assert key in open_ones, f"what was lost does not stay charged: {where}"
        spent = (await self.room.whole(self.debate.id)).debate.spent
        notes = await self.notes()
        lost = sum(held.cost.tokens for held in open_ones.values())
        assert spent.tokens == sum(note.cost.tokens for note in notes.values()) + lost, where


async def _undisturbed(make: Callable[[], list[ScriptedDebater]], **wish: Any) -> Debate:
    room = Room(*make())
    return (await room.held("Is it so?", **wish)).debate


async def _cut_off_everywhere(make: Callable[[], list[ScriptedDebater]], **wish: Any) -> list[str]:
    usual = await _undisturbed(make, **wish)
    places: list[str] = []
    for length in range(1, 400):
        story = Story(make(), length, **wish)
        where = await story()
        if where is None:
            return places
        places.append(where)
        ended = (await story.room.whole(story.debate.id)).debate
        assert (ended.status, ended.decision) == (usual.status, usual.decision), where
        await story.check(where)
    raise AssertionError("It never came to its end.")


def test_a_debate_that_is_cut_off_anywhere_is_decided_as_if_it_had_not_been() -> None:
    story = _cut_off_everywhere(split, preset=Preset.DEBATE, thoroughness=0.5)

    places = in_no_time(story)

    assert len(set(places)) > 40
    assert any(place.startswith("between answer and note") for place in places)
    assert any("said:2:" in place for place in places)


def test_an_open_debate_that_is_cut_off_anywhere_is_decided_the_same() -> None:
    places = in_no_time(_cut_off_everywhere(writers, kind=QuestionKind.OPEN))

    assert any("judged:" in place for place in places)
    assert any("synthesis" in place for place in places)


def test_an_analysis_that_is_cut_off_anywhere_comes_to_the_same() -> None:
    places = in_no_time(_cut_off_everywhere(writers, analyze=True))

    assert len(set(places)) > 60
    assert any("plan" in place for place in places)
    assert any("a debate was begun" in place for place in places)


def one_model() -> list[ScriptedDebater]:
    """That speaks twice: the second time its name ends in a number."""
    return [ScriptedDebater(name="m:1", answer="yes")]


def test_a_model_that_speaks_twice_pays_for_each_of_its_answers_wherever_it_is_cut_off() -> None:
    places = in_no_time(_cut_off_everywhere(one_model, roles=("critic", "architect")))

    assert any("m:1#2" in place for place in places)


def test_what_was_lost_stays_charged_however_often_it_is_taken_up_again() -> None:
    async def story() -> None:
        room = Room(*split())
        debate = await room.begin("Is it so?", guests=1)
        lost = Cost(tokens=Tokens(300), calls=1)
        acting = replace(ANA, context=debate.context)
        await room.purse.reserve(acting, debate.id, "said:1:a:1", lost)
        run = room.runs._kept[debate.run]  # somebody had it, and is gone
        run.run = replace(run.run, attempts=1)
        await room.leg(debate)  # asks it again, and waits for a guest
        for _ in range(3):
            await room.join(BEN, debate.id)
            await room.leg(debate)

            assert dict(await room.purse.outstanding(ANA, debate.id)) == {"said:1:a:1": lost}
        names = {name for _, _, name in room.world.debate_reservations}
        assert {"said:1:a:1", "2~said:1:a:1"} <= names

    in_no_time(story())


class StoppedBoard(MemoryBlackboard):
    """Somebody stops the debate as soon as its decision is written down; then, perhaps, the process
    is killed."""

    room: Room
    gone: asyncio.Event
    kill: bool

    async def note(self, caller: Principal, debate: DebateId, note: Note, label: Label) -> Note:
        written = await super().note(caller, debate, note, label)
        its = (await self.read(caller, debate)).debate
        if note.name == "decision" and its.part_of is None:
            await self.room.stop(ANA, debate)
            self.gone.set()
            if self.kill:
                await asyncio.Event().wait()
        return written


async def _stopped_when_decided(*, kill: bool, **wish: Any) -> WholeDebate:
    room = Room(*writers())
    board = room.blackboard = StoppedBoard(room.world)
    board.room, board.gone, board.kill = room, asyncio.Event(), kill
    room.assemble()
    debate = await room.begin("Is it so?", **wish)
    carrying = asyncio.ensure_future(room.leg(debate))
    await board.gone.wait()
    if kill:
        carrying.cancel()
        await asyncio.wait([carrying])
        await room.leg(debate)
    else:
        await carrying
    return await room.whole(debate.id)


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("wish", [{}, {"analyze": True}])
def test_what_was_decided_when_it_was_stopped_stays_decided(
    wish: dict[str, Any], kill: bool
) -> None:
    whole = in_no_time(_stopped_when_decided(kill=kill, **wish))

    assert whole.debate.status is DebateStatus.DECIDED
    assert decision_of(whole).verdict is Verdict.DECIDED
    assert [note.name for note in whole.notes][-2:] == ["decision", "stopped"]
