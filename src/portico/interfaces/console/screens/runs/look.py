"""What the list of runs is drawn from: a page of them, and beside it what names and costs take, in
a few questions however long the page is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from starlette.requests import Request

from portico.agents.core.traces import RunTrace, TraceFilter
from portico.engine.core.runs import Run
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.runs.view import (
    STATUSES,
    Chip,
    Known,
    Line,
    Show,
    address,
    chips,
    kind_of,
    line,
    show_of,
)
from portico.interfaces.http import run_positions
from portico.interfaces.http.paging import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId

PLACE: Final = "runs"
_MOST: Final = 40
_PEOPLE: Final = 500
"""Principals whose names are looked up at once; of others the end of their id is shown."""
_DEBATES: Final = 100
_BESIDE: Final = 2
"""So many times more of what they were started for are looked through: others may be in between."""
_MOMENT: Final = timedelta(seconds=5)
"""A trace is begun a moment after its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    show: Show
    kind: str | None
    lines: Sequence[Line]
    chips: Sequence[Chip]
    older: str | None
    part: str
    """Where this list is asked for again."""
    first: bool
    """Whether it begins with the newest."""

    @property
    def cancellable(self) -> bool:
        return any(each.may_cancel for each in self.lines)


async def listed(desk: Desk, request: Request) -> Listed:
    """Raises `NotPermitted`, `BadCursor`."""
    asked = request.query_params
    show, kind, after = show_of(asked.get("show")), kind_of(asked.get("kind")), asked.get("after")
    found = await desk.house.use.list_runs(
        desk.caller,
        statuses=STATUSES[show],
        kind=kind,
        before=run_positions.read(position(after)),
        limit=_MOST,
    )
    runs = [run for run, _ in found]
    known = Known(
        names=await _names(desk, runs),
        traces=await _traces(desk, runs),
        questions=await _questions(desk, runs),
        tools=await _tools(desk, runs),
    )
    last = run_positions.written(runs[-1].position) if runs else ""
    cursor = next_cursor(found, _MOST, last)
    return Listed(
        show=show,
        kind=kind,
        lines=[line(run, over, known, desk.caller, desk.now) for run, over in found],
        chips=chips(show, kind),
        older=None if cursor is None else address("/runs", show, kind, cursor),
        part=address("/runs/list", show, kind, after),
        first=after is None,
    )


async def _names(desk: Desk, runs: Sequence[Run]) -> Mapping[str, str]:
    if all(run.principal == desk.caller.id for run in runs):
        return {}
    with suppress(PorticoError):
        found = await desk.house.use.list_principals(desk.caller, after=None, limit=_PEOPLE)
        return {str(each.id): each.name for each in found}
    return {}


async def _traces(desk: Desk, runs: Sequence[Run]) -> Mapping[RunId, RunTrace]:
    agents = [run for run in runs if run.kind == "agent"]
    if not agents:
        return {}
    which = TraceFilter(since=agents[-1].created_at - _MOMENT, until=agents[0].created_at + _MOMENT)
    with suppress(PorticoError):
        found = await desk.house.agents.list_traces(
            desk.at(PLACE), which, before=None, limit=len(agents) + 10
        )
        return {trace.run: trace for trace in found}
    return {}


async def _questions(desk: Desk, runs: Sequence[Run]) -> Mapping[RunId, str]:
    if not any(run.kind in {"debate", "analysis"} for run in runs):
        return {}
    with suppress(PorticoError):
        found = await desk.house.debates.look.page(desk.at(PLACE), limit=_DEBATES)
        return {debate.run: debate.question.text for debate in found}
    return {}


async def _tools(desk: Desk, runs: Sequence[Run]) -> Mapping[RunId, str]:
    named = _approvals([run for run in runs if run.kind == "approved_call"])
    if not named:
        return {}
    with suppress(PorticoError):
        found = await desk.house.gateway.approvals.list_approvals(
            desk.at(PLACE), before=_above(named), limit=_BESIDE * len(named)
        )
        return {asked.run: f"{asked.tool} for {asked.asker.name}" for asked in found}
    return {}


def _approvals(runs: Sequence[Run]) -> Sequence[ApprovalId]:
    """What these runs were started for."""
    found: list[ApprovalId] = []
    for run in runs:
        with suppress(PorticoError):
            found.append(ApprovalId.parse(str(run.input.get("approval"))))
    return found


def _above(ids: Sequence[ApprovalId]) -> ApprovalId:
    """What the newest of them comes right after, in a list that begins with the newest."""
    return ApprovalId(UUID(int=max(each.value.int for each in ids) + 1))
