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

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.adapters.monty.worker import confine_this_thread, must_be_confined
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.requests import CodeLimits

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
    with pytest.raises(SandboxUnavailable, match="not confined"):
        must_be_confined(os.getpid())


@dataclass(frozen=True)
class Others:
    canary: Path
    process: int
    """Of the same account."""


ATTEMPTS: dict[str, Callable[[Others], object]] = {
    "open a file": lambda others: others.canary.read_text(),
    "write beside it": lambda others: others.canary.with_name("new").write_text("x"),
    "change its mode": lambda others: others.canary.chmod(0o777),
    "list its folder": lambda others: list(others.canary.parent.iterdir()),
    "start a program": lambda others: subprocess.check_output(["/bin/cat", others.canary]),
    "make a socket": lambda _: socket.socket(socket.AF_INET),
    "make a socket of this machine": lambda _: socket.socket(socket.AF_UNIX),
    "signal another": lambda others: os.kill(others.process, signal.SIGCONT),
    "look into another": lambda others: Path(f"/proc/{others.process}/environ").read_bytes(),
}


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Others]:
    canary = tmp_path / "canary.txt"
    canary.write_text("CANARY")
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        yield Others(canary, process.pid)


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
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
