"""A server with very many streams at once: each is complete, and the server does not grow."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import httpx2
import psutil
import pytest
from starlette.types import Receive

from portico.app.app_context import AppContext
from portico.interfaces.http.streaming import Connection
from portico.kernel.ids import PrincipalId, SpaceId
from tests.installation import Installation
from tests.real_servers.watching import eventually
from tests.scenarios.event_writer import Job
from tests.scenarios.sse_clients import Crowd

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
CLIENTS = 1_000 if FULL_SIZE else 100
SECONDS = 60 if FULL_SIZE else 6
A_SECOND = 100
BREAKS = 50 if FULL_SIZE else 10
MOST_GROWTH = 0.10
LEAVING = 30.0
"""Seconds in which whoever has gone must have been noticed."""

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(1200 if FULL_SIZE else 300),
]


@dataclass(frozen=True)
class Soaked:
    told: dict[str, Any]
    warm: int
    end: int
    busy: float
    """Of one core, the server's."""
    left: int
    """Readers that the server still has when all have gone."""

    @property
    def growth(self) -> float:
        return self.end / self.warm - 1


def app_address(house: Installation, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in house.environment.items():
        if name.startswith("PORTICO_"):
            monkeypatch.setenv(name, value)
    return AppContext().store.addresses.app


def soak(
    house: Installation, address: str, topics: list[str], plant: Callable[[], None] | None = None
) -> Soaked:
    with house.serving(plant) as server, house.client() as client:
        me = client.get("/me").json()
        crowd = Crowd(
            port=house.port,
            key=house.key,
            clients=CLIENTS,
            topics=topics,
            count=SECONDS * A_SECOND,
            leave=BREAKS,
            breaks=SECONDS * BREAKS,
            patience=SECONDS * 4 + 60,
        )
        job = Job(
            address=address,
            space=str(SpaceId.parse(me["space"]).value),
            principal=str(PrincipalId.parse(me["id"]).value),
            writer=0,
            count=crowd.count,
            topics=topics,
            every=1 / A_SECOND,
        )
        with _python("tests.scenarios.sse_clients") as clients:
            _say(clients, crowd.text())
            assert _line(clients) == "ready", house.log[-3000:]
            process = psutil.Process(server.pid)
            with _python("tests.scenarios.event_writer") as writer:
                _say(writer, job.text())
                time.sleep(SECONDS / 3)
                warm, before = process.memory_info().rss, process.cpu_times()
                began = time.monotonic()
                assert writer.wait() == 0
                after = process.cpu_times()
                busy = (after.user + after.system - before.user - before.system) / (
                    time.monotonic() - began
                )
            told = json.loads(_line(clients))
            end = process.memory_info().rss
        eventually(lambda: _readers(client) == 0, LEAVING)
        left = _readers(client)
        assert server.poll() is None
        # Not of its end: how long that may take is a matter of the clock.
        assert "Traceback" not in house.log, house.log[-3000:]
    return Soaked(told, warm, end, busy, left)


def _readers(client: httpx2.Client) -> int:
    figures = client.get(client.base_url.copy_with(path="/metrics")).text
    return int(float(re.findall(r"^portico_sse_clients\S* (\S+)$", figures, re.MULTILINE)[0]))


def _python(module: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _say(process: "subprocess.Popen[str]", text: str) -> None:
    stream = _there(process.stdin)
    stream.write(f"{text}\n")
    stream.close()


def _line(process: "subprocess.Popen[str]") -> str:
    return _there(process.stdout).readline().strip()


def _there(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def report(name: str, soaked: Soaked) -> str:
    told = soaked.told
    return (
        f"\nsse soak, {name}: {told['whole']} of {told['clients']} streams complete, "
        f"{told['delivered']} deliveries, {told['breaks']} forced disconnects, "
        f"{told['delivered'] / told['seconds']:.0f} deliveries/s, "
        f"late p50 {told['p50'] * 1000:.0f} ms, p99 {told['p99'] * 1000:.0f} ms, "
        f"server {soaked.busy:.2f} cores, "
        f"RSS {soaked.warm / 1e6:.0f} -> {soaked.end / 1e6:.0f} MB ({soaked.growth:+.1%})"
    )


@pytest.mark.requirement("http:events:soak")
@pytest.mark.parametrize("topics", [1, 100], ids=["one topic", "a hundred topics"])
def test_every_stream_is_complete_and_the_server_does_not_grow(
    house: Installation,
    topics: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = app_address(house, monkeypatch)

    soaked = soak(house, address, [f"soak-{number}" for number in range(topics)])

    with capsys.disabled():
        print(report("one topic" if topics == 1 else f"{topics} topics", soaked))
    assert soaked.told["faults"] == 0
    assert soaked.told["whole"] == CLIENTS
    assert soaked.told["breaks"] > SECONDS * BREAKS / 2
    assert soaked.growth < MOST_GROWTH
    assert soaked.left == 0


def never_left() -> None:
    """Nobody waits for a reader to go."""

    async def until_left(_: Connection, __: Receive) -> None:
        await asyncio.Event().wait()

    Connection.until_left = until_left  # type: ignore[assignment, method-assign] # a red run


@pytest.mark.planted
def test_once_nobody_sees_readers_go_the_same_check_finds_what_is_left_of_them(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A red run: what it is for that a stream sees its reader go."""
    address = app_address(house, monkeypatch)

    soaked = soak(house, address, ["soak-0"], never_left)

    assert soaked.told["whole"] == CLIENTS
    assert soaked.left > CLIENTS
