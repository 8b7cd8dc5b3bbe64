"""Nothing leaks: whatever a reader is told of debates, no canary is in it that is above them, or
that is in somebody else's private one; and no number counts what they may not know of."""

import os

import pytest

from portico.adapters.postgres.addresses import Addresses
from tests.storm.bridge_tally import Tally
from tests.storm.bridge_walls_off import without_the_first_wall
from tests.storm.debate_bugs import DEBATE_BUGS, without_the_second_wall_of_debates
from tests.storm.debate_house import debate_house
from tests.storm.debate_reading import read_debates_in, read_debates_upon
from tests.storm.debate_ways_out import CHANCES, WAYS_OUT
from tests.storm.debate_writes import KINDS, a_debating_world
from tests.storm.watched_log import watched_log

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
READS = 20_000 if FULL_SIZE else 1_000
READS_WITH_ONE_WALL = 10_000 if FULL_SIZE else 1_000
_MOST_READS = 6_000
"""Until a planted bug has to be found; it ends at the first leak."""
ONLY_REFUSED = {"start", "answer", "estimate", "mark_outcome", "steer"}


def check_much_was_tried(tally: Tally, reads: int) -> None:
    """So many reads, by every way out, answered and refused, and with something to tell."""
    print(f"\n{tally}")
    each = reads // len(CHANCES) // 2
    assert tally.reads.total() >= reads
    assert {way for way in WAYS_OUT if tally.reads[way] < each} == set()
    assert {way for way in WAYS_OUT if tally.answered(way) < each // 16} <= ONLY_REFUSED
    assert tally.canaries.total() > reads
    assert tally.refused.total() > reads // 20
    assert {kind for kind in KINDS if not tally.wrote[kind]} == set()


@pytest.mark.requirement("debate:leaks:none")
async def test_nobody_is_told_what_is_above_them(embedded_database: Addresses) -> None:
    with watched_log() as log:
        tally = await read_debates_upon(embedded_database, 1, READS)

    assert tally.leaks == []
    assert log.canaries == []
    check_much_was_tried(tally, READS)


@pytest.mark.requirement("debate:leaks:each-wall-alone")
async def test_without_row_level_security_still_nobody_is(embedded_database: Addresses) -> None:
    without_the_second_wall_of_debates(embedded_database)

    tally = await read_debates_upon(embedded_database, 2, READS_WITH_ONE_WALL)

    # Whoever takes the whole space out asks the tables, and so only the second wall.
    assert {leak.way for leak in tally.leaks} <= {"export"}


@pytest.mark.requirement("debate:leaks:each-wall-alone")
async def test_without_the_filter_of_the_application_still_nobody_is(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)

    tally = await read_debates_upon(embedded_database, 3, READS_WITH_ONE_WALL)

    assert tally.leaks == []
    check_much_was_tried(tally, READS_WITH_ONE_WALL)


async def test_without_both_it_is_found_at_once(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_first_wall(monkeypatch)
    without_the_second_wall_of_debates(embedded_database)

    tally = await read_debates_upon(embedded_database, 4, 500)

    assert {leak.way for leak in tally.leaks} > {"show", "page_of_all", "known"}


async def test_each_planted_bug_is_found(embedded_database: Addresses) -> None:
    """One that asks as somebody else is stopped by no wall."""
    found = set()
    async with debate_house(embedded_database, connections=8) as house:
        world = await a_debating_world(house, 5)
        for name, bug in DEBATE_BUGS.items():
            world.house, tally = bug.in_(house), Tally()
            await read_debates_in(world, tally, _MOST_READS)
            if tally.leaks:
                found.add(name)
            world.house = house

    assert found == set(DEBATE_BUGS)
