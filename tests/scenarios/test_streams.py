"""Streams of a real server: through a killed database, to its orderly end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx2
import pytest

from portico.kernel.ids import PrincipalId, SpaceId
from portico.main.ground import Ground
from tests.installation import Installation, installation
from tests.scenarios.event_writer import Job

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(240),
]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.fixture
def address(house: Installation, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in house.environment.items():
        if name.startswith("PORTICO_"):
            monkeypatch.setenv(name, value)
    return Ground().store.addresses.app


class Stream:
    """Read line by line, as they come."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def numbers(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            line = next(self._lines)
            if line.startswith("data: "):
                found.append(json.loads(line[6:])["facts"]["n"])
        return found

    def rest(self) -> list[str]:
        return list(self._lines)


def tell(house: Installation, address: str, count: int) -> None:
    with house.client() as client:
        me = client.get("/me").json()
    job = Job(
        address=address,
        space=str(SpaceId.parse(me["space"]).value),
        principal=str(PrincipalId.parse(me["id"]).value),
        writer=0,
        count=count,
        topics=["t"],
        every=0.001,
    )
    subprocess.run(
        [sys.executable, "-m", "tests.scenarios.event_writer"],
        input=job.text(),
        text=True,
        check=True,
        timeout=120,
    )


@pytest.mark.requirement("engine:events:gap-free")
def test_a_stream_lives_on_when_the_database_is_killed_under_it(
    house: Installation, address: str
) -> None:
    with (
        house.serving(),
        house.client() as client,
        client.stream("GET", "/events", params={"topics": "t"}, timeout=120) as response,
    ):
        stream = Stream(response)
        tell(house, address, 5)
        before = stream.numbers(5)

        os.kill(house.postmaster(), signal.SIGKILL)
        _healed(house)
        tell(house, address, 5)
        after = stream.numbers(5)

    assert (before, after) == (list(range(5)), list(range(5)))


@pytest.mark.requirement("http:events:shutdown")
def test_a_server_that_is_asked_to_end_lets_its_streams_go_at_once(
    house: Installation, address: str
) -> None:
    with house.serving() as server, house.client() as client:
        with client.stream("GET", "/events", params={"topics": "t"}, timeout=60) as response:
            stream = Stream(response)
            tell(house, address, 1)
            assert stream.numbers(1) == [0]
            server.send_signal(signal.SIGTERM)
            rest = stream.rest()
        code = server.wait(60)

    assert code == 0
    assert "event: end" not in rest
    assert "graceful" not in house.log


def _healed(house: Installation) -> None:
    deadline = time.monotonic() + 60
    while not house.ready():
        assert time.monotonic() < deadline, house.log[-3000:]
        time.sleep(0.05)
