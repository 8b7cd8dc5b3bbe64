"""A program is carried out by servers that are killed at every point: it goes on from its last
turn, makes no change twice unless a person says so, and says in the end what it would have said."""

import os
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.storm.conductor import AtPoint, killed_at_points
from tests.storm.plan_house import PlanHouse, plan_house
from tests.storm.plan_tools import calls
from tests.storm.plan_worker import AFTER_CALL
from tests.storm.plans import made_by

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
POINTS = 10_000 if FULL_SIZE else 2
"""Of all that there are, evenly spread."""
PATIENCE = 120.0
CODE = """
import asyncio

first = await outside__look(plan=plan, step="call-1")
print("first", first["step"])
await asyncio.gather(
    outside__change(plan=plan, step="call-2"),
    outside__change(plan=plan, step="call-3"),
)
try:
    await outside__fail(plan=plan, step="call-4")
except RuntimeError as error:
    print("caught", type(error).__name__)
await call("outside.delete", {"plan": plan, "step": "call-5"})
print("deleted")
last = await outside__look(plan=plan, step="call-6", given=first["step"])
await outside__change(plan=plan, step="call-7")
[first["step"], last["given"]]
"""
"""Each call is known outside by the name of its step."""
CHANGES = Counter(["call-2", "call-3", "call-5", "call-7"])
SAID = ("done", ["call-1", "call-1"], "first call-1\ncaught RuntimeError\ndeleted\n")

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


async def start(house: PlanHouse, name: str) -> str:
    body = {"code": CODE, "inputs": {"plan": name}, "mode": "durable"}
    answer = await house.agent.post("/programs", json=body, headers={"Idempotency-Key": name})
    assert answer.status_code in {200, 202}, answer.text
    run: str = answer.json()["run"]
    house.plans[run] = name
    return run


def faults(house: PlanHouse, name: str, report: dict[str, Any]) -> list[str]:
    changes, _ = made_by(name, calls(house.ledger))
    found = [f"{step} was lost" for step in CHANGES - changes]
    found += [f"{step} was made twice" for step in changes - CHANGES]
    said = (report["status"], report["output"], report["printed"])
    return [*found, *([f"it said {said}, {report['error']}"] if said != SAID else [])]


@pytest.mark.nightly
@pytest.mark.requirement("programs:storm:every-event")
async def test_killed_at_any_point_a_program_goes_on_and_changes_nothing_twice(
    house: PlanHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    house.conductor.start_all()
    house.conductor.verdict = points = AtPoint()
    report = await house.over(await start(house, "undisturbed"), PATIENCE)
    assert faults(house, "undisturbed", report) == []

    many = len(points.seen)

    async def played(name: str) -> list[str]:
        return faults(house, name, await house.over(await start(house, name), PATIENCE))

    found, killed = await killed_at_points(house.conductor, many, POINTS, played)

    with capsys.disabled():
        print(f"\n{many} points, killed {dict(killed)}, people said {dict(house.said)}")
    assert found == []
    assert sum(killed.values()) - killed["never"] >= min(POINTS, 4)


@pytest.mark.requirement("programs:storm:every-event")
@pytest.mark.requirement("programs:storm:uncertain")
async def test_killed_between_a_change_and_its_note_a_person_is_asked(house: PlanHouse) -> None:
    house.conductor.start_all()
    house.conductor.verdict = executioner = AtPoint(point=AFTER_CALL, what="change")

    report = await house.over(await start(house, "one"), PATIENCE)

    assert executioner.killed is not None
    assert faults(house, "one", report) == []
    assert house.said["step done"] >= 1


@pytest.mark.planted
async def test_without_a_look_at_intents_the_same_check_finds_a_change_made_twice(
    house: PlanHouse,
) -> None:
    """A red run: what the intents are for."""
    house.conductor.replace_workers(remembers=False)
    house.conductor.verdict = executioner = AtPoint(point=AFTER_CALL, what="change")

    report = await house.over(await start(house, "twice"), PATIENCE)

    assert executioner.killed is not None
    both = {"call-2 was made twice", "call-3 was made twice"}
    assert both & set(faults(house, "twice", report))
