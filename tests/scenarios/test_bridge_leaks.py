"""Nothing leaks: whatever a reader is told by the bridge, no canary is in it that is above them."""

import os

import pytest

from portico.adapters.postgres.addresses import Addresses
from tests.storm.bridge_bugs import BUGS, without_the_first_wall, without_the_second_wall
from tests.storm.bridge_ways_out import BRIDGE
from tests.storm.leak_oracle import watched_log

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(7200)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
READS = 1_000_000 if FULL_SIZE else 5_000
READS_WITH_ONE_WALL = 100_000 if FULL_SIZE else 2_500


@pytest.mark.requirement("bridge:leaks:none")
async def test_nobody_is_told_what_is_above_them(embedded_database: Addresses) -> None:
    with watched_log() as log:
        tally = await BRIDGE.upon(embedded_database, 1, READS)

    assert tally.leaks == []
    assert log.canaries == []
    BRIDGE.check_much_was_tried(tally, READS)


@pytest.mark.requirement("bridge:leaks:each-wall-alone")
async def test_without_row_level_security_still_nobody_is(embedded_database: Addresses) -> None:
    without_the_second_wall(embedded_database)

    tally = await BRIDGE.upon(embedded_database, 2, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    BRIDGE.check_much_was_tried(tally, READS_WITH_ONE_WALL)


@pytest.mark.requirement("bridge:leaks:each-wall-alone")
async def test_without_the_filter_of_the_application_still_nobody_is(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)

    tally = await BRIDGE.upon(embedded_database, 3, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    BRIDGE.check_much_was_tried(tally, READS_WITH_ONE_WALL)


@pytest.mark.planted
async def test_without_both_it_is_found_at_once(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)
    without_the_second_wall(embedded_database)

    tally = await BRIDGE.upon(embedded_database, 4, 1_000)

    assert {leak.way for leak in tally.leaks} > {"list_projects", "show_message", "inbox"}


@pytest.mark.planted
async def test_each_planted_bug_is_found(embedded_database: Addresses) -> None:
    assert await BRIDGE.not_found(embedded_database, BUGS, 6_000) == set()
