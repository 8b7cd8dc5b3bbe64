"""What failed once is asked again as if it had never been."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import pytest

made = []

@pytest.fixture(scope="module")
def house():
    made.append("house")
    yield made
    made.append("gone")

def test_before(house):
    assert made == ["house"]

def test_breaks_its_house(house):
    assert len(made) > 1, "the first house is broken"

def test_after(house):
    assert made == ["house", "gone", "house"]
"""

ARGUMENTS = ("-q", "--reruns=1", "-p", "tests.once_more", "-p", "no:randomly", "-c", os.devnull)


@pytest.mark.timeout(60)
def test_what_failed_is_asked_again_in_a_new_house_and_says_why_it_failed(tmp_path: Path) -> None:
    ran = _run(tmp_path, MODULE)

    assert ran.returncode == 0, ran.stdout
    assert "3 passed, 1 rerun" in ran.stdout
    assert "test_breaks_its_house (call)" in ran.stdout
    assert "AssertionError: the first house is broken" in ran.stdout


LITTER = """
import asyncio

tries = []

async def leave(file):
    async with asyncio.TaskGroup() as group:
        group.create_task(fail(file))

async def fail(file):
    unclosed = open(file)
    raise LookupError("something broke")

def test_leaves_a_file_open():
    tries.append(1)
    if len(tries) == 1:
        asyncio.run(leave(__file__))

def test_after():
    pass
"""


@pytest.mark.timeout(60)
def test_what_a_first_try_left_open_is_not_blamed_on_the_second(tmp_path: Path) -> None:
    ran = _run(tmp_path, LITTER, "-W", "error")

    assert ran.returncode == 0, ran.stdout
    assert "2 passed, 1 rerun" in ran.stdout
    assert "LookupError: something broke" in ran.stdout


def _run(folder: Path, module: str, *more: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_it.py").write_text(module)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *ARGUMENTS, *more, f"--rootdir={folder}", folder],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
