"""The folder of a box that has no files of its own."""

import os
from pathlib import Path

import pytest

from portico.adapters.box import scratch
from portico.adapters.box.account import Account
from portico.adapters.box.leavings import name_for

OURSELVES = Account(os.geteuid(), os.getegid(), switch=False)


def test_it_is_there_for_its_account_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    folder = scratch.make(OURSELVES)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "home").is_dir()


def test_what_is_left_of_the_dead_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours, gone = name_for("home"), name_for("home").replace(f"-{os.getpid()}-", "-99999999-")
    linked = name_for("home").replace(f"-{os.getpid()}-", "-99999999-")
    for name in (ours, gone, "portico-box-12-99999999-of-another-world", "theirs"):
        (tmp_path / name / "deep").mkdir(parents=True)
    (tmp_path / linked).symlink_to(tmp_path / "theirs")

    folder = scratch.make(OURSELVES)

    left = {each.name for each in tmp_path.iterdir()} - {folder.name}
    assert left == {ours, linked, "portico-box-12-99999999-of-another-world", "theirs"}
    assert (tmp_path / "theirs" / "deep").is_dir()
