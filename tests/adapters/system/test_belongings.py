"""Only what is ours is taken away, and no link leads out."""

from pathlib import Path

import pytest

from portico.adapters.system.belongings import (
    found_in,
    is_anothers,
    remove,
    remove_if_empty,
    size_of,
)

KNOWN = {"logs": "logs", "*.key": "a key"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "portico"
    (made / "logs" / "old").mkdir(parents=True)
    (made / "logs" / "old" / "a").write_bytes(b"x" * 70)
    (made / "logs" / "b").write_bytes(b"x" * 30)
    (made / "my.key").write_text("k")
    (made / "thesis.txt").write_text("years")
    return made


def test_what_is_ours_is_told_from_what_is_not(folder: Path) -> None:
    found = {each.path.name: each.what for each in found_in(folder, KNOWN)}

    assert found == {"logs": "logs", "my.key": "a key", "thesis.txt": None}


def test_a_folder_that_is_a_link_or_missing_holds_nothing(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)

    assert not found_in(link, KNOWN)
    assert not found_in(tmp_path / "missing", KNOWN)


def test_links_are_removed_and_what_they_lead_to_stays(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_bytes(b"x" * 1000)
    (folder / "logs" / "link").symlink_to(tmp_path / "theirs")
    (folder / "direct").symlink_to(tmp_path / "theirs")
    size = size_of(folder / "logs")

    remove(folder / "logs")
    remove(folder / "direct")
    remove(folder / "was never there")

    assert size == 100
    assert (tmp_path / "theirs" / "file").exists()
    assert sorted(each.name for each in folder.iterdir()) == ["my.key", "thesis.txt"]


def test_a_folder_with_something_in_it_stays(folder: Path) -> None:
    assert not remove_if_empty(folder)
    remove(folder)
    folder.mkdir()
    assert remove_if_empty(folder)


@pytest.mark.parametrize(
    ("odd", "anothers"),
    [
        ("/", True),
        ("home", True),
        ("home/..", True),
        ("link-to-home", True),
        ("home/portico", False),
        ("elsewhere", False),
    ],
)
def test_root_and_homes_are_no_folders_of_ours(tmp_path: Path, odd: str, anothers: bool) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link-to-home").symlink_to(home)

    assert is_anothers(tmp_path / odd, home) is anothers
