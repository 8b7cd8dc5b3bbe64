"""The database is killed again and again under four writers, and nothing that was said is lost."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Survived:
    writers: Sequence[Writer]
    stored: Sequence[str]
    healed: Sequence[float]
    """Seconds, after each kill."""

    @property
    def acknowledged(self) -> list[str]:
        return [name for writer in self.writers for name in writer.acknowledged]

    def faults(self) -> list[str]:
        found = [f"{name} was lost" for name in set(self.acknowledged) - set(self.stored)]
        twice = Counter(self.stored) - Counter(set(self.stored))
        return found + [f"{name} is there twice" for name in twice]


def storm(house: Installation) -> Survived:
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
        return Survived(writers, _everybody(house), healed)


@pytest.mark.requirement("postgres:heals:storm")
def test_every_acknowledged_row_survives_a_storm_of_kills_and_the_server_heals_itself(
    house: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    found = storm(house)

    with capsys.disabled():
        print(
            f"\nstorm: {KILLS} kills, {len(found.acknowledged)} acknowledged rows, "
            f"{sum(writer.retries for writer in found.writers)} retries, "
            f"healed in {median(found.healed):.1f} s (median), {max(found.healed):.1f} s (most)"
        )
    assert len(found.acknowledged) > KILLS
    assert found.faults() == []
    assert max(found.healed) <= DEADLINE


@pytest.mark.planted
def test_once_a_commit_does_not_wait_for_its_log_the_same_check_finds_what_was_lost(
    house: Installation,
) -> None:
    """A red run: what it is for that PostgreSQL writes before it answers."""
    with (house.data / "postgresql.conf").open("a") as settings:
        settings.write("synchronous_commit = off\nwal_writer_delay = 10s\n")

    assert any("was lost" in fault for fault in storm(house).faults())


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
