"""What is left to migrate, and when we refuse to."""

from datetime import UTC, datetime

import pytest

from portico.engine.core.errors import SchemaAhead, SchemaEdited
from portico.engine.core.store import Applied, Migration, pending

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
