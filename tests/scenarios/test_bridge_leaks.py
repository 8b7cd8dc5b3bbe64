"""Nothing leaks: whatever a reader is told by the bridge, no canary is in it that is above them."""

import os

import pytest

from portico.adapters.postgres.addresses import Addresses
from tests.storm.bridge_bugs import BUGS
from tests.storm.bridge_reading import read_in, read_upon
from tests.storm.bridge_tally import Tally
from tests.storm.bridge_walls_off import without_the_first_wall, without_the_second_wall
from tests.storm.bridge_ways_out import CHANCES, WAYS_OUT
from tests.storm.bridge_writes import KINDS, a_world
from tests.storm.walled_postgres import walled_house
from tests.storm.watched_log import watched_log

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(7200)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
READS = 1_000_000 if FULL_SIZE else 8_000
READS_WITH_ONE_WALL = 100_000 if FULL_SIZE else 4_000
ONLY_REFUSED = {"errors_of_talk", "errors_of_things"}


def check_much_was_tried(tally: Tally, reads: int) -> None:
    """So many reads, by every way out, answered and refused, and with something to tell."""
    print(f"\n{tally}")
    each = reads // len(CHANCES) // 2
    assert tally.reads.total() >= reads
    assert {way for way in WAYS_OUT if tally.reads[way] < each} == set()
    assert {way for way in WAYS_OUT if tally.answered(way) < each // 16} <= ONLY_REFUSED
    assert tally.canaries.total() > reads // 2
    assert tally.refused.total() > reads // 20
    assert {kind for kind in KINDS if not tally.wrote[kind]} == set()
    assert tally.wrote.total() > reads // 100
    assert tally.changed > reads // 400


@pytest.mark.requirement("bridge:leaks:none")
async def test_nobody_is_told_what_is_above_them(embedded_database: Addresses) -> None:
    with watched_log() as log:
        tally = await read_upon(embedded_database, 1, READS)

    assert tally.leaks == []
    assert log.canaries == []
    check_much_was_tried(tally, READS)


@pytest.mark.requirement("bridge:leaks:each-wall-alone")
async def test_without_row_level_security_still_nobody_is(embedded_database: Addresses) -> None:
    without_the_second_wall(embedded_database)

    tally = await read_upon(embedded_database, 2, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    check_much_was_tried(tally, READS_WITH_ONE_WALL)


@pytest.mark.requirement("bridge:leaks:each-wall-alone")
async def test_without_the_filter_of_the_application_still_nobody_is(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)

    tally = await read_upon(embedded_database, 3, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    check_much_was_tried(tally, READS_WITH_ONE_WALL)


async def test_without_both_it_is_found_at_once(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)
    without_the_second_wall(embedded_database)

    tally = await read_upon(embedded_database, 4, 1_000)

    assert {leak.way for leak in tally.leaks} > {"list_projects", "show_message", "inbox"}


async def test_each_planted_bug_is_found(embedded_database: Addresses) -> None:
    """One that asks as somebody else is stopped by no wall."""
    found = set()
    async with walled_house(embedded_database, connections=14) as house:
        world = await a_world(house, 5)
        for name, bug in BUGS.items():
            world.house, tally = bug.in_(house), Tally()
            await read_in(world, tally, 6_000)
            if tally.leaks:
                found.add(name)
            world.house = house

    assert found == set(BUGS)
