"""An agent's run is carried out by servers that are killed at every point: it finishes elsewhere
with the same answer, no answer of the model is paid for twice once it is written down, and no
change is made twice unless a person says so."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agents_model import MODEL, Asked
from benchmarks.agents_scripts import Script, Turn, Wish
from benchmarks.agents_setting_up import write_settings
from benchmarks.agents_stage import Stage, stage
from portico.bench.processes import environment
from tests.servers import reachable_folder
from tests.storm.agent_worker import ANSWERED, TRACED, main
from tests.storm.conductor import AtPoint, killed_at_points
from tests.storm.plan_house import PlanHouse, plan_house
from tests.storm.plan_tools import WRITES, calls
from tests.storm.plan_worker import AFTER_CALL, AFTER_INTENT
from tests.storm.plans import made_by

READS = ("look", "list")


def _turn(number: int, *tools: str) -> Turn:
    """Each call is known outside by the name of its step."""
    calls = [
        Wish(tool=tool, arguments={"plan": "$run", "step": f"call-{number}-{place}"})
        for place, tool in enumerate(tools)
    ]
    return Turn(calls=calls)


def _script(name: str, *turns: Sequence[str]) -> Script:
    made = [_turn(number, *tools) for number, tools in enumerate(turns, 1)]
    return Script(name=name, turns=[*made, Turn()], reads=READS)


TEN = _script(
    "ten",
    ["look"],
    ["change"],
    ["look", "list"],
    ["delete"],
    ["look"],
    ["change", "look"],
    ["fail"],
    ["delete"],
    ["change", "look"],
)
"""Ten turns: reads, changes, one call that fails, and two that a person must approve."""
THREE = _script("three", ["look"], ["change"])
SCRIPTS = (TEN, THREE)


def writes_of(script: Script) -> Counter[str]:
    return Counter(
        str(call.arguments["step"])
        for turn in script.turns
        for call in turn.calls
        if call.tool in WRITES
    )


def answer_of(script: Script, run: str) -> str:
    steps = [
        str(call.arguments["step"])
        for turn in script.turns
        for call in turn.calls
        if call.tool in READS
    ]
    return script.answer(run, steps)


def asked_again(
    run: str, asked: Iterable[Asked], written: Mapping[int, float]
) -> list[tuple[int, float]]:
    """The questions that came after the answer to them was written down: paid for twice."""
    return [
        (each.turn, each.came - written[each.turn])
        for each in asked
        if each.run == run and each.turn in written and each.came > written[each.turn]
    ]


def questions(run: str, asked: Iterable[Asked]) -> Counter[int]:
    return Counter(each.turn for each in asked if each.run == run)


Trace = dict[str, Any]


FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
POINTS = 10_000 if FULL_SIZE else 2
"""Of all that there are, evenly spread."""
PATIENCE = 120.0
AGENT = "worker"

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(3600 if FULL_SIZE else 300),
]


@dataclass(frozen=True, slots=True)
class Storm:
    house: PlanHouse
    model: Stage

    async def start(self, script: Script, name: str) -> str:
        answer = await self.house.person.post(
            f"/agents/{AGENT}/runs",
            json={"message": script.asked(name)},
            headers={"Idempotency-Key": name},
        )
        assert answer.status_code in {200, 202}, answer.text
        run: str = answer.json()["run"]
        self.house.plans[run] = name
        return run

    async def over(self, run: str) -> dict[str, Any]:
        """Its trace, once it is over; meanwhile people answer."""
        deadline = time.monotonic() + PATIENCE
        while (found := await self.trace(run))["run"]["status"] in {"running", "waiting"}:
            assert time.monotonic() < deadline, (found["run"], self.house.logs())
            await self.house.answer()
            await asyncio.sleep(0.05)
        return found

    async def trace(self, run: str) -> dict[str, Any]:
        answer = await self.house.person.get(f"/traces/{run}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def played(self, script: Script, name: str) -> list[str]:
        """What is wrong with how it went, by what it says and by what the outside has seen."""
        run = await self.start(script, name)
        trace = await self.over(run)
        return self.faults(script, name, run, trace)

    def faults(self, script: Script, name: str, run: str, trace: dict[str, Any]) -> list[str]:
        wanted, asked = writes_of(script), self.model.asked()
        changes, _ = made_by(name, calls(self.house.ledger))
        found = [f"{step} was lost" for step in wanted - changes]
        found += [f"{step} was made twice" for step in changes - wanted]
        told = trace["run"]
        if (told["status"], told["answer"]) != ("completed", answer_of(script, name)):
            found.append(f"it ended otherwise: {told}")
        if [turn["number"] for turn in trace["turns"]] != [*range(1, len(script.turns) + 1)]:
            found.append("not every turn is in its trace once")
        again = asked_again(name, asked, self._written(run))
        found += [f"turn {turn} was paid for twice" for turn, _ in again]
        if (many := questions(name, asked)).total() > len(script.turns) + 1:
            found.append(f"the model was asked too often: {dict(many)}")
        return found

    def _written(self, run: str) -> dict[int, float]:
        """When each of its turns was written down first."""
        found: dict[int, float] = {}
        for said in self.house.conductor.heard:
            if said["point"] == TRACED and said["run"] == run:
                found.setdefault(said["turn"], said["when"])
        return found


@asynccontextmanager
async def agent_storm() -> AsyncIterator[Storm]:
    with ExitStack() as around:
        folder = around.enter_context(reachable_folder())
        model = around.enter_context(stage(SCRIPTS, environment(), folder / "model.log"))

        def prepare(home: Path) -> None:
            write_settings(home, model.base)

        async with plan_house(prepare=prepare, work=main) as house:
            agent = {"name": AGENT, "model": f"bench:{MODEL}", "tools": ["outside.*"]}
            made = await house.person.post("/agents", json=agent)
            assert made.is_success, made.text
            house.runs_at = "/agents/runs"
            yield Storm(house, model)


@pytest.fixture
async def storm() -> AsyncIterator[Storm]:
    async with agent_storm() as made:
        made.house.conductor.start_all()
        yield made


@pytest.mark.nightly
@pytest.mark.requirement("agents:storm:every-point")
async def test_killed_at_any_point_a_run_finishes_elsewhere_and_nothing_is_paid_for_twice(
    storm: Storm, capsys: pytest.CaptureFixture[str]
) -> None:
    conductor = storm.house.conductor
    conductor.verdict = points = AtPoint()
    began = time.monotonic()
    assert await storm.played(TEN, "undisturbed") == []
    many = len(points.seen)

    found, killed = await killed_at_points(conductor, many, POINTS, partial(storm.played, TEN))

    asked = storm.model.asked()
    with capsys.disabled():
        print(
            f"\na run of {len(TEN.turns)} turns has {many} points; killed at {dict(killed)}; "
            f"people said {dict(storm.house.said)}; the model was asked {len(asked)} times; "
            f"{len(found)} faults; {time.monotonic() - began:.0f} s"
        )
    assert not found, "\n".join(found)
    assert killed.total() - killed["never"] >= min(POINTS, 4)


@pytest.mark.requirement("agents:storm:every-point")
async def test_killed_around_a_checkpoint_only_what_was_not_written_down_is_asked_for_again(
    storm: Storm,
) -> None:
    points = {
        (ANSWERED, "turn 2"): 2,
        (TRACED, "turn 2"): 1,
        (AFTER_INTENT, "change"): 1,
        (AFTER_CALL, "change"): 1,
    }
    for (point, what), often in points.items():
        storm.house.conductor.verdict = executioner = AtPoint(point=point, what=what)
        name = f"{point} {what}".replace(" ", "-")

        found = await storm.played(THREE, name)

        assert executioner.killed is not None
        assert not found, "\n".join(found)
        assert questions(name, storm.model.asked()) == {1: 1, 2: often, 3: 1}, point
    assert storm.house.said["step retry"] == storm.house.said["step done"] == 1


@pytest.mark.planted
async def test_a_runner_that_forgets_what_is_written_down_is_caught(storm: Storm) -> None:
    """A red run: what reading the trace is for."""
    conductor = storm.house.conductor
    conductor.replace_workers(remembers=False)
    conductor.verdict = executioner = AtPoint(point=TRACED, what="turn 2")

    found = await storm.played(THREE, "forgets")

    assert executioner.killed is not None
    assert "turn 2 was paid for twice" in found
