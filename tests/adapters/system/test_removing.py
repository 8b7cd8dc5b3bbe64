"""A folder goes, whatever programs have made of it."""

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.adapters.system import removing
from portico.adapters.system.belongings import remove, size_of
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


def test_however_deep_it_is(deep: Path) -> None:
    remove_tree(deep)

    assert not deep.exists()


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
