"""A new file each day, the old ones beside it for a while, whoever writes."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from portico.adapters.telemetry.daily_file import DailyFile

DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def write(handler: DailyFile, text: str, at: datetime) -> None:
    record = logging.makeLogRecord({"msg": text, "created": at.timestamp()})
    handler.handle(record)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def yesterday_was_written(file: Path, at: datetime) -> None:
    """As a process leaves it that ended before midnight."""
    import os

    os.utime(file, (at.timestamp(), at.timestamp()))


def test_lines_of_a_day_are_in_one_file(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    handler = DailyFile(folder / "portico.log", keep_days=2)

    write(handler, "one", now)
    write(handler, "two", now)
    handler.close()

    assert (folder / "portico.log").read_text() == "one\ntwo\n"


def test_a_new_day_begins_a_new_file_and_the_oldest_goes(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    old = [f"portico.log.{(now - days * DAY).date()}" for days in (2, 3, 30)]
    for name in [*old, "portico.log.notes", "other.log"]:
        (folder / name).write_text("x")
    handler = DailyFile(folder / "portico.log", keep_days=2)
    write(handler, "before", now - DAY)
    yesterday_was_written(folder / "portico.log", now - DAY)

    write(handler, "after", now)
    handler.close()

    aside = f"portico.log.{(now - DAY).date()}"
    assert (folder / "portico.log").read_text() == "after\n"
    assert (folder / aside).read_text() == "before\n"
    assert names(folder) == sorted([old[0], aside, "portico.log", "portico.log.notes", "other.log"])


def test_of_two_writers_the_second_finds_the_new_file_and_loses_nothing(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    one, two = (DailyFile(folder / "portico.log", keep_days=2) for _ in range(2))
    write(one, "one before", now - DAY)
    write(two, "two before", now - DAY)
    yesterday_was_written(folder / "portico.log", now - DAY)

    write(one, "one after", now)
    write(two, "two after", now)
    one.close()
    two.close()

    aside = folder / f"portico.log.{(now - DAY).date()}"
    assert (folder / "portico.log").read_text() == "one after\ntwo after\n"
    assert aside.read_text() == "one before\ntwo before\n"


def test_a_link_is_not_followed(folder: Path) -> None:
    (folder / "portico.log").symlink_to(folder / "elsewhere")

    with pytest.raises(OSError, match="symbolic"):
        DailyFile(folder / "portico.log", keep_days=2)

    assert not (folder / "elsewhere").exists()


def test_half_of_a_surrogate_pair_is_written_all_the_same(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    handler = DailyFile(folder / "portico.log", keep_days=2)

    write(handler, "a \ud800 b", now)
    handler.close()

    assert (folder / "portico.log").read_text() == "a \\ud800 b\n"
