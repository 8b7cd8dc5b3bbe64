"""The store: its health, migrations and supervision."""

from datetime import UTC, datetime
from itertools import accumulate

import pytest

from portico.engine.core.errors import SchemaAhead, SchemaEdited
from portico.engine.core.store import (
    Applied,
    CheckResult,
    Migration,
    RestartLimits,
    State,
    in_a_row,
    pause,
    pending,
    worst,
)

ONE, TWO, THREE = (Migration(number, f"step {number}", f"SELECT {number}") for number in (1, 2, 3))
AT = datetime(2026, 1, 1, tzinfo=UTC)


def applied(migration: Migration, checksum: str | None = None) -> Applied:
    return Applied(migration.number, migration.name, checksum or migration.checksum, AT)


@pytest.mark.parametrize(
    ("known", "done", "left"),
    [
        ([], [], []),
        ([ONE, TWO, THREE], [], [ONE, TWO, THREE]),
        ([THREE, ONE, TWO], [], [ONE, TWO, THREE]),
        ([ONE, TWO, THREE], [applied(ONE)], [TWO, THREE]),
        ([ONE, TWO, THREE], [applied(ONE), applied(THREE)], [TWO]),
        ([ONE, TWO], [applied(TWO), applied(ONE)], []),
    ],
)
def test_what_is_left_is_what_was_not_applied_in_order(
    known: list[Migration], done: list[Applied], left: list[Migration]
) -> None:
    assert pending(known, done) == left


@pytest.mark.requirement("engine:migrations:checksum")
def test_a_migration_that_was_edited_after_it_was_applied_is_refused() -> None:
    with pytest.raises(SchemaEdited, match="'step 1' differs") as caught:
        pending([ONE, TWO], [applied(ONE, checksum=TWO.checksum)])

    assert caught.value.name == "step 1"


@pytest.mark.requirement("engine:migrations:checksum")
def test_a_database_from_a_later_version_is_refused() -> None:
    with pytest.raises(SchemaAhead, match="at migration 3; this Portico knows 2") as caught:
        pending([ONE, TWO], [applied(ONE), applied(TWO), applied(THREE)])

    assert (caught.value.applied, caught.value.known) == (3, 2)
    with pytest.raises(SchemaAhead, match="knows 0"):
        pending([], [applied(ONE)])


@pytest.mark.requirement("engine:migrations:checksum")
def test_a_database_of_a_development_version_is_refused_with_a_way_out() -> None:
    """Its migrations have other names, and there are more of them."""
    old = [Applied(number, f"old {number}", "x", AT) for number in (1, 2, 3)]

    with pytest.raises(SchemaEdited, match="made by a development version of Portico") as caught:
        pending([ONE, TWO], old)

    assert caught.value.name == "old 1"
    assert "PORTICO_HOME" in str(caught.value.fix)


def test_a_checksum_changes_with_a_single_space() -> None:
    assert Migration(1, "a", "SELECT 1").checksum != Migration(1, "a", "SELECT 1 ").checksum


# A server that dies is started again, ever later; the worst that was found is how it is.

FEW = RestartLimits(quick=30, most=4, first=1, longest=3)


@pytest.mark.parametrize(
    ("deaths", "wait"), [(0, 1.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, None), (5, None)]
)
def test_each_time_it_is_waited_twice_as_long_until_it_is_enough(
    deaths: int, wait: float | None
) -> None:
    assert pause(deaths, FEW) == wait


@pytest.mark.parametrize(("lived", "deaths"), [(0.0, 3), (29.9, 3), (30.0, 0), (9000.0, 0)])
def test_one_that_had_been_well_does_not_count(lived: float, deaths: int) -> None:
    assert in_a_row(2, lived, FEW) == deaths


def test_as_it_comes_it_tries_for_a_minute_and_no_longer() -> None:
    usual = RestartLimits()

    waits = [pause(deaths, usual) for deaths in range(1, usual.most + 1)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, None]
    assert max(accumulate(wait for wait in waits if wait is not None)) < 90


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], State.GOOD),
        ([State.GOOD, State.GOOD], State.GOOD),
        ([State.MENDED, State.GOOD], State.MENDED),
        ([State.GOOD, State.WARNING, State.MENDED], State.WARNING),
        ([State.BROKEN, State.WARNING, State.GOOD], State.BROKEN),
    ],
)
def test_one_broken_thing_outweighs_all_that_is_good(states: list[State], found: State) -> None:
    findings = [CheckResult(check=str(state), state=state, detail="") for state in states]

    assert worst(findings) is found
