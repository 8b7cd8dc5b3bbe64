"""The second wall: what a process of the interpreter could not do even if it did as it liked."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from portico.adapters.monty.confined import confine_this_thread, must_be_confined
from portico.adapters.monty.interpreter import MontyInterpreter
from portico.box.core.code import CodeLimits
from portico.box.core.errors import BoxUnavailable

pytestmark = pytest.mark.timeout(60)

LIMITS = CodeLimits(seconds=5, whole_seconds=30)


def status(process: int | str) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


async def test_every_process_is_confined_and_we_are_not() -> None:
    seen: list[dict[str, str]] = []

    async def look() -> None:
        seen.extend(status(each._process) for each in interpreter._workers if each._process)

    before = status("self")

    async with MontyInterpreter(processes=4) as interpreter:
        await asyncio.gather(
            *(interpreter.run("await look()", LIMITS, functions={"look": look}) for _ in range(24))
        )

    assert len(seen) >= 24
    for each in seen:
        assert each["Name"] == "monty"
        assert (each["NoNewPrivs"], each["Seccomp"]) == ("1", "2")
        assert int(each["Seccomp_filters"]) == int(before["Seccomp_filters"]) + 1
        assert int(each["CapEff"], 16) == int(each["CapBnd"], 16) == 0 or os.geteuid() != 0
    for thread in ("self", "thread-self"):
        for given_up in ("NoNewPrivs", "Seccomp", "Seccomp_filters", "CapEff"):
            assert status(thread)[given_up] == before[given_up]


def test_one_that_was_started_otherwise_is_not_used() -> None:
    with pytest.raises(BoxUnavailable, match="not confined"):
        must_be_confined(os.getpid())


@dataclass(frozen=True)
class Others:
    canary: Path
    process: int
    """Of the same account."""


def open_canary(others: Others) -> object:
    return others.canary.read_text()


def write_beside(others: Others) -> object:
    return others.canary.with_name("new").write_text("x")


def change_mode(others: Others) -> None:
    others.canary.chmod(0o777)


def list_folder(others: Others) -> object:
    return list(others.canary.parent.iterdir())


def start_another_program(others: Others) -> object:
    return subprocess.run(["/bin/cat", others.canary], check=True, capture_output=True).stdout


def make_a_socket(_: Others) -> object:
    return socket.socket(socket.AF_INET)


def make_a_unix_socket(_: Others) -> object:
    return socket.socket(socket.AF_UNIX)


def signal_another(others: Others) -> None:
    os.kill(others.process, signal.SIGCONT)


def look_into_another(others: Others) -> object:
    return Path(f"/proc/{others.process}/environ").read_bytes()


ATTEMPTS = [
    open_canary,
    write_beside,
    change_mode,
    list_folder,
    start_another_program,
    make_a_socket,
    make_a_unix_socket,
    signal_another,
    look_into_another,
]


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Others]:
    canary = tmp_path / "canary.txt"
    canary.write_text("CANARY")
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        yield Others(canary, process.pid)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_such_a_thread_has_given_up(
    attempt: Callable[[Others], object], others: Others
) -> None:
    with ThreadPoolExecutor(1) as thread:
        made = attempt(others)
        if isinstance(made, socket.socket):
            made.close()
        thread.submit(confine_this_thread, Path(sys.executable)).result()

        with pytest.raises(OSError):
            thread.submit(attempt, others).result()
