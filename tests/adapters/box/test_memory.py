"""The memory of a box is that of its own processes, and nobody else's are looked at."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from portico.adapters.box import memory
from portico.adapters.box.inside.keeper import descendants

FAMILY = """
import subprocess, sys, threading
def start():
    grandchild = "held = bytearray(50_000_000); print(flush=True); input()"
    subprocess.Popen([sys.executable, "-c", grandchild]).wait()
thread = threading.Thread(target=start)
thread.start()
thread.join()
"""
"""A child of a thread, which has much."""


@pytest.fixture
def keeper() -> Iterator[int]:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {FAMILY!r}])",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    yield parent.pid
    parent.communicate(b"\n")


def test_what_all_of_its_processes_have_is_added_up(keeper: int) -> None:
    assert memory.family(keeper) == descendants(keeper)
    assert len(memory.family(keeper)) == 2
    assert 50_000_000 < memory.held(keeper, 1 << 40) < 1 << 30
    assert 50_000_000 < memory.held(keeper, 1000) < 1 << 30


def test_the_processes_of_others_are_not_looked_at(
    keeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(_process: int) -> set[int]:
        pytest.fail("all of /proc was read")

    monkeypatch.setattr(memory, "descendants", whole)

    assert memory.held(keeper, 1 << 40) > 50_000_000


async def test_what_has_too_much_is_told(keeper: int) -> None:
    told: list[int] = []

    await memory.watch(keeper, 10_000_000, lambda: told.append(keeper))

    assert told == [keeper]


def test_what_has_ended_has_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert memory.held(ended.pid, 0) == 0
