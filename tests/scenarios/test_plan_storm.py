"""Plans are carried out by servers that are killed at every point: nothing is lost, no change is
made twice unless a person says so, and each comes to the end that it would have come to."""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import psutil
import pytest

from tests.storm.conductor import AtPoint, Said, killed_at_points
from tests.storm.plan_house import PlanHouse, plan_house
from tests.storm.plan_tools import WRITES, calls
from tests.storm.plan_worker import AFTER_CALL, AFTER_INTENT
from tests.storm.plans import BIG, SMALL, chain_of, made_by, outcome, writes_of

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
POINTS = 10_000 if FULL_SIZE else 2
"""Of all that there are, evenly spread."""
PLANS, KILLS = (500, 50) if FULL_SIZE else (8, 3)
STEPS, AT_ONCE = (1_000, 200) if FULL_SIZE else (40, 8)
TOOLS = sorted(WRITES) if FULL_SIZE else ["change"]
PATIENCE = 120.0

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(3600 if FULL_SIZE else 600),
]


@pytest.fixture
async def house() -> AsyncIterator[PlanHouse]:
    async with plan_house() as made:
        yield made


class NowAndThen:
    """Kills at chance points of each kind in turn."""

    def __init__(self, kills: int, pause: int) -> None:
        self._chance = random.Random(11)
        self._pause = pause
        self._skip = pause
        self.left = kills
        self.at: Counter[str] = Counter()

    def __call__(self, said: Said) -> bool:
        self._skip -= 1
        if self._skip > 0 or not self.left:
            return False
        if said["point"] not in self._rarest():
            return False
        self.left -= 1
        self.at[said["point"]] += 1
        self._skip = self._chance.randrange(1, self._pause * 2)
        return True

    def _rarest(self) -> list[str]:
        kinds = ("event", AFTER_INTENT, AFTER_CALL)
        least = min(self.at[kind] for kind in kinds)
        return [kind for kind in kinds if self.at[kind] == least]


def faults(
    plan: Mapping[str, Any], name: str, report: dict[str, Any], wanted: Any, seen: list[Any]
) -> list[str]:
    """What is wrong with how this one went, by what it says and by what the outside has seen."""
    changes, reads = made_by(name, seen)
    found = [f"{step} was lost" for step in writes_of(dict(plan)) - changes]
    found += [f"{step} was made twice" for step in changes - writes_of(dict(plan))]
    if not reads:
        found.append("nothing was read")
    if outcome(report) != wanted:
        found.append(f"it ended otherwise: {outcome(report)} instead of {wanted}")
    return found


