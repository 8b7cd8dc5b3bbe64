"""The edges that calls ahead go along, each with how often it was right and what it has won."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.learning.core.learnt_count import Count
from portico.learning.core.prefetch.forms import EdgeKey
from portico.learning.core.prefetch.layer import RECORD
from portico.learning.core.prefetch.records import EdgeRecord, lower_bound
from portico.learning.core.prefetch.totals import AheadTotals, added_up


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadEdge:
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
    totals: AheadTotals
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
) -> Sequence[AheadEdge]:
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
) -> AheadEdge:
    predicted = sum(count.tried for count in row.records.values())
    right = sum(count.hit for count in row.records.values())
    return AheadEdge(
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
