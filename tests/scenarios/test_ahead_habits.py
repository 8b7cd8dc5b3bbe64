"""What the product foretells by itself, from what people do over and over, is as safe as any.

A day of sessions in each world, real use cases, the real predictor: shadow first, then live. The
same oracle looks on; besides, nothing is tried before it was seen often enough by whoever had read
no more, and nothing that was learnt has a value of anybody's in it.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from portico.gateway.core.ahead.course import Course
from tests.scenarios.ahead_gates_out import LEARNT_OUT
from tests.scenarios.ahead_habits import a_habit, some_sessions
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_play import Play
from tests.scenarios.ahead_world import a_scene
from tests.scenarios.test_ahead_safety import Found

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
    house = AheadHouse(scene=scene, begin=Course, **how)
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
async def test_each_gate_of_what_is_learnt_is_needed(
    gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = LEARNT_OUT[gate]
    without.patch(monkeypatch)

    found = await lived(TO_BE_CAUGHT, without.found, **without.how())

    assert any(without.found in each for each in found.wrong)
