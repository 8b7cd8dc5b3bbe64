"""Files are opened in a folder that an attacker changes at the same time, and none leads out.

What a check of the path before the opening lets through in the same storm is counted first: a
storm in which that one does not leak would show nothing.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from portico.adapters.confined_files import (
    Beneath,
    FolderFiles,
    Opening,
    Walk,
    closing_descriptor,
    open_to_read,
    read_part,
)
from portico.sandbox.core.errors import FileTrouble, PathRefused
from portico.sandbox.core.profile import names_of

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
OPENS = 1_000_000 if FULL_SIZE else 50_000
WRITES = 5_000 if FULL_SIZE else 300
LEAKS_WITHIN = 500_000
"""Opens in which whatever leads out has done so: mostly it takes a fiftieth of them."""
SECRET = b"SECRET"
PATHS = ("flip.txt", "way/secret.txt", "deep/er/secret.txt", "hard.txt", "swap.txt")

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(1800 if FULL_SIZE else 120)]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(SECRET)
    return outside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in ("stage", "way", "deep/er"):
        (root / folder).mkdir(parents=True)
    for path in ("way/secret.txt", "deep/er/secret.txt", "swap.txt"):
        (root / path).write_bytes(b"public")
    return root


@contextmanager
def attacked(root: Path, outside: Path) -> Iterator[None]:
    script = Path(__file__).with_name("file_attacker.py")
    with subprocess.Popen(
        [sys.executable, "-I", script, root, outside], stdout=subprocess.PIPE
    ) as attacker:
        try:
            assert attacker.stdout is not None
            assert attacker.stdout.readline() == b"begun\n"
            yield
            assert attacker.poll() is None, "the storm was over before the opens were"
        finally:
            attacker.kill()


def checked_first(root: Path, path: str) -> bytes:
    """As it is often done: everything is right with it, at the moment of the check."""
    whole = (root / path).resolve(strict=True)
    if not whole.is_relative_to(root) or whole.stat().st_nlink > 1:
        raise PermissionError(path)
    return whole.read_bytes()


def read(opening: Opening, holder: int, path: str) -> bytes:
    with closing_descriptor(open_to_read(opening, holder, names_of(path))) as opened:
        return read_part(opened, 0, 100)


def counted(read: Callable[[str], bytes], opens: int, *, until: str | None = None) -> Counter[str]:
    told: Counter[str] = Counter()
    for _ in range(opens):
        path = random.choice(PATHS)
        try:
            content = read(path)
        except OSError:
            told["refused"] += 1
            told[f"refused {path}"] += 1
            continue
        outcome = "escaped" if SECRET in content else "opened"
        told[outcome] += 1
        told[f"{outcome} {path}"] += 1
        if until and told[until]:
            break
    return told


@pytest.mark.parametrize("opening", [Beneath(), Walk()], ids=["beneath", "walk"])
@pytest.mark.requirement("box:files:no-escape-in-a-race")
def test_no_open_leads_out_however_the_folder_changes(
    root: Path, outside: Path, opening: Opening, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing_descriptor(os.open(root, os.O_RDONLY)) as holder, attacked(root, outside):
        naive = counted(lambda path: checked_first(root, path), LEAKS_WITHIN, until="escaped")
        told = counted(partial(read, opening, holder), OPENS)

    with capsys.disabled():
        print(f"\n{type(opening).__name__}: {dict(sorted(told.items()))}; naive {dict(naive)}")
    assert naive["escaped"] > 0
    assert told["escaped"] == 0
    for path in PATHS:
        assert told[f"opened {path}"] > 0, path
        assert told[f"refused {path}"] > 0, path


@pytest.mark.parametrize(
    ("opening", "without"),
    [
        (Beneath(), ("portico.adapters.confined_files._RESOLVE_BENEATH", 0)),
        (Walk(), ("os.O_NOFOLLOW", 0)),
        (Beneath(), ("portico.adapters.confined_files._stood_still", lambda *_: True)),
    ],
    ids=["beneath", "no link followed", "a second look"],
)
@pytest.mark.planted
def test_without_one_of_its_guards_an_open_leads_out(
    root: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    opening: Opening,
    without: tuple[str, object],
) -> None:
    """A red run: what each of them is for."""
    monkeypatch.setattr(*without)

    with closing_descriptor(os.open(root, os.O_RDONLY)) as holder, attacked(root, outside):
        told = counted(partial(read, opening, holder), LEAKS_WITHIN, until="escaped")

    assert told["escaped"] > 0


@pytest.mark.parametrize("opening", [Beneath(), Walk()], ids=["beneath", "walk"])
async def test_no_write_lands_outside_however_the_folder_changes(
    root: Path, outside: Path, opening: Opening
) -> None:
    files = FolderFiles(root, opening=opening)
    told: Counter[str] = Counter()

    with attacked(root, outside):
        for number in range(WRITES):
            folder = random.choice(["way", "deep/er", f"way/new{number % 7}"])
            try:
                await files.write(f"{folder}/written.txt", b"MINE")
                told["written"] += 1
            except (PathRefused, FileTrouble):
                told["refused"] += 1

    assert told["written"] > 0
    assert told["refused"] > 0
    assert (outside / "secret.txt").read_bytes() == SECRET
    assert names_in(outside) <= {"secret.txt", "away"}


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
