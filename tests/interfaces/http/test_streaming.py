"""Responses that last: the connection under them, server-sent events, and their end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from portico.engine.core.event_log import NewEntry
from portico.interfaces.http.app import LineProtocol, build
from portico.interfaces.http.middleware import allowed
from portico.interfaces.http.streaming import Manners, one_line
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.interfaces.http.conftest import Site, nothing_running
from tests.servers import free_port

RUN = str(RunId.mint(BEGINNING, SeededEntropy("a run")))
PATIENCE = 30.0


@dataclass(frozen=True)
class Served:
    site: Site
    root: Principal
    server: uvicorn.Server
    port: int

    async def tell(self, *types: str, size: int = 0) -> None:
        facts = {"text": "x" * size}
        entries = [NewEntry(topic=RUN, type=each, details=facts) for each in types]
        await self.site.use.watch_run.log.append(self.root, entries)

    async def watch(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.ask(writer, f"/api/v1/runs/{RUN}/events")
        return reader, writer

    def ask(self, writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.site.key}\r\n\r\n".encode()
        )

    @property
    def streams(self) -> int:
        return self.site.use.tails.size[0]

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)


@asynccontextmanager
async def serving(site: Site, manners: Manners) -> AsyncIterator[Served]:
    port = free_port()
    app = build(site.use, site.gateway, allowed(port, None), nothing_running, manners=manners)
    config = uvicorn.Config(
        app,
        port=port,
        http=LineProtocol,
        log_config=None,
        lifespan="on",
        timeout_graceful_shutdown=None,  # for whoever does not end it waits for good
    )
    server = uvicorn.Server(config)
    root = (await site.use.authenticate(site.key)).principal
    running = asyncio.create_task(server.serve())
    served = Served(site, root, server, port)
    await until(lambda: server.started)
    try:
        yield served
    finally:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE):
            await running


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not reached():  # noqa: ASYNC110 # nothing tells us
            await asyncio.sleep(0.01)


async def read_to(reader: asyncio.StreamReader, text: bytes) -> bytes:
    async with asyncio.timeout(PATIENCE):
        return await reader.readuntil(text)


@pytest.mark.requirement("http:events:shutdown")
async def test_a_server_with_open_streams_ends_without_waiting_for_them(site: Site) -> None:
    async with serving(site, Manners()) as served:
        await served.tell("a.a")
        lines = [await served.watch() for _ in range(20)]
        for reader, _ in lines:
            await read_to(reader, b"event: a.a\n")
        assert served.streams == 20

    rests = [await reader.read() for reader, _ in lines]
    for _, writer in lines:
        writer.close()
    assert all(rest.endswith(b"\r\n0\r\n\r\n") for rest in rests)
    assert served.streams == 0


@pytest.mark.requirement("http:events:slow-clients")
async def test_a_client_that_does_not_read_is_cut_off_with_all_that_waits_for_it(
    site: Site,
) -> None:
    async with serving(site, Manners(heartbeat=60.0, wait_timeout=0.5)) as served:
        await served.tell("a.a")
        reader, writer = await served.watch()
        await read_to(reader, b"event: a.a\n")
        assert isinstance(writer.transport, asyncio.Transport)
        writer.transport.pause_reading()

        for _ in range(200):
            await served.tell("b.b", size=100_000)
            await asyncio.sleep(0)
        await until(lambda: served.streams == 0)
        await until(lambda: served.connections == 0)

        writer.close()


async def test_after_the_end_of_a_run_the_connection_can_be_used_again(site: Site) -> None:
    async with serving(site, Manners()) as served:
        await served.tell("a.a", "run.done")
        reader, writer = await served.watch()

        first = await read_to(reader, b"\r\n0\r\n\r\n")
        served.ask(writer, "/api/v1/me")
        second = await read_to(reader, b"\r\n\r\n")

        writer.close()
    assert b"event: end\n" in first
    assert second.startswith(b"HTTP/1.1 200 ")


@pytest.mark.requirement("engine:events:no-leak")
async def test_clients_that_vanish_leave_nothing_behind(site: Site) -> None:
    async with serving(site, Manners()) as served:
        await served.tell("a.a")
        lines = [await served.watch() for _ in range(30)]
        await until(lambda: served.streams == 30)

        for number, (_, writer) in enumerate(lines):
            writer.transport.abort() if number % 2 else writer.close()

        await until(lambda: served.streams == 0)
        assert site.use.tails.size == (0, 0)
        await until(lambda: len(served.server.server_state.tasks) == 0)


@given(st.text())
def test_a_line_of_json_ends_nowhere_but_at_its_end(text: str) -> None:
    line = one_line(json.dumps({"text": text}, ensure_ascii=False))

    assert line.splitlines() == [line]
    assert json.loads(line) == {"text": text}


def test_line_ends_of_unicode_are_spelt_out() -> None:
    assert one_line('"a\u2028b\u2029c\u0085d"') == r'"a\u2028b\u2029c\u0085d"'
