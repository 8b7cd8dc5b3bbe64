"""Whatever somebody says that they want, nothing unsafe is read ahead for it.

The same worlds, the same oracle, the real way from words to what is read: what is put together of
a past that whoever means no good has made up, of words that a stranger may have said before.
"""

import os
from typing import Any

import pytest

from tests.scenarios.ahead_gates_out import INTENTS_OUT
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_intents import Intents
from tests.scenarios.ahead_moves import go_on
from tests.scenarios.ahead_play import Play
from tests.scenarios.ahead_world import a_scene
from tests.scenarios.test_ahead_safety import Found

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WORLDS = 17_500 if FULL_SIZE else 300
"""In each, somebody says six times what they want."""
TO_BE_CAUGHT = 2_000
MOVES = 20

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(7200 if FULL_SIZE else 300)]


async def wishes(seed: int, found: Found, **how: Any) -> None:
    house = AheadHouse(scene=a_scene(f"intents {seed}"), **how)
    async with lived_in(house):
        play = Play(house.scene, house)
        intents = Intents(play, house)
        await go_on(play, MOVES, intents.moves())
        found.look_through(house, play, seed)
        found.kinds.update(said=intents.said, suggested_and_run=intents.ran)


async def wished(worlds: int, until: str | None = None, **how: Any) -> Found:
    found = Found()
    for seed in range(worlds):
        await wishes(seed, found, **how)
        if until is not None and any(until in each for each in found.wrong):
            break
    return found


@pytest.mark.requirement("ahead:safety:intents")
async def test_whatever_is_wanted_nothing_unsafe_is_read_for_it() -> None:
    found = await wished(WORLDS)

    print(f"{WORLDS} worlds, {dict(found.kinds)}")
    assert found.wrong == []
    assert found.kinds["said"] > 4 * WORLDS
    assert min(found.kinds["suggested_and_run"], found.kinds["served"]) > WORLDS / 20


@pytest.mark.parametrize("gate", INTENTS_OUT)
async def test_each_gate_of_an_intent_is_needed(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = INTENTS_OUT[gate]
    without.patch(monkeypatch)

    found = await wished(TO_BE_CAUGHT, without.found, **without.how())

    assert any(without.found in each for each in found.wrong)
