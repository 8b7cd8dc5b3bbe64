"""Only what is ours is taken away, whatever programs have made of it, and no link leads out."""

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.adapters.system import removing
from portico.adapters.system.installed_files import (
    found_in,
    is_anothers,
    removal_by,
    remove,
    remove_if_empty,
    size_of,
)
from portico.adapters.system.removing import remove_tree
from tests.servers import IS_ROOT, RUN_AS

DEEPER_THAN_PYTHON = 1_500


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """Deeper than any name is long; each step is taken from where one is."""
    before = os.open(".", os.O_RDONLY)
    top = tmp_path / "deep"
    top.mkdir()
    try:
        os.chdir(top)
        for _ in range(DEEPER_THAN_PYTHON):
            Path("further").mkdir()
            os.chdir("further")
    finally:
        os.fchdir(before)
        os.close(before)
    return top


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that also an account without rights can come to."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # its name is random
        place = Path(folder)
        place.chmod(0o777)  # for another account
        yield place


def test_a_deep_folder_is_measured_and_taken_away_with_the_rest(deep: Path) -> None:
    (deep / "file").write_bytes(b"x" * 7)

    assert size_of(deep) == 7
    remove(deep)

    assert not deep.exists()


def test_what_its_owner_may_not_write_goes_too(anybodys: Path) -> None:
    """As a cache of modules is, which is made so that nobody changes it. Root may do all."""
    folder = anybodys / "cache"
    script = f"""{Path(removing.__file__).read_text()}
inside = Path({str(folder)!r}, "inside")
inside.mkdir(parents=True)
(inside / "file").touch()
inside.chmod(0o555)
inside.parent.chmod(0o000)
remove_tree(inside.parent)
"""
    account = pwd.getpwnam(RUN_AS) if IS_ROOT and RUN_AS else None

    subprocess.run(
        ["/usr/bin/python3", "-"],
        input=script,
        text=True,
        check=True,
        timeout=30,
        user=account.pw_uid if account else None,
        cwd="/",
    )

    assert list(anybodys.iterdir()) == []


def test_of_a_link_only_itself(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o500)
    link = tmp_path / "link"
    link.symlink_to(theirs)

    remove_tree(link)
    remove_tree(tmp_path / "was never there")

    assert not link.is_symlink()
    assert theirs.stat().st_mode & 0o777 == 0o500


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


EDITABLE = '{"url": "file:///src/portico", "dir_info": {"editable": true}}'


@pytest.mark.parametrize(
    ("prefix", "installer", "origin", "command"),
    [
        ("/home/ana/.local/pipx/venvs/portico", "pip", None, "pipx uninstall portico"),
        ("/home/ana/.local/share/uv/tools/portico", "uv", None, "uv tool uninstall portico"),
        ("/home/ana/.cache/uv/archive-v0/x1", "uv", None, "uv cache clean portico"),
        ("/p", "uv", None, "uv pip uninstall --python /p/bin/python portico"),
        ("/my p", "pip", '{"url": "file:///x.whl"}', "'/my p/bin/python' -m pip uninstall portico"),
        ("/src/portico/.venv", "pip", EDITABLE, "rm -r /src/portico/.venv"),
    ],
)
def test_the_command_is_that_of_the_installer(
    prefix: str, installer: str, origin: str | None, command: str
) -> None:
    assert removal_by("portico", prefix=prefix, installer=installer, origin=origin) == command