async def _undisturbed(house: PlanHouse, plan: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """How it ends, and by which points it goes."""
    house.conductor.verdict = points = AtPoint()
    name = "undisturbed"
    report = await house.over(await house.start(plan, name), PATIENCE)
    house.conductor.verdict = lambda _: False
    wanted = outcome(report)
    assert faults(plan, name, report, wanted, list(calls(house.ledger))) == []
    return wanted, points.seen


@pytest.mark.nightly
@pytest.mark.requirement("workflows:storm:every-event")
async def test_killed_at_any_point_a_plan_comes_to_the_same_end_and_changes_nothing_twice(
    house: PlanHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    house.conductor.start_all()
    began = time.monotonic()
    wanted, points = await _undisturbed(house, BIG)

    async def played(name: str) -> list[str]:
        run = await house.start(BIG, name)
        report = await house.over(run, PATIENCE)
        wrong = faults(BIG, name, report, wanted, list(calls(house.ledger)))
        numbers = [each for each, _ in await house.events(run)]
        if numbers != list(range(1, len(numbers) + 1)):
            wrong.append("its events have a gap")
        return wrong

    found, killed = await killed_at_points(house.conductor, len(points), POINTS, played)

    with capsys.disabled():
        print(
            f"\nevery point: a plan of {len(BIG['steps'])} steps has {len(points)} points; killed "
            f"at {sum(killed.values())} of them, {dict(killed)}; people said {dict(house.said)}; "
            f"{len(found)} faults; {time.monotonic() - began:.0f} s"
        )
    assert found == []
    assert wanted["status"] == "partial"
    assert len(BIG["steps"]) == 20


@pytest.mark.requirement("workflows:storm:every-event")
@pytest.mark.requirement("workflows:storm:uncertain")
async def test_killed_between_an_effect_and_its_note_a_change_is_uncertain_and_a_person_is_asked(
    house: PlanHouse,
) -> None:
    house.conductor.start_all()
    wanted, _ = await _undisturbed(house, SMALL)

    for point, answer in {AFTER_INTENT: "retry", AFTER_CALL: "done"}.items():
        for tool in TOOLS:
            before = house.said.copy()
            house.conductor.verdict = executioner = AtPoint(point=point, what=tool)
            name = f"{tool} {point}"
            report = await house.over(await house.start(SMALL, name), PATIENCE)

            assert executioner.killed is not None
            assert faults(SMALL, name, report, wanted, list(calls(house.ledger))) == []
            asked = house.said - before
            assert asked[f"step {answer}"] + asked[f"approval {answer}"] == 1, asked


@pytest.mark.planted
async def test_without_a_look_at_intents_the_same_check_finds_a_change_made_twice(
    house: PlanHouse,
) -> None:
    """A red run: what the intents are for."""
    house.conductor.start_all()
    wanted, _ = await _undisturbed(house, SMALL)
    house.conductor.replace_workers(remembers=False)

    house.conductor.verdict = executioner = AtPoint(point=AFTER_CALL, what="change")
    report = await house.over(await house.start(SMALL, "twice"), PATIENCE)

    assert executioner.killed is not None
    found = faults(SMALL, "twice", report, wanted, list(calls(house.ledger)))
    assert found == ["note was made twice"]


@pytest.mark.requirement("workflows:storm:many")
async def test_many_plans_on_four_servers_that_are_killed_again_and_again_all_end_as_they_should(
    house: PlanHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    house.conductor.start_all(4)
    wanted, points = await _undisturbed(house, SMALL)
    house.conductor.verdict = executioner = NowAndThen(
        KILLS, pause=len(points) * PLANS // (KILLS * 2)
    )
    began = time.monotonic()

    runs = await _all_started(house, PLANS)
    await house.all_over(PATIENCE * 10)

    seen = list(calls(house.ledger))
    found = [
        f"{name}: {wrong}"
        for name, run in runs.items()
        for wrong in faults(SMALL, name, await house.report(run), wanted, seen)
    ]
    with capsys.disabled():
        print(
            f"\n{PLANS} plans on 4 servers, {dict(executioner.at)} kills; people said "
            f"{dict(house.said)}; {len(seen)} calls seen outside; {len(found)} faults; "
            f"{time.monotonic() - began:.0f} s"
        )
    assert found == []
    assert executioner.left == 0


async def _all_started(house: PlanHouse, count: int) -> dict[str, str]:
    """At once, as far as one front takes them in."""
    turns = asyncio.Semaphore(8)

    async def one(name: str) -> tuple[str, str]:
        async with turns:
            return name, await house.start(SMALL, name)

    return dict(await asyncio.gather(*(one(f"plan {number}") for number in range(count))))


@pytest.mark.requirement("workflows:size:bounded")
async def test_a_long_plan_and_many_at_once_lose_no_event_and_stay_small(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with plan_house(works=True) as house:
        front = psutil.Process(house.pid)
        await house.over(await house.start(chain_of(20, 5), "warm"), PATIENCE)
        resting = front.memory_info().rss
        began = time.monotonic()

        long = await house.start(chain_of(STEPS, 20), "long")
        (report,) = await _watched(house, [long])
        long_took, long_size = time.monotonic() - began, front.memory_info().rss
        began = time.monotonic()
        runs = [await house.start(chain_of(5, 5), f"wide {n}") for n in range(AT_ONCE)]
        reports = await _watched(house, runs)
        wide_took, wide_size = time.monotonic() - began, front.memory_info().rss

        with capsys.disabled():
            print(
                f"\na plan of {STEPS} steps: {long_took:.1f} s, +{_mb(long_size - resting)} MB; "
                f"{AT_ONCE} plans of 5 steps at once: {wide_took:.1f} s, "
                f"+{_mb(wide_size - long_size)} MB; at rest {_mb(resting)} MB"
            )
        ended = [(long, report, STEPS)]
        ended += [(run, each, 5) for run, each in zip(runs, reports, strict=True)]
        for run, each, steps in ended:
            events = await house.events(run)
            assert each["status"] == "done", each["error"]
            assert [number for number, _ in events] == list(range(1, len(events) + 1))
            done = Counter(type_ for _, type_ in events)
            assert done["step.done"] >= steps
            assert done["run.done"] == 1
        assert wide_size - resting < 400_000_000


async def _watched(house: PlanHouse, runs: list[str]) -> list[dict[str, Any]]:
    return [await house.over(run, PATIENCE * 2) for run in runs]


def _mb(size: int) -> int:
    return round(size / 1_000_000)
