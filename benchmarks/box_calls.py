"""A call of a stdio server in a box beside the same call without one, on the same lines."""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import portico
from benchmarks.boxes import Boxes, by_round
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, Profile, SandboxCommand

_SERVER: Final = (sys.executable, "-m", "portico.bench.call_echo", "stdio")
_TEXT: Final = "x" * 100
_WARM: Final = 30
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(slots=True)
class Server:
    process: Process
    took: list[float] = field(default_factory=list)
    _asked: int = 0

    async def greet(self) -> None:
        await self._ask("initialize", _HELLO)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self) -> None:
        began = time.perf_counter()
        await self._ask("tools/call", {"name": "echo", "arguments": {"text": _TEXT}})
        self.took.append(time.perf_counter() - began)

    def _write(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None  # noqa: S101 # for the types
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _ask(self, method: str, params: Mapping[str, object]) -> None:
        self._asked += 1
        self._write({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        assert self.process.stdout is not None  # noqa: S101 # for the types
        answer = json.loads(await self.process.stdout.readline() or b"{}")
        if "result" not in answer:
            raise RuntimeError(f"the server said {answer}")


@dataclass(frozen=True, slots=True)
class Calls:
    bare: float
    boxed: float
    by_round: Sequence[float]


async def measure_calls(boxes: Boxes, backend: Backend, rounds: int, calls: int) -> Calls:
    """One call of each in turn: what else the machine does is then done to both."""
    async with AsyncExitStack() as open_ones:
        bare = await open_ones.enter_async_context(_bare())
        boxed = await open_ones.enter_async_context(_boxed(boxes, backend))
        for server in (bare, boxed):
            await server.greet()
        for number in range(_WARM + rounds * calls):
            for server in (bare, boxed) if number % 2 else (boxed, bare):
                await server.call()
    took, beside = boxed.took[_WARM:], bare.took[_WARM:]
    return Calls(median(beside), median(took), by_round(took, beside, calls))


@asynccontextmanager
async def _bare() -> AsyncIterator[Server]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": _source()}
    process = await asyncio.create_subprocess_exec(
        *_SERVER,
        env=environment,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,  # as in a box: the kernel shares time out by sessions
    )
    try:
        yield Server(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@asynccontextmanager
async def _boxed(boxes: Boxes, backend: Backend) -> AsyncIterator[Server]:
    order = SandboxCommand(
        program=_SERVER[0],
        arguments=_SERVER[1:],
        environment={"PATH": "/usr/bin:/bin", "PYTHONPATH": _source()},
        profile=Profile(read=_needed()),
    )
    async with boxes.by_name[backend].cell(order, Limits()) as cell:
        process = await asyncio.create_subprocess_exec(
            *cell.command,
            env=dict(cell.environment),
            pass_fds=cell.descriptors,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
        try:
            await cell.started(process.pid)
            yield Server(process)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _needed() -> tuple[str, ...]:
    """Our environment, the Python that it is of, and Portico itself."""
    folders = dict.fromkeys([sys.prefix, str(Path(sys.base_prefix).resolve()), _source()])
    return tuple(each for each in folders if each != "/usr")


def _source() -> str:
    return str(Path(portico.__file__).parents[1])
