"""What was learnt of what comes next, by label: at hand in memory, and written down a little later.

A layer is read from the store when it is first needed, and again from time to time, for what other
processes have learnt.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Final

from portico.gateway.ports import keep_written
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.core.prefetch.layer import Increment, Layer, added_up
from portico.learning.graph.writing import at_label
from portico.learning.graph_ports import LearntCounts

_AT_ONCE: Final = 500
"""Rows that are put in before others have their turn."""
_WAITING: Final = 20_000
"""Increments of a label that wait to be written; further ones are only in memory."""
_TOGETHER: Final = 8
"""Layers that one task is told from."""
_ROWS: Final = 20_000
"""Of a kind, that are read, and that stay."""
_TRIMMED: Final = 100
"""Writings of a label between two times that the others are taken away."""

Spot = tuple[SpaceId, Label]


@dataclass(slots=True)
class _Kept:
    layer: Layer
    read_at: float
    rows: int


@dataclass(slots=True)
class _Labels:
    known: Sequence[Label]
    read_at: float


@dataclass(slots=True, kw_only=True)
class Layers:
    counts: LearntCounts
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    again: timedelta = timedelta(minutes=5)
    most: int = 64
    """Layers in memory."""
    most_rows: int = 200_000
    """In all of them, as they were read."""
    _kept: OrderedDict[Spot, _Kept] = field(default_factory=OrderedDict)
    _labels: OrderedDict[Spot, _Labels] = field(default_factory=OrderedDict)
    _waiting: dict[Spot, tuple[Principal, list[Increment]]] = field(default_factory=dict)
    _writings: Counter[Spot] = field(default_factory=Counter)
    _took: float = 0.0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever writes or reads: so that nothing is counted twice, or not at all."""

    async def of(self, caller: Principal, label: Label) -> Layer:
        """That of exactly this label, in the caller's space, whoever the caller is."""
        spot = (caller.space, label)
        kept = self._kept.get(spot)
        if kept is None or self._old(kept.read_at):
            async with self._turn:
                kept = self._kept[spot] = await self._read(caller, label)
        self._kept.move_to_end(spot)
        while len(self._kept) > 1 and self._too_much():
            self._kept.popitem(last=False)
        return kept.layer

    def reading_took(self) -> float:
        """Seconds of work since this was last asked."""
        took, self._took = self._took, 0.0
        return took

    async def covered(self, caller: Principal, label: Label) -> Sequence[Layer]:
        """Those of labels that this one covers, its own first: what a task that has read so much
        may be told."""
        spot = (caller.space, label)
        found = self._labels.get(spot)
        if found is None or self._old(found.read_at):
            known = await self.counts.labels(at_label(caller, label))
            found = self._labels[spot] = _Labels(known, monotonic())
        self._labels.move_to_end(spot)
        while len(self._labels) > self.most:
            self._labels.popitem(last=False)
        mine = {its for space, its in [*self._kept, *self._waiting] if space == caller.space}
        below = sorted(
            (its for its in {*found.known, *mine} - {label} if label.covers(its)), key=str
        )
        return [await self.of(caller, its) for its in [label, *below][:_TOGETHER]]

    def learnt(self, caller: Principal, label: Label, increments: Iterable[Increment]) -> None:
        """It is in its layer already."""
        _, waiting = self._waiting.setdefault((caller.space, label), (caller, []))
        waiting += [*increments][: max(0, _WAITING - len(waiting))]

    async def write_down(self) -> None:
        """What cannot be written now stays to be written."""
        for spot in [*self._waiting]:
            async with self._turn:
                caller, waiting = self._waiting.pop(spot)
                try:
                    await self._write(caller, spot[1], waiting)
                except PorticoError:
                    since = self._waiting.get(spot, (caller, []))[1]
                    self._waiting[spot] = (caller, [*waiting, *since][:_WAITING])
                    raise

    async def run(self) -> None:
        await keep_written(self.every, self.write_down)

    async def _write(self, caller: Principal, label: Label, waiting: Sequence[Increment]) -> None:
        now = self.clock.now()
        counted = {
            CountKey.of(each.kind, each.key): Count(each.tried, each.hit, now)
            for each in added_up(waiting).values()
        }
        writer, spot = at_label(caller, label), (caller.space, label)
        await self.counts.learn(writer, label, counted)
        if self._writings[spot] % _TRIMMED == 0:
            await self.counts.trim(writer, label, _ROWS)
        self._writings[spot] += 1

    async def _read(self, caller: Principal, label: Label) -> _Kept:
        layer = Layer(label)
        rows = await self.counts.known(at_label(caller, label), label, _ROWS)
        for start in range(0, len(rows), _AT_ONCE):
            began, some = monotonic(), rows[start : start + _AT_ONCE]
            layer.add(Increment(key.kind, key.key, its.tried, its.hit) for key, its in some)
            self._took += monotonic() - began
            await asyncio.sleep(0)  # others go on in between
        layer.add(self._waiting.get((caller.space, label), (caller, []))[1])
        return _Kept(layer, monotonic(), len(rows))

    def _too_much(self) -> bool:
        rows = sum(each.rows for each in self._kept.values())
        return len(self._kept) > self.most or rows > self.most_rows

    def _old(self, read_at: float) -> bool:
        return monotonic() - read_at >= self.again.total_seconds()
