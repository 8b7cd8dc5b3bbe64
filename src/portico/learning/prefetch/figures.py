"""What comes of calls made ahead, counted as it happens and written down a little later."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Final, Protocol

from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.ports import Servers, keep_written
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.core.prefetch.forms import EdgeKey
from portico.learning.core.prefetch.totals import (
    ALL_CALLS,
    CALLS,
    RAN,
    SAVED,
    SUGGESTED,
    AheadTotals,
    Waste,
    added_up,
)
from portico.learning.core.prefetch.wanted import Wanted
from portico.learning.graph.writing import at_label
from portico.learning.graph_ports import LearntCounts
from portico.learning.prefetch.news import AheadNews

_KEYS: Final = 10_000
"""Of a space and a label, that wait to be written; further ones are not counted."""
_EDGES: Final = 20_000
"""That it is remembered of whether they were live."""

Place = tuple[SpaceId, Label]


class AheadMeter(Protocol):
    """Counts for whoever looks after the machine: sums of the whole process."""

    def called(self) -> None: ...

    def predicted(self, *, live: bool) -> None: ...

    def tried(self) -> None: ...

    def served(self, saved: timedelta) -> None: ...

    def wasted(self, why: Waste) -> None: ...

    def refused(self, gate: str) -> None: ...


@dataclass(slots=True)
class _Noted:
    caller: Principal
    counts: dict[CountKey, Count] = field(default_factory=dict)
    turned: list[tuple[EdgeKey, bool]] = field(default_factory=list)
    untold: AheadTotals = field(default_factory=AheadTotals)

    def add(self, key: CountKey, count: Count) -> None:
        known = self.counts.get(key)
        if known is not None:
            self.counts[key] = known.and_then(count)
        elif len(self.counts) < _KEYS:
            self.counts[key] = count


@dataclass(slots=True, kw_only=True)
class AheadFigures:
    counts: LearntCounts
    servers: Servers
    news: AheadNews
    meter: AheadMeter
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    told_every: int = 5
    """Writings after which the sums are told as an event."""
    _noted: dict[Place, _Noted] = field(default_factory=dict)
    _live: OrderedDict[tuple[SpaceId, EdgeKey], bool] = field(default_factory=OrderedDict)
    _refused: OrderedDict[EdgeKey, str] = field(default_factory=OrderedDict)

    def called(self, caller: Principal, label: Label) -> None:
        """By a caller, for itself."""
        self.meter.called()
        self._count(self._of(caller, label), CALLS, ALL_CALLS, 1)

    def predicted(self, caller: Principal, label: Label, edge: EdgeKey, *, live: bool) -> None:
        """Whether or not it is then made."""
        self.meter.predicted(live=live)
        place = (caller.space, edge)
        was = self._live.get(place, live)
        self._live[place] = live
        self._live.move_to_end(place)
        while len(self._live) > _EDGES:
            self._live.popitem(last=False)
        if was is not live:
            self._of(caller, label).turned.append((edge, live))

    def tried(self, caller: Principal, label: Label, edge: EdgeKey | None) -> None:
        """Along no edge: because it was suggested."""
        self.meter.tried()
        if edge is not None:
            self._refused.pop(edge.way, None)
        self._count(self._of(caller, label), RAN, _key(edge), 1)

    def served(
        self,
        caller: Principal,
        label: Label,
        edge: EdgeKey | None,
        *,
        took: timedelta,
        waited: timedelta,
    ) -> None:
        """`took`: how long the call took; `waited`: how long whoever asked for it waited."""
        saved = max(timedelta(), took - waited)
        self.meter.served(saved)
        noted = self._of(caller, label)
        self._count(noted, RAN, _key(edge), hit=1)
        self._count(noted, SAVED, _key(edge), round(saved / timedelta(milliseconds=1)))

    def turned_down(self, wanted: Wanted, gate: str) -> None:
        """It was foretold, and not made because this gate was closed."""
        self.meter.refused(gate)
        if wanted.edge is not None:
            self._refused[wanted.edge.way] = gate
            while len(self._refused) > _EDGES:
                self._refused.popitem(last=False)

    @property
    def refused(self) -> Mapping[EdgeKey, str]:
        """By which gate each way was turned down in this process when it was last foretold."""
        return self._refused

    def wasted(self, why: Waste) -> None:
        """Why, is told to the meter only: what was made and not served is counted as it is."""
        self.meter.wasted(why)

    async def run(self) -> None:
        turns = count(1)

        async def in_turn() -> None:
            await self.write_down()
            if next(turns) % self.told_every == 0:
                await self.tell()

        await keep_written(self.every, in_turn, self.write_down)

    async def write_down(self) -> None:
        """What cannot be written now stays counted."""
        for (_, label), noted in list(self._noted.items()):
            writer = at_label(noted.caller, label)
            if noted.turned:
                turned, noted.turned = noted.turned, []
                await self.news.turned(writer, label, await self._named(writer, label, turned))
            counts, noted.counts = noted.counts, {}
            try:
                if counts:
                    await self.counts.learn(writer, label, counts)
            except PorticoError:
                for key, count in counts.items():
                    noted.add(key, count)
                raise
            rows = ((key.kind, count.tried, count.hit) for key, count in counts.items())
            noted.untold = noted.untold.and_then(added_up(rows))

    async def tell(self) -> None:
        """Where anything was made or served: that calls go on is no news."""
        for (space, label), noted in list(self._noted.items()):
            since = noted.untold
            if since.tried or since.served:
                await self.news.counted(at_label(noted.caller, label), label, since)
                noted.untold = AheadTotals()
            if not noted.counts and not noted.turned:
                del self._noted[space, label]

    async def _named(
        self, caller: Principal, label: Label, turned: list[tuple[EdgeKey, bool]]
    ) -> list[tuple[str, str, bool]]:
        """Without those of servers that are gone, or that not everybody who reads this knows of."""
        every = await self.servers.all(caller)
        names = {server.id: server.name for server in every if label.covers(server.label)}

        def named(place: ToolPlace | None) -> str | None:
            if place is None:
                return ""
            name = names.get(place.server)
            return None if name is None else f"{name}.{place.tool}"

        return [*_known((named(edge.last), named(edge.form.tool), live) for edge, live in turned)]

    def _count(self, noted: _Noted, kind: str, key: str, tried: int = 0, *, hit: int = 0) -> None:
        noted.add(CountKey.of(kind, key), Count(tried, hit, self.clock.now()))

    def _of(self, caller: Principal, label: Label) -> _Noted:
        return self._noted.setdefault((caller.space, label), _Noted(caller))


def _key(edge: EdgeKey | None) -> str:
    return SUGGESTED if edge is None else str(edge)


def _known(
    found: Iterator[tuple[str | None, str | None, bool]],
) -> Iterator[tuple[str, str, bool]]:
    for after, tool, live in found:
        if after is not None and tool is not None:
            yield after, tool, live
