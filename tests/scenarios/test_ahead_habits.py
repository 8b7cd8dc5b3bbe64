"""What the product foretells by itself, from what people do over and over, is as safe as any.

A day of sessions in each world, real use cases, the real predictor: shadow first, then live. The
same oracle looks on; besides, nothing is tried before it was seen often enough by whoever had read
no more, and nothing that was learnt has a value of anybody's in it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

import pytest

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_predictor import ContextHistory
from tests.scenarios.ahead_gates_out import LEARNT_OUT
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_moves import MOVES, Play
from tests.scenarios.ahead_scene import a_scene
from tests.scenarios.test_ahead_safety import Found

From = Literal["word", "everybody", "next", "again"]
"""Where a step's argument comes from: what the caller has said, nobody, the last answer, the first
argument."""
SECRET: Final = Label(Level.RESTRICTED, frozenset({"hr"}))
_LATER: Final = timedelta(minutes=31)
_MEANWHILE: Final = ("change", "approve", "approve", "switch", "switch", "demote")


@dataclass(frozen=True)
class Step:
    tool: ToolRef
    given: From


@dataclass(frozen=True)
class Habit:
    callers: tuple[Principal, ...]
    steps: tuple[Step, ...]


def a_habit(play: Play) -> Habit:
    """Of one, or of all; of what most of them may do."""
    ways: tuple[From, ...] = ("next", "next", "again", "everybody")
    many = play.dice.choice((2, 2, 3))
    first = Step(play.tool(0.95), play.dice.choice(("word", "everybody")))
    rest = [Step(play.tool(0.95), play.dice.choice(ways)) for _ in range(many - 1)]
    callers = play.scene.world.people if play.dice.random() < 0.5 else [play.caller()]
    return Habit(tuple(callers), (first, *rest))


async def some_sessions(play: Play, habit: Habit, many: int) -> None:
    """The first half is one caller's alone, who may have read something secret before."""
    first = habit.callers[0]
    if play.dice.random() < 0.4:
        play.ways.has_read(first, SECRET)
    for number in range(many):
        alone = number < many // 2
        await _one_session(play, habit, first if alone else play.dice.choice(habit.callers))


async def _one_session(play: Play, habit: Habit, caller: Principal) -> None:
    """With a detour, or broken off, now and then; an operator may do something meanwhile."""
    dice = play.dice
    play.scene.oracle.stands(play.scene.world.somebody(caller))
    first = _a_word(play, caller)
    if dice.random() < 0.7:
        play.ways.say(caller, f"look for {first}")
        await play.ways.settled()
    for step in habit.steps:
        await _meanwhile(play)
        path = _path(play, caller, step, first)
        if path is None:
            break
        await play.call(caller, step.tool, {"path": path})
        await play.ways.settled()
        if dice.random() < 0.7:
            play.scene.let_go()
            await play.ways.settled()
    play.scene.clock.turn(_LATER)


def _a_word(play: Play, caller: Principal) -> str:
    """Their own, or what a server has told them before."""
    given = play.answers.get(play.scene.world.somebody(caller).task, [])
    own = f"word{play.dice.getrandbits(24)}x"
    return play.dice.choice(given[-4:]) if given and play.dice.random() < 0.2 else own


async def _meanwhile(play: Play) -> None:
    if play.dice.random() < 0.1:
        await MOVES["call"][1](play)
        await play.ways.settled()
    if play.dice.random() < 0.02:
        await MOVES[play.dice.choice(_MEANWHILE)][1](play)


def _path(play: Play, caller: Principal, step: Step, first: str) -> str | None:
    given = play.answers.get(play.scene.world.somebody(caller).task, [])
    match step.given:
        case "next":
            return given[-1] if given else None
        case "everybody":
            return "notes"
        case _:
            return first


FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
SESSIONS = 45
"""Of one world."""
WORLDS = 100_000 // SESSIONS if FULL_SIZE else 40
TO_BE_CAUGHT = 400
LEAST = 10
"""Twenty outcomes are needed, and one task has a say in two of them in half an hour."""

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(7200 if FULL_SIZE else 600)]


async def lives(seed: int, found: Found, **how: Any) -> None:
    scene = a_scene(f"habits {seed}", oddities=60)
    scene.oracle.least_seen = LEAST
    house = AheadHouse(scene=scene, begin=ContextHistory, **how)
    async with lived_in(house):
        play = Play(scene, house)
        await some_sessions(play, a_habit(play), SESSIONS)
        found.look_through(house, play, seed)
        found.wrong += [f"world {seed}: {each}" for each in _kept(house)]


def _kept(house: AheadHouse) -> Iterator[str]:
    for kept in house.layers._kept.values():
        for each in kept.layer.counted():
            yield from house.scene.oracle.kept(each.key)


async def lived(worlds: int, until: str | None = None, **how: Any) -> Found:
    found = Found()
    for seed in range(worlds):
        await lives(seed, found, **how)
        if until is not None and any(until in each for each in found.wrong):
            break
    return found


@pytest.mark.requirement("ahead:safety:learnt")
async def test_what_habits_foretell_is_safe_and_theirs_alone() -> None:
    found = await lived(WORLDS)

    print(f"{WORLDS} worlds of {SESSIONS} sessions, {dict(found.kinds)}")
    assert found.wrong == []
    assert found.kinds["served"] > WORLDS / 4


@pytest.mark.parametrize("gate", LEARNT_OUT)
@pytest.mark.planted
async def test_each_gate_of_what_is_learnt_is_needed(
    gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = LEARNT_OUT[gate]
    without.patch(monkeypatch)

    found = await lived(TO_BE_CAUGHT, without.found, **without.how())

    assert any(without.found in each for each in found.wrong)
