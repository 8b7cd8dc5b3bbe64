"""Changes a folder under whoever reads it: what is a file or a folder at one moment is a link out
of it at the next, or a second name of a file outside. Ends with whoever started it."""

import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT, OUTSIDE = Path(sys.argv[1]), Path(sys.argv[2])
STAGE = ROOT / "stage"


def attempt(call: Callable[..., object], *arguments: object) -> None:
    """Whoever is attacked makes files too, so that a step may fail."""
    with suppress(OSError):
        call(*arguments)


def put(name: str, place: Path) -> None:
    (STAGE / name).write_bytes(b"public")
    attempt(os.rename, STAGE / name, place)


def file_or_link() -> None:
    put("file", ROOT / "flip.txt")
    target = random.choice([str(OUTSIDE / "secret.txt"), "../outside/secret.txt"])
    attempt(os.symlink, target, STAGE / "link")
    attempt(os.rename, STAGE / "link", ROOT / "flip.txt")


def folder_or_link(folder: Path, aside: Path) -> None:
    attempt(os.rename, folder, aside)
    attempt(os.symlink, OUTSIDE, folder)
    attempt(os.unlink, folder)
    attempt(os.rename, aside, folder)
    if aside.exists():  # whoever is attacked has made the folder again meanwhile
        shutil.rmtree(aside, ignore_errors=True)


def a_second_name() -> None:
    attempt(os.unlink, ROOT / "hard.txt")
    attempt(os.link, OUTSIDE / "secret.txt", ROOT / "hard.txt")
    attempt(os.unlink, ROOT / "hard.txt")
    put("plain", ROOT / "hard.txt")


def an_exchange() -> None:
    """A second name of the file outside, put in the place of a file of the folder at once."""
    attempt(os.link, OUTSIDE / "secret.txt", STAGE / "second")
    attempt(os.rename, STAGE / "second", ROOT / "swap.txt")
    put("first", ROOT / "swap.txt")


ACTS: tuple[Callable[[], None], ...] = (
    file_or_link,
    lambda: folder_or_link(ROOT / "way", STAGE / "way"),
    lambda: folder_or_link(ROOT / "deep" / "er", ROOT / "er"),
    lambda: folder_or_link(ROOT / "deep" / "er", OUTSIDE / "away"),
    lambda: folder_or_link(ROOT / "deep", STAGE / "deep"),
    a_second_name,
    an_exchange,
)
parent = os.getppid()
print("begun", flush=True)
while os.getppid() == parent:
    act = random.choice(ACTS)
    for _ in range(random.randint(1, 20)):
        act()
