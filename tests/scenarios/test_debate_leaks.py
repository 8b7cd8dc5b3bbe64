"""Nothing leaks: whatever a reader is told of debates, no canary is in it that is above them, or
that is in somebody else's private one; and no number counts what they may not know of."""

import os

import pytest

from portico.adapters.postgres.addresses import Addresses
from tests.storm.bridge_bugs import without_the_first_wall
from tests.storm.debate_ways_out import DEBATE_BUGS, DEBATES, without_the_second_wall_of_debates
from tests.storm.leak_oracle import watched_log

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
READS = 20_000 if FULL_SIZE else 1_000
READS_WITH_ONE_WALL = 10_000 if FULL_SIZE else 1_000
_MOST_READS = 6_000
"""Until a planted bug has to be found; it ends at the first leak."""


@pytest.mark.requirement("debate:leaks:none")
async def test_nobody_is_told_what_is_above_them(embedded_database: Addresses) -> None:
    with watched_log() as log:
        tally = await DEBATES.upon(embedded_database, 1, READS)

    assert tally.leaks == []
    assert log.canaries == []
    DEBATES.check_much_was_tried(tally, READS)


@pytest.mark.requirement("debate:leaks:each-wall-alone")
async def test_without_row_level_security_still_nobody_is(embedded_database: Addresses) -> None:
    without_the_second_wall_of_debates(embedded_database)

    tally = await DEBATES.upon(embedded_database, 2, READS_WITH_ONE_WALL)

    # Whoever takes the whole space out asks the tables, and so only the second wall.
    assert {leak.way for leak in tally.leaks} <= {"export"}


@pytest.mark.requirement("debate:leaks:each-wall-alone")
async def test_without_the_filter_of_the_application_still_nobody_is(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)

    tally = await DEBATES.upon(embedded_database, 3, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    DEBATES.check_much_was_tried(tally, READS_WITH_ONE_WALL)


@pytest.mark.planted
async def test_without_both_it_is_found_at_once(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)
    without_the_second_wall_of_debates(embedded_database)

    tally = await DEBATES.upon(embedded_database, 4, 500)

    assert {leak.way for leak in tally.leaks} > {"show", "page_of_all", "known"}


@pytest.mark.planted
async def test_each_planted_bug_is_found(embedded_database: Addresses) -> None:
    assert await DEBATES.not_found(embedded_database, DEBATE_BUGS, _MOST_READS) == set()
