"""However often a run is broken off and taken up again, it sees the same, in the same order."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Activation, RunStatus, StepState
from portico.kernel.durable import Begun, Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from tests.engine.journals import SlowToNote
from tests.engine.room import Room


@dataclass(frozen=True)
class Story:
    """Steps that need others before them, and when the process that does them dies."""

    needs: Sequence[frozenset[int]]
    failing: frozenset[int]
    crashes: Sequence[int]
    """After so many turns of the event loop."""
    seed: int


@st.composite
def stories(draw: st.DrawFn) -> Story:
    size = draw(st.integers(1, 8))
    needs = [
        draw(st.frozensets(st.integers(0, number - 1), max_size=3)) if number else frozenset[int]()
        for number in range(size)
    ]
    return Story(
        needs=needs,
        failing=draw(st.frozensets(st.integers(0, size - 1), max_size=2)),
        crashes=draw(st.lists(st.integers(0, 40), max_size=6)),
        seed=draw(st.integers(0, 2**32)),
    )


@dataclass
class Telling:
    """A work that does the story's steps as soon as it can, and what it saw each time."""

    story: Story
    dice: Random
    seen: list[list[tuple[str, JsonValue]]] = field(default_factory=list)
    acted: list[str] = field(default_factory=list)

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        order: list[tuple[str, JsonValue]] = []
        self.seen.append(order)
        begun: dict[str, Begun] = {}
        over: set[int] = set()
        while len(over) < len(self.story.needs):
            for number, needs in enumerate(self.story.needs):
                if needs <= over and number not in over and str(number) not in begun:
                    begun[str(number)] = durable.start(str(number), self._act)
            first = await durable.wait_any([*begun.values()])
            del begun[first.name]
            over.add(int(first.name))
            order.append((first.name, await _outcome(first)))
        return [[name, value] for name, value in order]

    async def _act(self, key: str) -> JsonValue:
        name = key.rpartition(":")[2]
        self.acted.append(name)
        await turns(self.dice.randrange(6))
        if int(name) in self.story.failing:
            raise OSError(f"{name}: {self.dice.random()}")
        return self.dice.random()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _outcome(begun: Begun) -> JsonValue:
    try:
        return await begun.result()
    except StepFailed as error:
        return str(error)


async def broken_off(room: Room, journal: SlowToNote, run: RunId, after: int) -> None:
    carrying = asyncio.ensure_future(room.run_leg(journal)(Activation(run, 1)))
    await turns(after)
    carrying.cancel()
    with suppress(asyncio.CancelledError):
        await carrying


async def over(room: Room, run: RunId) -> set[str]:
    return {step.name for step in await room.steps(run) if step.state is not StepState.OPEN}


async def live_through(story: Story) -> None:
    dice = Random(story.seed)
    telling = Telling(story, dice)
    room = Room(work=telling)
    journal = SlowToNote(room, dice)
    run = await room.start()

    for after in [*story.crashes, 10**4]:
        done, acted = await over(room, run), len(telling.acted)
        await broken_off(room, journal, run, after)
        assert done.isdisjoint(telling.acted[acted:]), "a step that was done was done again"

    ended = await room.seen(run)
    assert ended.status is RunStatus.DONE
    final = telling.seen[-1]
    assert ended.result == [[name, value] for name, value in final]
    for earlier in telling.seen:
        assert earlier == final[: len(earlier)], "what was seen once was not seen again"


@pytest.mark.requirement("runs:replay:same-order")
@given(stories())
@settings(max_examples=150)
def test_what_a_run_has_seen_it_sees_again_whenever_its_process_dies(story: Story) -> None:
    asyncio.run(live_through(story))
