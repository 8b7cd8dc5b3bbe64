"""Nothing flows down: whatever people and agents have read, what they write is no less secret."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.bridge.core.messages import Labelled
from portico.bridge.taint import TaintRecorder
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from tests.bridge.flow_oracle import Leak
from tests.storm.bridge_bugs import (
    without_the_first_wall,
    without_the_second_wall,
    without_the_wall_below,
)
from tests.storm.bridge_flows import READS, WRITES, Traces, traced
from tests.storm.walled_house import memory_house, walled_house, without_waiting_for_the_disk

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
TRACES, STEPS = (30, 1_000) if FULL_SIZE else (4, 500)
_WRITERS = (
    *("attachments", "conversations", "leases", "memory", "messages", "presence", "projects"),
    "work_items",
)


async def all_traced(addresses: Addresses) -> Traces:
    without_waiting_for_the_disk(addresses)
    done = Traces()
    for seed in range(TRACES):
        async with walled_house(addresses, space=f"space {seed}") as house:
            done.note(await traced(house, seed, STEPS))
    print(f"\n{done}")
    return done


async def all_in_memory(*, traces: int = 12, steps: int = 600) -> Traces:
    done = Traces()
    for seed in range(traces):
        async with memory_house() as house:
            done.note(await traced(house, seed, steps))
    print(f"\nIn memory: {done}")
    return done


def check_much_was_tried(done: Traces) -> None:
    """Every kind of read and of write, and many a write that would have gone down."""
    steps = TRACES * STEPS
    assert {kind for kind in WRITES if not done.writes[kind]} == set()
    assert {kind for kind in READS if done.reads[kind] < TRACES} == set()
    assert done.writes.total() > steps // 10
    assert done.reads.total() > steps // 5
    assert done.flows > steps // 5
    assert done.tried_down.total() > steps // 50
    assert len(done.tried_down) >= 8


def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The use cases take any label that is asked for, and look at no mark."""

    def any_label(wanted: Label | None, *, inside: Label, mark: Label, clearance: Label) -> Any:
        return Labelled(join([inside]) if wanted is None else wanted, raised=False)

    def no_check(inside: Label, mark: Label) -> None:
        pass

    for module in _WRITERS:
        for name, bug in (("label_of", any_label), ("check_shared", no_check)):
            monkeypatch.setattr(f"portico.bridge.{module}.{name}", bug, raising=False)


@pytest.mark.requirement("bridge:labels:no-write-down")
async def test_nothing_flows_down_in_any_trace(embedded_database: Addresses) -> None:
    done = await all_traced(embedded_database)

    check_much_was_tried(done)
    assert done.lowered > 0


@pytest.mark.requirement("bridge:labels:no-write-down")
async def test_nor_with_the_use_cases_alone(embedded_database: Addresses) -> None:
    """The database has no row-level security, and asks nobody what they have read."""
    without_the_second_wall(embedded_database)
    without_the_wall_below(embedded_database)

    check_much_was_tried(await all_traced(embedded_database))


@pytest.mark.requirement("bridge:labels:no-write-down")
async def test_nor_with_the_database_alone(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The use cases take any label, and every statement says that its caller may see all."""
    careless(monkeypatch)
    without_the_first_wall(monkeypatch)

    check_much_was_tried(await all_traced(embedded_database))


@pytest.mark.planted
async def test_with_neither_it_is_found(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless(monkeypatch)
    without_the_wall_below(embedded_database)

    with pytest.raises(Leak):
        await all_traced(embedded_database)


@pytest.mark.planted
async def test_whoever_hands_out_without_a_note_of_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing_noted(
        marks: TaintRecorder, caller: Principal, labels: Iterable[Label], *, untrusted: bool = False
    ) -> None:
        pass

    monkeypatch.setattr(TaintRecorder, "read", nothing_noted)

    with pytest.raises(Leak):
        await all_in_memory()
