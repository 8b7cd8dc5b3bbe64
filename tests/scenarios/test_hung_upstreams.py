"""Servers that hang delay nobody but those who call them.

`list` and `search` are asked in blocks, in turn while all servers answer and while five of them
hang: somebody waits at each, for its answer or for its start. What CI holds is what happened, not
how long it took: no server was asked anything, and all answers came while everybody still waited.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2
import pytest
from mcp import Client

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import UpstreamTarget
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from tests.installation import Installation, installation
from tests.real_servers.gateway import Gateway, echo, said, script_command, write_plan
from tests.real_servers.recording import recording
from tests.real_servers.watching import eventually
from tests.real_servers.world import give_away

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
BLOCKS = 20 if FULL_SIZE else 2
A_BLOCK = 50 if FULL_SIZE else 25
MOST = 1.2
"""How much the p95 with hung servers may be of the one without, at full size."""
OVER_HTTP = ("http-0", "http-1")
PROCESSES = ("process-0", "process-1")
NEVER = "never"
"""Approved, but it has not said a word since it was started."""
HEALTHY = "healthy"

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(1200 if FULL_SIZE else 300),
]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        for name in ("call_timeout", "start_timeout"):
            said = made.run("config", "set", f"gateway.{name}", "900")
            assert said.code == 0, said.err
        yield made


@dataclass(frozen=True)
class Hall:
    """A gateway with six servers: four can be made to hang, and one never starts."""

    gateway: Gateway
    folder: Path

    def plan(self, name: str, *, hangs: bool) -> Path:
        plan = {"name": name, "tools": [echo("say", f"Say it again, {name}.")], "hangs": hangs}
        return write_plan(self.folder / f"{name}.json", plan)

    def hang(self, hangs: bool) -> None:
        for name in (*OVER_HTTP, *PROCESSES):
            self.plan(name, hangs=hangs)

    def asked(self) -> Counter[tuple[str, str]]:
        """How often each server has been asked what."""
        return Counter(
            (log.stem, method)
            for log in self.folder.glob("*.log")
            for method in log.read_text().splitlines()
        )


@pytest.fixture
def plant() -> Callable[[], None] | None:
    return None


@pytest.fixture
def hall(house: Installation, plant: Callable[[], None] | None) -> Iterator[Hall]:
    folder = house.home.parent / "plans"
    folder.mkdir()
    give_away(folder)
    made = Hall(Gateway(house), folder)
    with ExitStack() as stack:
        urls = {
            name: stack.enter_context(recording(made.plan(name, hangs=False))).url
            for name in OVER_HTTP
        }
        stack.enter_context(house.serving(plant))
        for name, url in urls.items():
            made.gateway.add_http(name, url)
        for name in (*PROCESSES, HEALTHY):
            made.gateway.add(name, script_command(made.plan(name, hangs=False)), folder=folder)
        made.gateway.approve(*OVER_HTTP, *PROCESSES, HEALTHY)
        made.gateway.add(NEVER, script_command(made.plan(NEVER, hangs=True)), folder=folder)
        made.gateway.allow(NEVER)
        yield made


@dataclass
class Timed:
    lists: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)

    def p95(self) -> tuple[float, float]:
        return quantiles(self.lists, n=20)[-1], quantiles(self.searches, n=20)[-1]


async def block(client: Client, timed: Timed) -> None:
    for number in range(A_BLOCK):
        began = time.perf_counter()
        listed = await client.list_tools()
        between = time.perf_counter()
        found = await client.call_tool(
            "search_tools", {"queries": [f"{number}: say it again, healthy"]}
        )
        timed.searches.append(time.perf_counter() - between)
        timed.lists.append(between - began)
        assert any(tool.name == "search_tools" for tool in listed.tools)
        assert f"{HEALTHY}.say" in said(found)


@asynccontextmanager
async def waiting(hall: Hall) -> AsyncIterator[list["asyncio.Task[Any]"]]:
    """A call at each of the servers that hang, and somebody who waits for one to start."""
    headers = {"Authorization": f"Bearer {hall.gateway.house.key}"}
    api = f"{hall.gateway.house.url}/api/v1"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=None) as http,
        hall.gateway.client() as client,
        asyncio.TaskGroup() as group,
    ):
        before = hall.asked().total()
        verb = hall.gateway.verb(f"{HEALTHY}.say")
        wait: list[asyncio.Task[Any]] = [
            group.create_task(client.call_tool(verb, {"tool": f"{name}.say", "arguments": {}}))
            for name in (*OVER_HTTP, *PROCESSES)
        ]
        wait.append(group.create_task(http.post(f"{api}/servers/{NEVER}/restart")))
        all_there = before + len(wait)
        assert await asyncio.to_thread(eventually, lambda: hall.asked().total() >= all_there)
        yield wait
        for each in wait:
            each.cancel()


@dataclass(frozen=True)
class Seen:
    healthy: Timed
    hung: Timed
    asked: Counter[tuple[str, str]]
    answered: int
    """Of those who waited at a server that hangs."""

    def faults(self) -> list[str]:
        calls = Counter({(name, "tools/call"): BLOCKS for name in (*OVER_HTTP, *PROCESSES)})
        asked = Counter({what: n for what, n in self.asked.items() if not of_waiting(what)})
        found = [f"{name} was asked {what}" for name, what in asked - calls]
        found += [f"{name} was not asked {what}" for name, what in calls - asked]
        return [*found, *(["somebody did not wait any more"] if self.answered else [])]


async def blocks(hall: Hall) -> Seen:
    healthy, hung = Timed(), Timed()
    before, answered = hall.asked(), 0
    async with hall.gateway.client() as client:
        await block(client, Timed())
        for _ in range(BLOCKS):
            await block(client, healthy)
            hall.hang(hangs=True)
            async with waiting(hall) as waits:
                await block(client, hung)
                answered += sum(each.done() for each in waits)
            hall.hang(hangs=False)
    return Seen(healthy, hung, hall.asked() - before, answered)


@pytest.mark.requirement("gateway:upstreams:hung")
async def test_list_and_search_do_not_wait_for_servers_that_hang(
    hall: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = await blocks(hall)

    p95s = zip(seen.hung.p95(), seen.healthy.p95(), strict=True)
    ratios = [with_ / without for with_, without in p95s]
    with capsys.disabled():
        print(report(seen.healthy, seen.hung, ratios))
    assert seen.faults() == []
    if FULL_SIZE:
        assert max(ratios) < MOST


def asks_each_time() -> None:
    """What servers offer is not remembered; each has a moment to say it."""
    offered = Catalogs.offered

    async def asked(its: Catalogs, caller: Principal) -> CatalogSnapshot:
        shelf = await offered(its, caller)
        for name in shelf.counts:
            with suppress(PorticoError, TimeoutError):
                async with asyncio.timeout(0.02):
                    await its.upstreams.look(UpstreamTarget.of(caller.space, shelf.servers[name]))
        return shelf

    Catalogs.offered = asked  # type: ignore[assignment, method-assign] # a red run


@pytest.mark.parametrize("plant", [asks_each_time])
@pytest.mark.planted
async def test_once_a_list_is_asked_for_at_each_server_the_same_check_finds_it(hall: Hall) -> None:
    """A red run: what the memory of what servers offer is for."""
    found = (await blocks(hall)).faults()

    assert f"{PROCESSES[0]} was asked tools/list" in found


def of_waiting(question: tuple[str, str]) -> bool:
    """Whether somebody was asked it because of one who waits for a start, or does not any more."""
    server, method = question
    return server == NEVER or method == "notifications/cancelled"


def report(healthy: Timed, hung: Timed, ratios: list[float]) -> str:
    (list_healthy, search_healthy), (list_hung, search_hung) = healthy.p95(), hung.p95()
    return (
        f"\nhung upstreams, n = {len(hung.lists)} each: "
        f"list p95 {list_healthy * 1000:.1f} -> {list_hung * 1000:.1f} ms ({ratios[0]:.2f} x), "
        f"search p95 {search_healthy * 1000:.1f} -> {search_hung * 1000:.1f} ms ({ratios[1]:.2f} x)"
    )
