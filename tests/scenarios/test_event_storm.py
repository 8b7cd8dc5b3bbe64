"""Eight processes tell into shared topics, twenty readers come and go: no gap, nothing twice."""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from portico.adapters.crypto import AesSivSeal
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.event_log import Entry, EphemeralEvent, NewEntry
from portico.engine.event_log import Cursors, Tails
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey
from portico.kernel.principal import Principal
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import SeededEntropy
from tests.contracts.doors import PEPPER, a_key
from tests.scenarios.event_writer import Job

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WRITERS = 8
EVENTS = 20_000 if FULL_SIZE else 500
READERS = 20
TOPICS = [f"topic-{number}" for number in range(6)]
QUIET = 12.0
"""Seconds without news after which a reader that misses something gives up."""

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(1800 if FULL_SIZE else 300),
]

Told = tuple[int, int]


class Lines:
    """A wording that is quickly read: `cursor topic writer n` a line."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        facts = happened.details
        return f" {happened.topic} {facts.get('writer')} {facts.get('n')}\n".encode()

    def marked(self, cursor: str, told: bytes) -> bytes:
        return cursor.encode() + told

    def trimmed(self, topic: str) -> bytes:
        raise AssertionError(topic)


@dataclass(frozen=True)
class Storm:
    """What each reader was told of each topic, and what there was to tell."""

    seen: Sequence[Mapping[str, Sequence[Told]]]
    truth: Mapping[str, Sequence[tuple[int, Told]]]
    breaks: int
    seconds: float

    def faults(self) -> list[str]:
        found = []
        for topic, entries in self.truth.items():
            numbers = [number for number, _ in entries]
            if numbers != list(range(1, len(numbers) + 1)):
                found.append(f"{topic}: its numbers have a gap or come twice")
        for place, reader in enumerate(self.seen):
            for topic, told in reader.items():
                true = [each for _, each in self.truth[topic]]
                if list(told) != true:
                    missed, twice = len(set(true) - set(told)), len(told) - len(set(told))
                    found.append(f"reader {place} of {topic}: missed {missed}, twice {twice}")
        return found


class Reader:
    """Reads some of what it is given, leaves, and comes again by its last cursor."""

    def __init__(self, tails: Tails, caller: Principal, number: int) -> None:
        self._chance = random.Random(1000 + number)
        self._tails = tails
        self._caller = caller
        self._topics = self._chance.sample(TOPICS, self._chance.choice([1, 1, 2, len(TOPICS)]))
        self._cursors = Cursors.of(AesSivSeal.from_pepper(PEPPER), caller.space, self._topics)
        self._cursor: str | None = None
        self.seen: defaultdict[str, list[Told]] = defaultdict(list)
        self.breaks = 0

    async def read(self, enough: Callable[[Mapping[str, Sequence[Told]]], bool]) -> None:
        for topic in self._topics:
            self.seen[topic] = []
        while not await self._sit(enough):
            self.breaks += 1

    async def _sit(self, enough: Callable[[Mapping[str, Sequence[Told]]], bool]) -> bool:
        """False when it left in the middle of something."""
        positions = dict.fromkeys(self._topics, 0)
        if self._cursor is not None:
            positions = self._cursors.positions(self._cursor)
        left = self._chance.randint(20, 2_000)
        async with self._tails.follow(self._caller, positions) as subscription:
            while True:
                lines = (await subscription.more()).splitlines()
                for line in lines[:left]:
                    cursor, topic, writer, number = line.decode().split(" ")
                    self.seen[topic].append((int(writer), int(number)))
                    self._cursor = cursor
                left -= len(lines)
                if left <= 0:
                    return False
                if not lines:
                    if enough(self.seen):
                        return True
                    await _news(subscription.stirred)


async def _news(stirred: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(0.5):
            await stirred()
    except TimeoutError:
        return


async def storm(addresses: Addresses, *, locked: bool, events: int = EVENTS) -> Storm:
    started = time.monotonic()
    bus = PostgresBus(addresses.app, system_entropy)
    async with open_pool(addresses.app, 10) as pool:
        transactions = Transactions(pool)
        caller = await _founded(transactions)
        log = PostgresEventLog(transactions, bus, SystemClock(), system_entropy)
        if not locked:
            await _opened(addresses, log, caller)
        tails = Tails(
            log=log, bus=bus, seal=AesSivSeal.from_pepper(PEPPER), wording=Lines(), look=1.0
        )
        listening = asyncio.create_task(bus.run())
        readers = [Reader(tails, caller, number) for number in range(READERS)]
        written = asyncio.Event()
        ends: dict[str, int] = {}
        quiet = _Quiet()

        def enough(seen: Mapping[str, Sequence[Told]]) -> bool:
            if not written.is_set():
                return False
            whole = all(len(told) >= ends[topic] for topic, told in seen.items())
            return whole or quiet.lasts(sum(map(len, seen.values())), id(seen))

        async with asyncio.TaskGroup() as everybody:
            for reader in readers:
                everybody.create_task(reader.read(enough))
            await asyncio.to_thread(_written, addresses, caller, locked, events)
            truth = _truth(addresses)
            ends.update({topic: len(truth[topic]) for topic in TOPICS})
            written.set()
        assert tails.size == (0, 0)
        listening.cancel()
        await asyncio.wait([listening])
    took = time.monotonic() - started
    return Storm([r.seen for r in readers], truth, sum(r.breaks for r in readers), took)


class _Quiet:
    """Whether a reader has had no news for a while."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, float]] = {}

    def lasts(self, count: int, reader: int) -> bool:
        before, since = self._last.get(reader, (-1, 0.0))
        if before != count:
            self._last[reader] = (count, time.monotonic())
            return False
        return time.monotonic() - since > QUIET


