"""What a hostile server cannot bring about by being called often, and how much is ever held."""

import os
import random
import resource
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.learning.core.observation import RECORD, LabelModel
from portico.learning.core.observed_calls import EdgeKey, seen_call
from portico.learning.core.prefetch_predictor import ContextHistory
from portico.testing.gateway import a_server, a_tool, an_approved_server
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_moves import Play
from tests.scenarios.ahead_scene import Scene
from tests.scenarios.effect_world import World

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
OBSERVATIONS = 1_000_000 if FULL_SIZE else 3_000
LIST, READ = ToolRef("alpha", "list"), ToolRef("alpha", "read")

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(7200 if FULL_SIZE else 120)]


def a_room() -> tuple[Play, AheadHouse, Principal]:
    """One caller, and one server with two tools that read."""
    tools = [a_tool(str(ref), "Reads.", effect=Effect.LOCAL_READ) for ref in (LIST, READ)]
    ana = replace(a_person("ana"), key="ana's")
    world = World(
        people=[ana],
        servers={"alpha": an_approved_server("alpha")},
        tools={"alpha": tools},
        does={("alpha", tool.pin): str(Effect.LOCAL_READ) for tool in tools},
        rules=[],
        plan=[],
    )
    scene = Scene(world, random.Random("a room"), holds=False, fails=0.0)
    house = AheadHouse(scene=scene, begin=ContextHistory)
    return Play(scene, house), house, ana


async def one_after_the_other(play: Play, house: AheadHouse, ana: Principal) -> None:
    await play.call(ana, LIST, {"path": "notes"})
    await house.settled()
    await play.call(ana, READ, {"path": play.answers["of ana's"][-1]})
    await house.settled()


async def tried_at_most(house: AheadHouse, ana: Principal) -> int:
    layers = await house.layers.covered(ana, PUBLIC)
    tried: Counter[EdgeKey] = Counter()
    for each in (each for layer in layers for each in layer.counted()):
        if each.kind == RECORD:
            tried[replace(EdgeKey.parse(each.key), band=0)] += each.tried
    return max(tried.values(), default=0)


@pytest.mark.requirement("ahead:poison:bounded")
async def test_a_task_that_is_made_to_go_in_circles_brings_nothing_about() -> None:
    play, house, ana = a_room()

    async with lived_in(house):
        for _ in range(150):
            await one_after_the_other(play, house, ana)
            play.scene.clock.turn(timedelta(seconds=10))

    assert await tried_at_most(house, ana) <= 2
    assert play.scene.ran_ahead == 0


async def test_one_task_has_a_say_twice_in_half_an_hour_so_it_takes_hours_until_it_counts() -> None:
    play, house, ana = a_room()
    counted = []

    async with lived_in(house):
        for _ in range(30):
            for _ in range(4):
                await one_after_the_other(play, house, ana)
            play.scene.clock.turn(timedelta(minutes=31))
            counted.append((await tried_at_most(house, ana), play.scene.ran_ahead))

    assert all(tried <= 2 * (number + 1) for number, (tried, _) in enumerate(counted))
    assert counted[8][1] == 0
    assert counted[-1][1] > 0
    assert play.scene.wrong == []


async def test_what_is_read_ahead_and_never_asked_for_ends_itself() -> None:
    play, house, ana = a_room()

    async with lived_in(house):
        for _ in range(40):
            await one_after_the_other(play, house, ana)
            play.scene.clock.turn(timedelta(minutes=31))
        before = play.scene.ran_ahead
        for _ in range(300):
            await play.call(ana, LIST, {"path": "notes"})
            await house.settled()
            play.scene.clock.turn(timedelta(minutes=31))
        wasted = play.scene.ran_ahead - before
        for _ in range(20):
            await play.call(ana, LIST, {"path": "notes"})
            await house.settled()
            play.scene.clock.turn(timedelta(minutes=31))

    assert before > 5
    assert play.scene.ran_ahead == before + wasted < before + 100


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@pytest.mark.requirement("ahead:memory:bounded")
def test_what_is_learnt_stays_bounded_whatever_is_observed() -> None:
    """Tools, names of arguments and values without end."""
    dice, layer, course = random.Random("much"), LabelModel(PUBLIC), ContextHistory()
    server, now, before = a_server("alpha").id, BEGINNING, resident()
    largest = 0
    for number in range(OBSERVATIONS):
        now += timedelta(seconds=dice.choice((1, 30, 700)))
        tool = ToolPlace(server, f"tool_{dice.randrange(3_000)}")
        arguments = {f"name_{dice.choice('abcdefgh')}": f"value {dice.getrandbits(40)}"}
        text = f'{{"id": "zq{number}", "more": ["{dice.getrandbits(60)}", 12345678]}}'
        answer = ToolResult([{"type": "text", "text": text}])
        course.saw(seen_call(tool, arguments, answer, ended=now, reads=True), layer)
        if number % 50 == 0:
            course.told(f"look for {dice.getrandbits(40)}")
            course.ahead([layer], lambda _: True)
        largest = max(largest, layer.size)

    grown = resident() - before
    print(f"{OBSERVATIONS} observations, at most {largest} counters, {grown:.0f} MB more in memory")
    assert grown < 500
    assert largest <= 170_000
    assert len(course.window.calls) <= 32
    assert len(course._taught) <= 512
