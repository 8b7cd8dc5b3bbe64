"""What was learnt of what comes next: at hand by label, written down, and read again."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.core.prefetch.layer import FOLLOWS, Increment
from portico.learning.prefetch.layers import Layers
from portico.testing.learning import MemoryLearntCounts
from portico.testing.memory_store import MemoryWorld, TickingClock
from tests.gateway.open_room import ANA

TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL, frozenset({"hr"}))
ONCE = Increment(FOLLOWS, '["a","b"]', 1, 1)


class Counts(MemoryLearntCounts):
    """A store that can be away, and notes how it is read and trimmed."""

    def __init__(self) -> None:
        super().__init__(MemoryWorld())
        self.away, self.reads = False, 0
        self.trims: list[tuple[Label, int]] = []

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        if self.away:
            raise StoreUnavailable("no database")
        await super().learn(caller, label, counted)

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        self.reads += 1
        return await super().known(caller, label, most, kinds)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        assert caller.clearance.covers(label)
        self.trims.append((label, most))


@pytest.fixture
def counts() -> Counts:
    return Counts()


def some_layers(counts: MemoryLearntCounts) -> Layers:
    return Layers(counts=counts, clock=TickingClock())


async def learn(layers: Layers, label: Label, times: int = 1) -> None:
    layer = await layers.of(ANA, label)
    layer.add([ONCE] * times)
    layers.learnt(ANA, label, [ONCE] * times)


async def tried(layers: Layers, label: Label) -> int:
    return sum(each.tried for each in (await layers.of(ANA, label)).counted())


async def test_what_is_learnt_in_one_process_is_known_to_the_next(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM, 3)
    assert await tried(some_layers(counts), TEAM) == 0

    await layers.write_down()
    await layers.write_down()

    assert await tried(layers, TEAM) == 3
    assert await tried(some_layers(counts), TEAM) == 3


async def test_what_was_read_again_has_what_is_not_written_yet(counts: Counts) -> None:
    layers, other = some_layers(counts), some_layers(counts)
    await learn(layers, TEAM)
    await learn(other, TEAM, 5)
    await other.write_down()

    layers.again = timedelta(0)

    assert await tried(layers, TEAM) == 6


async def test_what_cannot_be_written_now_is_written_later(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM, 2)
    counts.away = True
    with pytest.raises(StoreUnavailable):
        await layers.write_down()
    counts.away = False
    await learn(layers, TEAM)

    await layers.write_down()

    assert await tried(some_layers(counts), TEAM) == 3


async def test_a_task_is_told_what_was_learnt_at_labels_that_its_own_covers(counts: Counts) -> None:
    layers = some_layers(counts)
    for label in (PUBLIC, TEAM, SECRET):
        await learn(layers, label)
    await layers.write_down()

    for known in (layers, some_layers(counts)):
        for label, below in (
            (PUBLIC, [PUBLIC]),
            (TEAM, [TEAM, PUBLIC]),
            (SECRET, [SECRET, PUBLIC, TEAM]),
        ):
            assert [its.label for its in await known.covered(ANA, label)] == below


async def test_what_is_learnt_by_the_end_is_written_down_in_the_end(counts: Counts) -> None:
    layers = some_layers(counts)
    layers.every = timedelta(0)
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(layers.run())
        await learn(layers, TEAM)
        for _ in range(5):
            await asyncio.sleep(0)
        await learn(layers, PUBLIC)
        writing.cancel()

    assert await tried(some_layers(counts), TEAM) == 1
    assert await tried(some_layers(counts), PUBLIC) == 1


async def test_another_space_knows_nothing_of_it(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, PUBLIC)
    other = replace(ANA, space=type(ANA.space).of_digest(b"another"))

    assert (await layers.of(other, PUBLIC)).size == 0


async def test_only_so_many_are_kept_in_memory_and_so_much_waits(counts: Counts) -> None:
    layers = some_layers(counts)
    layers.most = 8
    for number in range(12):
        await learn(layers, Label(Level.TEAM, frozenset({f"c{number}"})))
        await layers.covered(ANA, Label(Level.TEAM, frozenset({f"c{number}"})))
    layers.learnt(ANA, PUBLIC, [ONCE] * 30_000)

    assert (len(layers._kept), len(layers._labels)) == (8, 8)
    assert len(layers._waiting[ANA.space, PUBLIC][1]) == 20_000


async def test_what_is_in_use_is_read_once_and_only_so_much_is_kept(counts: Counts) -> None:
    layers = some_layers(counts)
    labels = [Label(Level.TEAM, frozenset({f"c{number}"})) for number in range(20)]
    for label in labels:
        await learn(layers, label)
    await layers.write_down()
    for _ in range(3):
        for label in labels:
            await layers.of(ANA, label)
    assert counts.reads == 20
    layers = Layers(counts=counts, clock=TickingClock(), most_rows=2)

    for _ in range(2):
        for label in labels[:2]:
            await layers.of(ANA, label)
    assert counts.reads == 22
    for label in (*labels[:3], labels[0]):
        await layers.of(ANA, label)

    assert counts.reads == 24


async def test_it_is_told_once_how_long_reading_took(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM)
    await layers.write_down()
    layers = some_layers(counts)
    await layers.of(ANA, TEAM)

    assert layers.reading_took() > 0
    assert layers.reading_took() == 0


async def test_of_each_label_only_so_much_stays(counts: Counts) -> None:
    layers = some_layers(counts)
    for _ in range(101):
        layers.learnt(ANA, TEAM, [ONCE])
        await layers.write_down()
    layers.learnt(ANA, SECRET, [ONCE])
    await layers.write_down()

    assert counts.trims == [(TEAM, 20_000), (TEAM, 20_000), (SECRET, 20_000)]
