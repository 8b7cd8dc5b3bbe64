"""Totals of prefetching, and the table of edges that it reads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.learning.core.observation import RECORD, Count
from portico.learning.core.observed_calls import EdgeKey
from portico.learning.core.prefetch_predictor import EdgeRecord, lower_bound

CALLS: Final = "figure.calls"
"""The kind of count of the calls that callers made: how many, and how many of them were served."""
RAN: Final = "figure.ran"
"""Of the calls that were made ahead along an edge, and of those that were then asked for."""
SAVED: Final = "figure.saved"
"""Of the milliseconds that callers did not wait along an edge."""
FIGURES: Final = (CALLS, RAN, SAVED)

ALL_CALLS: Final = '"all"'
"""The key of the one count of calls that there is."""
SUGGESTED: Final = '"suggested"'
"""Where the key of an edge would stand, of calls that a suggested plan would make."""


class WasteReason(StrEnum):
    """Why what was made ahead was not served."""

    EXPIRED = "expired"
    """Nobody asked for it in time."""
    CHANGED = "changed"
    """Something was written, or its server has changed, so that it may not be true any more."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """It took too long, a call that somebody waits for took its place, or whoever had joined it
    went away."""
    SWITCHED = "switched"
    """Somebody has switched it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchTotals:
    calls: int = 0
    """That callers made."""
    tried: int = 0
    """That were made ahead."""
    served: int = 0
    """Of these, those that were asked for, exactly so, in time."""
    saved: timedelta = timedelta()
    """What callers did not have to wait."""

    @property
    def coverage(self) -> float | None:
        """Of all calls, those that were served."""
        return self.served / self.calls if self.calls else None

    @property
    def exact(self) -> float | None:
        """Of those made ahead, those that were served."""
        return self.served / self.tried if self.tried else None

    @property
    def wasted(self) -> int:
        """Nobody has asked for these, or not yet."""
        return max(0, self.tried - self.served)

    @property
    def waste(self) -> float | None:
        """Calls that were made for nothing, for each call that somebody made."""
        return self.wasted / self.calls if self.calls else None

    def and_then(self, other: "PrefetchTotals") -> "PrefetchTotals":
        return PrefetchTotals(
            calls=self.calls + other.calls,
            tried=self.tried + other.tried,
            served=self.served + other.served,
            saved=self.saved + other.saved,
        )


def added_up(counted: Iterable[tuple[str, int, int]]) -> PrefetchTotals:
    """`counted`: kind, how often tried, how often it was so."""
    calls = tried = served = milliseconds = 0
    for kind, times, hit in counted:
        if kind == CALLS:
            calls += times
        elif kind == RAN:
            tried, served = tried + times, served + hit
        elif kind == SAVED:
            milliseconds += times
    return PrefetchTotals(
        calls=calls, tried=tried, served=served, saved=timedelta(milliseconds=milliseconds)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchEdge:
    before: ToolRef | None
    """Called before the last; None where that is not looked at."""
    after: ToolRef | None
    """Called last; None where nothing was called yet."""
    failed: bool
    """Whether the last had failed."""
    tool: ToolRef
    """What is foretold."""
    arguments: tuple[str, ...]
    """The names of what it is given."""
    predicted: int
    right: int
    at_least: float
    """What the share of those that were right is at least, as far as can be told by now."""
    live: bool
    turned_down: str | None
    """The gate that was closed when it was last foretold; None if it was made, or is not live."""
    totals: PrefetchTotals
    last_seen: datetime


@dataclass(slots=True)
class _Row:
    last_seen: datetime
    records: dict[EdgeKey, Count] = field(default_factory=dict)
    figures: list[tuple[str, int, int]] = field(default_factory=list)


def edge_table(
    counted: Iterable[tuple[str, str, Count]],
    names: Mapping[ToolPlace, ToolRef],
    refused: Mapping[EdgeKey, str],
) -> Sequence[PrefetchEdge]:
    """One for each way from tool to tool, however sure each single time was; those foretold most
    often first, without those that lead over a tool which has no name here. `refused` is by way."""
    rows: dict[EdgeKey, _Row] = {}
    for kind, key, count in counted:
        edge = _edge(key)
        if edge is None:
            continue
        row = rows.setdefault(edge.way, _Row(count.last_seen))
        row.last_seen = max(row.last_seen, count.last_seen)
        if kind == RECORD:
            known = row.records.get(edge)
            row.records[edge] = count if known is None else known.and_then(count)
        else:
            row.figures.append((kind, count.tried, count.hit))
    found = [_told(edge, row, names, refused) for edge, row in rows.items() if _known(edge, names)]
    return sorted(found, key=lambda edge: (-edge.predicted, str(edge.tool), str(edge.after)))


def _told(
    edge: EdgeKey, row: _Row, names: Mapping[ToolPlace, ToolRef], refused: Mapping[EdgeKey, str]
) -> PrefetchEdge:
    predicted = sum(count.tried for count in row.records.values())
    right = sum(count.hit for count in row.records.values())
    return PrefetchEdge(
        before=None if edge.before is None else names[edge.before],
        after=None if edge.last is None else names[edge.last],
        failed=edge.failed,
        tool=names[edge.form.tool],
        arguments=edge.form.names,
        predicted=predicted,
        right=right,
        at_least=lower_bound(right, predicted),
        live=any(EdgeRecord(key, its.tried, its.hit).live for key, its in row.records.items()),
        turned_down=refused.get(edge),
        totals=added_up(row.figures),
        last_seen=row.last_seen,
    )


def _known(edge: EdgeKey, names: Mapping[ToolPlace, ToolRef]) -> bool:
    places = (edge.before, edge.last, edge.form.tool)
    return all(place is None or place in names for place in places)


def _edge(key: str) -> EdgeKey | None:
    try:
        return EdgeKey.parse(key)
    except ValueError:
        return None
