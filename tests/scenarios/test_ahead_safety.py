"""Nothing is read ahead of time that may not be, and nobody is given what is not theirs.

Many small worlds in which people, servers and operators do things by chance, and somebody who is
told of everything. In some of them what comes next is foretold by whoever means no good; in the
others by the product itself, from what people do over and over. The use cases are the real ones.
With any one gate taken out, something is found.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from portico.learning.core.prefetch_gates import ARRIVAL, GATES
from tests.scenarios.ahead_gates_out import OUT
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_moves import Play, go_on
from tests.scenarios.ahead_scene import a_scene

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WORLDS = 100_000 if FULL_SIZE else 300
TO_BE_CAUGHT = 4_000
"""Worlds within which a missing gate has to be noticed."""
MOVES = 20

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(7200 if FULL_SIZE else 600)]


@dataclass
class Found:
    wrong: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def look_through(self, house: AheadHouse, play: Play, seed: int) -> None:
        scene = play.scene
        found = [*scene.wrong, *_leaked(house)]
        self.wrong += [f"world {seed}: {each}" for each in found]
        self.kinds += Counter(
            ran=scene.ran_ahead, served=play.served, made=play.made, refused=play.refused
        )


def _leaked(house: AheadHouse) -> Iterator[str]:
    """What nobody was given is written down, remembered and learnt from nowhere."""
    remembered = [repr(task) for task in house.watching.tasks]
    for text in (*house.scene.written, *remembered):
        yield from house.scene.oracle.unclaimed(text)


async def walk(seed: int, found: Found, **how: Any) -> None:
    house = AheadHouse(scene=a_scene(f"ahead {seed}"), **how)
    async with lived_in(house):
        play = Play(house.scene, house)
        await go_on(play, MOVES)
        found.look_through(house, play, seed)


async def tried(worlds: Iterable[int], until: str | None = None, **how: Any) -> Found:
    found = Found()
    for seed in worlds:
        await walk(seed, found, **how)
        if until is not None and any(until in each for each in found.wrong):
            break
    return found


@pytest.mark.requirement("ahead:safety:gates")
@pytest.mark.requirement("seed001:10")
async def test_whoever_foretells_nothing_unsafe_is_done_and_nothing_is_given_to_others() -> None:
    found = await tried(range(WORLDS))

    kinds = found.kinds
    print(f"{WORLDS} worlds, {dict(kinds)}")
    assert found.wrong == []
    assert min(kinds["ran"], kinds["made"], kinds["refused"]) > WORLDS / 2
    assert kinds["served"] > WORLDS / 10


def test_every_gate_is_taken_out_once() -> None:
    """But for the one that is about memory and not about safety: the room that an answer takes."""
    gates = {gate.name for gate in GATES} | {gate.name for gate in ARRIVAL}
    looser = {"stays_here"}

    assert {name for without in OUT.values() for name in without.gates} | looser == (
        gates - {"small_enough"}
    )


@pytest.mark.parametrize("gate", OUT)
@pytest.mark.planted
async def test_each_gate_is_needed(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = OUT[gate]
    without.patch(monkeypatch)

    worlds = range(without.since, TO_BE_CAUGHT)
    found = await tried(worlds, without.found, **without.how())

    assert any(without.found in each for each in found.wrong)
