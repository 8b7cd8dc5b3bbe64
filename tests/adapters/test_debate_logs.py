"""Files of debates: for their owner alone, and not for ever."""

import logging
import os
import stat
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.debate_logs import DebateLogs
from portico.debate.core.debates import Debate, DebateId, WholeDebate
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING, SeededEntropy

DAY = timedelta(days=1)
SPACE = SpaceId.mint(BEGINNING, SeededEntropy("home"))


def a_debate(name: str = "one", text: str = "Tabs or spaces?") -> WholeDebate:
    entropy = SeededEntropy(name)
    debate = Debate(
        id=DebateId.mint(BEGINNING, entropy),
        question=Question(text=text, kind=QuestionKind.OPEN),
        rules=rules_of(Preset.VOTE, 0.5),
        debaters=(),
        cap=Cap(tokens=1_000),
        deadline=BEGINNING + DAY,
        label=PUBLIC,
        seed=1,
        started_by=PrincipalId.mint(BEGINNING, entropy),
        run=RunId.mint(BEGINNING, entropy),
        started_at=BEGINNING,
    )
    return WholeDebate(debate, ())


def kept(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def put(folder: Path, name: str, *, age: timedelta, size: int = 10) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_bytes(b"x" * size)
    at = (BEGINNING - age).timestamp()
    os.utime(file, (at, at))
    return file


def test_a_debate_is_written_down_whole_for_its_owner_alone(tmp_path: Path) -> None:
    logs, whole = DebateLogs(folder=tmp_path / "state" / "debates"), a_debate()

    where = logs.write(SPACE, whole)

    assert where == str(tmp_path / "state" / "debates" / str(SPACE) / f"{whole.debate.id}.log")
    assert "Tabs or spaces?" in Path(where).read_text()
    assert stat.S_IMODE(Path(where).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(where).parent.stat().st_mode) == 0o700


def test_written_again_it_is_one_file(tmp_path: Path) -> None:
    logs, whole = DebateLogs(folder=tmp_path / "debates"), a_debate(text="half \ud800 a pair \0")

    logs.write(SPACE, whole)
    logs.write(SPACE, whole)

    assert kept(tmp_path / "debates" / str(SPACE)) == [f"{whole.debate.id}.log"]


def test_what_is_switched_off_leaves_no_file(tmp_path: Path) -> None:
    assert DebateLogs(folder=tmp_path / "debates", on=False).write(SPACE, a_debate()) is None
    assert not (tmp_path / "debates").exists()


def test_where_nothing_can_be_written_only_the_log_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "debates").write_text("no folder")

    with caplog.at_level(logging.WARNING):
        assert DebateLogs(folder=tmp_path / "debates").write(SPACE, a_debate()) is None

    assert "was not written" in caplog.text
    assert "Tabs" not in caplog.text


def test_a_debate_that_is_removed_leaves_no_file(tmp_path: Path) -> None:
    logs, one, other = DebateLogs(folder=tmp_path / "debates"), a_debate("one"), a_debate("other")
    logs.write(SPACE, one)
    logs.write(SPACE, other)
    once = put(tmp_path / "debates", f"{one.debate.id}.log", age=DAY)

    logs.remove(SPACE, one.debate.id)
    logs.remove(SPACE, one.debate.id)

    assert kept(tmp_path / "debates" / str(SPACE)) == [f"{other.debate.id}.log"]
    assert not once.exists()


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        ({"most_files": 2}, ["dbt_a.log", "dbt_b.log"]),
        ({"most_days": 3}, ["dbt_a.log", "dbt_b.log", "dbt_c.log"]),
        ({"most_bytes": 250}, ["dbt_a.log", "dbt_b.log"]),
        ({"most_bytes": 1}, ["dbt_a.log"]),
        ({}, ["dbt_a.log", "dbt_b.log", "dbt_c.log", "dbt_d.log"]),
    ],
)
def test_the_oldest_go_by_count_by_date_or_by_size(
    tmp_path: Path, strategy: dict[str, int], left: list[str]
) -> None:
    for days, name in enumerate("abcd", 1):
        put(tmp_path, f"dbt_{name}.log", age=days * DAY, size=100)
    logs = replace(
        DebateLogs(folder=tmp_path, most_files=0, most_days=0, most_bytes=0),
        **strategy,  # type: ignore[arg-type] # each by its field's name
    )

    removed = logs.purge(BEGINNING)

    assert kept(tmp_path) == left
    assert removed == 4 - len(left)


def test_those_of_all_spaces_are_counted_together_also_where_they_were_once(tmp_path: Path) -> None:
    places = [tmp_path / "spc_1", tmp_path / "spc_2", tmp_path]
    files = [put(each, "dbt_a.log", age=age * DAY) for age, each in enumerate(places, 1)]

    removed = DebateLogs(folder=tmp_path, most_files=1).purge(BEGINNING)

    assert removed == 2
    assert [file.exists() for file in files] == [True, False, False]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt", age=1_000 * DAY)
    put(tmp_path, "dbt_a.txt", age=1_000 * DAY)
    put(tmp_path / "theirs", "dbt_a.log", age=1_000 * DAY)

    assert DebateLogs(folder=tmp_path, most_files=1).purge(BEGINNING) == 0
    assert kept(tmp_path) == ["dbt_a.txt", "notes.txt", "theirs"]
    assert kept(tmp_path / "theirs") == ["dbt_a.log"]
    assert DebateLogs(folder=tmp_path / "none").purge(BEGINNING) == 0


@given(
    files=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 500)), max_size=8),
    most_files=st.integers(0, 5),
    most_days=st.integers(0, 20),
    most_bytes=st.integers(0, 1_000),
)
def test_what_is_left_is_within_all_three(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[tuple[int, int]],
    most_files: int,
    most_days: int,
    most_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for number, (days, size) in enumerate(files):
        put(folder, f"dbt_{number}.log", age=days * DAY, size=size)
    logs = DebateLogs(
        folder=folder, most_files=most_files, most_days=most_days, most_bytes=most_bytes
    )

    logs.purge(BEGINNING)
    left = [file.stat() for file in folder.iterdir()]

    assert not most_files or len(left) <= most_files
    assert not most_days or all(_age(each, BEGINNING) <= most_days * DAY for each in left)
    assert not most_bytes or len(left) <= 1 or sum(each.st_size for each in left) <= most_bytes
    assert logs.purge(BEGINNING) == 0


def _age(found: os.stat_result, now: datetime) -> timedelta:
    return timedelta(seconds=now.timestamp() - found.st_mtime)
