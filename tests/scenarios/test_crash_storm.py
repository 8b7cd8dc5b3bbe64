"""The database is killed again and again under four writers, and nothing that was said is lost."""

import os
import random
import signal
import threading
import time
from statistics import median

import httpx2
import pytest

from tests.installation import Installation

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
KILLS = 50 if FULL_SIZE else 6
WRITERS = 4
DEADLINE = 15.0 if FULL_SIZE else 60.0

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(1800 if FULL_SIZE else 400),
]


class Writer(threading.Thread):
    """Adds agents one after another, repeating each under its key until it is acknowledged."""

    def __init__(self, house: Installation, number: int) -> None:
        super().__init__(daemon=True)
        self._house = house
        self._number = number
        self.acknowledged: list[str] = []
        self.retries = 0
        self.done = threading.Event()

    def run(self) -> None:
        with self._house.client() as client:
            while not self.done.is_set():
                name = f"agent {self._number}-{len(self.acknowledged)}"
                while not self.done.is_set() and not self._written(client, name):
                    self.retries += 1
                    time.sleep(0.05)

    def _written(self, client: httpx2.Client, name: str) -> bool:
        try:
            answer = client.post(
                "/principals",
                json={"kind": "agent", "name": name},
                headers={"Idempotency-Key": name.replace(" ", "-")},
            )
        except httpx2.TransportError:
            return False
        if answer.status_code == 201:
            self.acknowledged.append(name)
        else:
            assert answer.status_code == 503, answer.text
        return answer.status_code == 201


@pytest.mark.requirement("postgres:heals:storm")
def test_every_acknowledged_row_survives_a_storm_of_kills_and_the_server_heals_itself(
    house: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(3)
    healed: list[float] = []

    with house.serving() as server:
        writers = [Writer(house, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.1, 0.8))
            healed.append(_killed_and_healed(house, writers))
        for writer in writers:
            writer.done.set()
        for writer in writers:
            writer.join(60)
        assert server.poll() is None
        stored = _everybody(house)

    acknowledged = [name for writer in writers for name in writer.acknowledged]
    with capsys.disabled():
        print(
            f"\nstorm: {KILLS} kills, {len(acknowledged)} acknowledged rows, "
            f"{sum(writer.retries for writer in writers)} retries, "
            f"healed in {median(healed):.1f} s (median), {max(healed):.1f} s (most)"
        )
    assert len(acknowledged) > KILLS
    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))
    assert max(healed) <= DEADLINE


def _killed_and_healed(house: Installation, writers: list[Writer]) -> float:
    """Seconds from the kill to the next acknowledged row of every writer."""
    before = [len(writer.acknowledged) for writer in writers]
    os.kill(house.postmaster(), signal.SIGKILL)
    started = time.monotonic()
    while any(len(w.acknowledged) <= b + 1 for w, b in zip(writers, before, strict=True)):
        assert time.monotonic() - started < DEADLINE + 5, house.log[-3000:]
        time.sleep(0.01)
    return time.monotonic() - started


def _everybody(house: Installation) -> list[str]:
    names: list[str] = []
    after = None
    with house.client() as client:
        while True:
            query = {"limit": 200} | ({"after": after} if after else {})
            page = client.get("/principals", params=query).json()
            names += [each["name"] for each in page["data"]]
            after = page["next"]
            if after is None:
                return names