async def _founded(transactions: Transactions) -> Principal:
    space = a_space("home")
    admin = an_identity("root", space=space)
    key = ApiKey.mint(SeededEntropy("first key"))
    await PostgresSpaces(transactions).found(space, admin, a_key(admin, key), key.digest(PEPPER))
    return as_principal(admin)


async def _opened(addresses: Addresses, log: PostgresEventLog, caller: Principal) -> None:
    """The topics are there before anybody writes: only the lock on them is missing."""
    for topic in TOPICS:
        await log.append(caller, [NewEntry(topic=topic, type="storm.told")])
    with psycopg.connect(str(addresses.owner)) as owner:
        owner.execute("DELETE FROM portico.event")
        owner.execute("UPDATE portico.stream SET last = 0")


def _written(addresses: Addresses, caller: Principal, locked: bool, events: int) -> None:
    with ExitStack() as opened:
        writers = []
        for number in range(WRITERS):
            job = Job(
                address=addresses.app,
                space=str(caller.space.value),
                principal=str(caller.id.value),
                writer=number,
                count=events,
                topics=TOPICS,
                locked=locked,
            )
            writers.append(opened.enter_context(_writer(job)))
        for process in writers:
            code = process.wait()
            assert process.stderr is not None
            assert code == 0, process.stderr.read()


@contextmanager
def _writer(job: Job) -> Iterator[subprocess.Popen[str]]:
    """Gone afterwards, also when another has failed: who is left behind is counted elsewhere."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.scenarios.event_writer"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(job.text())
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def _truth(addresses: Addresses) -> Mapping[str, list[tuple[int, Told]]]:
    truth: dict[str, list[tuple[int, Told]]] = {topic: [] for topic in TOPICS}
    with psycopg.connect(str(addresses.owner)) as owner:
        rows = owner.execute(
            "SELECT topic, number, facts::text FROM portico.event ORDER BY topic, number, at"
        )
        for topic, number, text in rows:
            facts = json.loads(text)
            truth[topic].append((number, (facts["writer"], facts["n"])))
    return truth


@pytest.mark.requirement("engine:events:gap-free")
async def test_every_reader_has_every_event_once_and_in_order(
    embedded_database: Addresses, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await storm(embedded_database, locked=True)

    told = [each for entries in found.truth.values() for _, each in entries]
    with capsys.disabled():
        print(
            f"\nevent storm: {WRITERS} processes x {EVENTS} events in {len(TOPICS)} topics, "
            f"{READERS} readers, {found.breaks} breaks, "
            f"{sum(len(t) for r in found.seen for t in r.values())} deliveries, "
            f"{found.seconds:.1f} s, {len(told) / found.seconds:.0f} events/s"
        )
    assert sorted(told) == [(w, n) for w in range(WRITERS) for n in range(EVENTS)]
    assert found.faults() == []
    assert found.breaks > READERS


@pytest.mark.planted
async def test_without_the_lock_on_a_topic_the_same_check_finds_faults(
    embedded_database: Addresses,
) -> None:
    found = await storm(embedded_database, locked=False, events=500)

    assert found.faults() != []
