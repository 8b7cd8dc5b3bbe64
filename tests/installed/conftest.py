"""Portico as users install it: the wheel, by pip, without our lock.

The versions are the newest that the wheel allows, as of `requirements/newest.txt`.
`PORTICO_INSTALLER=uv-tool` installs it by `uv tool` instead.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installed.guest import Guest, account, interpreter
from tests.servers import IS_ROOT, free_port, reachable_folder

ROOT = Path(__file__).parents[2]
NEWEST = "newest.txt"


@pytest.fixture(scope="session")
def guest() -> Iterator[Guest]:
    if IS_ROOT and not shutil.which("useradd"):
        pytest.skip("cannot make a user here")
    with reachable_folder() as folder, account(folder / "home"):
        home = folder / "home"
        yield Guest(home, free_port(), home / "venv" / "bin")


@pytest.fixture(scope="session")
def installed(guest: Guest) -> Guest:
    build = ("-m", "build", "--wheel", "--no-isolation", f"--outdir={guest.home}")
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    [wheel] = guest.home.glob("*.whl")
    versions = guest.home / NEWEST
    shutil.copy(ROOT / "requirements" / NEWEST, versions)
    for each in (wheel, versions):
        guest.own(each)
    guest.run(interpreter(), "-m", "venv", "venv")
    if os.environ.get("PORTICO_INSTALLER") == "uv-tool":
        guest.run(guest.programs / "pip", "install", "--quiet", "uv")
        _by_uv_tool(guest, wheel, versions)
    else:
        guest.run(guest.programs / "pip", "install", "--quiet", "-c", versions, wheel)
    return guest


def _by_uv_tool(guest: Guest, wheel: Path, versions: Path) -> None:
    """Its programs are linked from where the tests look for them."""
    uv = guest.programs / "uv"
    python = f"--python={interpreter()}"
    guest.run(uv, "tool", "install", "--quiet", python, "--constraints", versions, wheel)
    tools = Path(guest.run(uv, "tool", "dir").strip()) / "portico" / "bin"
    guest.run("ln", "-sf", tools / "portico", guest.programs / "portico")
    guest.run("ln", "-sf", tools / "python", guest.programs / "python")
