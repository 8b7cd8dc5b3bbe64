"""What the gateway adds to a call: beside the same call made directly, taking turns in one run."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any, Final

import psutil
from cyclopts import Parameter

from portico.bench.clients import let_in, rest
from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At

ECHO: Final = (sys.executable, "-m", "portico.bench.call_echo")
BY_HTTP: Final = "echo-http"
BY_STDIO: Final = "echo-stdio"
_EFFECTS: Final = {"echo": "pure", "requests": "local_read"}
_NEVER_REACHED: Final = "1000000"
"""A limit of calls a minute; to count against it belongs to what a call costs."""
_TEXT: Final = "x" * 100
_WARM: Final = 30
_LISTS_AND_SEARCHES: Final = 200

Call = Callable[[], Awaitable[object]]


def call(
    *,
    rounds: Annotated[int, Parameter(help="Times that all ways take turns.")] = 6,
    calls: Annotated[int, Parameter(help="Calls of each way a round, one after the other.")] = 100,
    at_once: Annotated[int, Parameter(help="Calls in flight where throughput is measured.")] = 32,
    at: At,
) -> int:
    """A call through the gateway beside a direct one: time, CPU, throughput."""
    settings = {each.path: each.value for each in at.services.settings()}
    with (
        at.working("starting a server and two tool servers") as progress,
        house(str(settings["database.run_as"] or "")) as made,
    ):
        measured = asyncio.run(_measure(made, rounds, calls, at_once, progress))
    return measured.report(rounds, calls, at_once).tell(at)


@dataclass(frozen=True, slots=True)
class House:
    url: str
    key: str
    direct: str
    """The far end itself, over HTTP."""
    process: psutil.Process
    """Whose CPU time is the gateway's."""

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def cpu(self) -> float:
        """Seconds so far, of the server and nothing that it has started."""
        used = self.process.cpu_times()
        return used.user + used.system


@contextmanager
def house(run_as: str) -> Iterator[House]:
    """A Portico of its own, with the two servers behind it let in."""
    with scratch_home() as home:
        port, far = free_port(), free_port()
        env = _environment(home, port, run_as)
        log = home / "server.log"
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        key = (home / "config" / "client.key").read_text().strip()
        url = f"http://127.0.0.1:{port}"
        with _far_end(far, env, log), answering([*PORTICO, "serve"], f"{url}/readyz", env, log):
            made = House(url, key, f"http://127.0.0.1:{far}/mcp", listening(port))
            command = {"type": "stdio", "command": ECHO[0], "arguments": [*ECHO[1:], "stdio"]}
            with rest(url, key) as client:
                let_in(client, BY_HTTP, {"type": "http", "url": made.direct}, _EFFECTS)
                let_in(client, BY_STDIO, command, _EFFECTS)
            yield made


def _environment(home: Path, port: int, run_as: str) -> dict[str, str]:
    return environment(
        PORTICO_HOME=str(home),
        PORTICO_SERVER__PORT=str(port),
        PORTICO_DATABASE__RUN_AS=run_as,
        PORTICO_LIMITS__CALLS_A_MINUTE=_NEVER_REACHED,
        PORTICO_LOG__LEVEL="warning",
    )


