"""Nothing leaks over the wires: REST, streams and MCP of a running server."""

import asyncio
import os
from collections.abc import Iterator
from random import Random

import pytest

from tests.installation import installation
from tests.storm.bridge_wires import (
    CHANCES,
    MCP,
    ONLY_REFUSED,
    OTHERS,
    SSE,
    WAYS,
    Reader,
    Wires,
    ask,
    begin_to_listen,
    ended,
    wired,
)
from tests.storm.deck import dealt
from tests.storm.leak_oracle import CANARY

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(7200)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
READS = 50_000 if FULL_SIZE else 600
AT_ONCE = 3
"""Of each reader."""
A_ROUND = 30
ENOUGH = 20
"""Ways by which a wrong oracle must find a leak."""


async def asking(wires: Wires, reader: Reader, ways: Iterator[str], seed: float) -> None:
    random = Random(seed)
    for _ in range(A_ROUND):
        await ask(wires, reader, next(ways), random)


async def round_of_reads(wires: Wires, ways: Iterator[str]) -> None:
    """While everybody listens, and something is written."""
    listening = [task for reader in wires.readers for task in await begin_to_listen(wires, reader)]
    for _ in range(4):
        await wires.write()
    async with asyncio.TaskGroup() as group:
        for reader in wires.readers * AT_ONCE:
            group.create_task(asking(wires, reader, ways, wires.random.random()))
    await ended(listening)


def check_much_was_tried(wires: Wires) -> None:
    assert {way for way in WAYS if wires.asked[way] < READS // len(CHANCES) // 2} == set()
    assert {way for way in WAYS if wires.statuses[way, 200] < READS // 1_000} <= ONLY_REFUSED
    assert sum(many for (_, status), many in wires.statuses.items() if status >= 400) > READS // 10
    assert wires.canaries > READS
    assert wires.heard[SSE] > READS // 50
    assert wires.heard[MCP] > READS // 500
    assert wires.kept_from > READS // 250
    assert {kind for kind in ("message", *OTHERS) if not wires.wrote[kind]} == set()
    assert wires.changed > READS // 500


async def found_by_an_oracle_that_is_wrong(wires: Wires, ways: Iterator[str]) -> set[str]:
    """Somebody may know more than it is aware of: whatever they are told of it counts as a leak."""
    reader, before = wires.readers[0], len(wires.leaks)
    reader.clearance = "public"
    await wires.did("PATCH", f"/principals/{reader.id}", {"clearance": "confidential"})
    found: set[str] = set()
    for _ in range(30):
        await round_of_reads(wires, ways)
        found = {leak.way for leak in wires.leaks[before:]}
        if len(found) > ENOUGH and found & {SSE, MCP}:
            break  # few of a round's writes are where this one reader listens
    return found


@pytest.mark.requirement("bridge:leaks:over-the-wires")
async def test_nobody_is_told_what_is_above_them_over_any_wire() -> None:
    with installation() as house, house.serving():
        async with wired(house, 1) as wires:
            ways = dealt(CHANCES, wires.random)
            while wires.asked.total() < READS and not wires.leaks:
                await wires.change_clearance()
                await round_of_reads(wires, ways)
            print(f"\n{wires}")
            assert wires.leaks == []
            check_much_was_tried(wires)
            found = await found_by_an_oracle_that_is_wrong(wires, ways)
        log = house.log

    assert not CANARY.findall(log)
    assert len(found) > ENOUGH
    assert found & {SSE, MCP}