@contextmanager
def _far_end(port: int, env: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as stream:
        command = [*ECHO, "http", str(port)]
        with subprocess.Popen(command, env=dict(env), stdout=stream, stderr=stream) as process:
            try:
                yield
            finally:
                process.terminate()


def listening(port: int) -> psutil.Process:
    """Our own child that holds the port."""
    for child in psutil.Process(os.getpid()).children(recursive=True):
        if any(each.laddr.port == port for each in child.net_connections("tcp")):
            return child
    raise RuntimeError("no child of this process listens on the port")


@dataclass(slots=True)
class _Way:
    """One way to the same tool, and what was measured on it."""

    call: Call
    took: list[float] = field(default_factory=list)
    p50s: list[float] = field(default_factory=list)
    cpu: float = 0.0
    rates: list[float] = field(default_factory=list)
    cpu_at_once: float = 0.0

    @property
    def p50(self) -> float:
        return median(self.took) * 1000

    @property
    def p95(self) -> float:
        return quantiles(self.took, n=20)[-1] * 1000

    async def one_by_one(self, house: House, calls: int) -> None:
        cpu, took = house.cpu(), []
        for _ in range(calls):
            began = time.perf_counter()
            await self.call()
            took.append(time.perf_counter() - began)
        self.cpu += house.cpu() - cpu
        self.took += took
        self.p50s.append(median(took))

    async def many_at_once(self, house: House, calls: int, at_once: int) -> None:
        left = iter(range(calls))

        async def worker() -> None:
            for _ in left:
                await self.call()

        cpu, began = house.cpu(), time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        self.rates.append(calls / (time.perf_counter() - began))
        self.cpu_at_once += house.cpu() - cpu


@dataclass(frozen=True, slots=True)
class _Measured:
    ways: Mapping[str, _Way]
    upstream_requests: int
    idle: float
    """Seconds of CPU that the server takes in a second without calls; they are in all figures."""

    def report(self, rounds: int, calls: int, at_once: int) -> Report:
        http, stdio = self.ways["direct_http"], self.ways["direct_stdio"]
        by_http, by_stdio = self.ways["http_http"], self.ways["http_stdio"]
        total = rounds * calls
        return Report(
            benchmark="call",
            corpus=f"echo of {len(_TEXT)} letters, {total} calls of each way in {rounds} rounds "
            f"that take turns; {calls * 4} calls a round with {at_once} at once; the official "
            "client; 2026-07-28",
            figures={
                "http_http_ratio": round(by_http.p50 / http.p50, 2),
                "http_stdio_ratio": round(by_stdio.p50 / http.p50, 2),
                "http_stdio_vs_stdio": round(by_stdio.p50 / stdio.p50, 2),
                "cpu_ms_per_call": round(by_http.cpu / total * 1000, 2),
                "cpu_ms_per_call_stdio": round(by_stdio.cpu / total * 1000, 2),
                "calls_per_s_c32": round(median(by_http.rates), 1),
                "calls_per_s_c32_stdio": round(median(by_stdio.rates), 1),
                "upstream_requests_for_list_and_search": self.upstream_requests,
            },
            baseline={
                **{f"{name}_p50_ms": round(way.p50, 2) for name, way in self.ways.items()},
                **{f"{name}_p95_ms": round(way.p95, 2) for name, way in self.ways.items()},
                "direct_http_calls_per_s_c32": round(median(http.rates), 1),
                "direct_stdio_calls_per_s_c32": round(median(stdio.rates), 1),
            },
            conditions={
                "mcp": version("mcp"),
                "at_once": at_once,
                "idle_cpu_ms_per_s": round(self.idle * 1000, 1),
                "ratios_by_round": _by_round(by_http, http),
                "stdio_ratios_by_round": _by_round(by_stdio, http),
                "cpu_ms_per_call_at_once": round(
                    by_http.cpu_at_once / (rounds * calls * 4) * 1000, 2
                ),
            },
        )


def _by_round(way: _Way, beside: _Way) -> list[float]:
    return [round(one / other, 2) for one, other in zip(way.p50s, beside.p50s, strict=True)]


async def _measure(
    house: House, rounds: int, calls: int, at_once: int, progress: Callable[[str], None]
) -> _Measured:
    async with _clients(house) as (direct_http, direct_stdio, gateway):
        ways = {
            "direct_http": _Way(lambda: direct_http.call_tool("echo", {"text": _TEXT})),
            "direct_stdio": _Way(lambda: direct_stdio.call_tool("echo", {"text": _TEXT})),
            "http_http": _Way(lambda: _through(gateway, BY_HTTP, "echo", {"text": _TEXT})),
            "http_stdio": _Way(lambda: _through(gateway, BY_STDIO, "echo", {"text": _TEXT})),
        }
        for way in ways.values():
            for _ in range(_WARM):
                await way.call()
        idle = await _idle(house)
        for number in range(rounds):
            progress(f"measuring: round {number + 1} of {rounds}")
            for way in _in_turn(list(ways.values()), number):
                await way.one_by_one(house, calls)
            for way in _in_turn(list(ways.values()), number):
                await way.many_at_once(house, calls * 4, at_once)
        progress("counting what lists and searches cause")
        return _Measured(ways, await _caused(gateway), idle)


async def _idle(house: House, seconds: float = 3.0) -> float:
    cpu = house.cpu()
    await asyncio.sleep(seconds)
    return (house.cpu() - cpu) / seconds


def _in_turn(ways: Sequence[_Way], number: int) -> Sequence[_Way]:
    """Another begins each time, so that none always comes after the same one."""
    first = number % len(ways)
    return [*ways[first:], *ways[:first]]


@asynccontextmanager
async def _clients(house: House) -> AsyncIterator[Sequence[Any]]:
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as open_ones:
        limits = httpx2.Limits(max_connections=None)
        plain = await open_ones.enter_async_context(httpx2.AsyncClient(limits=limits, timeout=60))
        keyed = await open_ones.enter_async_context(
            httpx2.AsyncClient(headers=dict(house.headers), limits=limits, timeout=60)
        )
        far = StdioServerParameters(command=ECHO[0], args=[*ECHO[1:], "stdio"])
        yield [
            await open_ones.enter_async_context(Client(server))
            for server in (
                streamable_http_client(house.direct, http_client=plain),
                far,
                streamable_http_client(f"{house.url}/mcp", http_client=keyed),
            )
        ]


async def _through(gateway: Any, server: str, tool: str, arguments: Any) -> str:  # noqa: ANN401 # the official client, loaded late
    wanted = {"tool": f"{server}.{tool}", "arguments": arguments}
    result = await gateway.call_tool("call_read", wanted)
    if result.is_error:
        raise RuntimeError(f"the gateway refused: {result.content[0].text}")
    text: str = result.content[0].text
    return text


async def _caused(gateway: Any) -> int:  # noqa: ANN401 # likewise
    """Requests at both far ends while tools are only listed and looked for."""
    before = [int(await _through(gateway, each, "requests", {})) for each in (BY_HTTP, BY_STDIO)]
    for number in range(_LISTS_AND_SEARCHES):
        await gateway.list_tools(cache_mode="bypass")
        await gateway.call_tool("search_tools", {"queries": [f"say back text {number}"]})
    after = [int(await _through(gateway, each, "requests", {})) for each in (BY_HTTP, BY_STDIO)]
    return sum(after) - sum(before) - len(after)
