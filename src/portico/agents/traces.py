"""Traces: list, show, export."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from portico.agents.core.traces import (
    ModelStats,
    RunTrace,
    ToolStats,
    TraceFilter,
    TracePlace,
    WholeTrace,
)
from portico.agents.ports import Traces
from portico.agents.runs import seen
from portico.engine.core.errors import RunNotFound
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import join
from portico.kernel.principal import Principal


class TraceReports(Protocol):
    """What was written down of runs, to look at; above the caller's clearance there is nothing.

    `of` is whose runs are seen: whoever started them; None is everybody.
    """

    async def page(
        self,
        caller: Principal,
        which: TraceFilter,
        *,
        of: PrincipalId | None,
        before: TracePlace | None,
        limit: int,
    ) -> Sequence[RunTrace]:
        """Newest first."""
        ...

    async def tools(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ToolStats]:
        """By name; of runs that the filter takes."""
        ...

    async def models(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ModelStats]:
        """By name; of runs that the filter takes."""
        ...


class Spans(Protocol):
    """Traces in the form that observability tools take."""

    def of(self, trace: WholeTrace) -> JsonObject:
        """Names, numbers and ids; nothing that anybody said."""
        ...


# Look at what agents did: runs, one with all that was said in it, and how tools and models fared.
#
# One's own runs, and with the right to it those of everybody; none that is above one's clearance.


class Settling(Protocol):
    async def settled(self, caller: Principal, run: RunId) -> RunTrace:
        """As it is: also of one that ended before it could say so, whose starter was disabled, say.
        Raises `RunNotFound` if nobody knows of it but its trace."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTraces:
    reports: TraceReports
    settling: Settling
    contexts: Contexts

    async def __call__(
        self, caller: Principal, which: TraceFilter, *, before: str | None, limit: int
    ) -> Sequence[RunTrace]:
        """Newest first; `before` is the text of the `TracePlace` of the last one that was seen.
        Raises `NotPermitted`, `InvalidCursor`."""
        require_scope(caller, Scope.AGENTS_READ)
        place = None if before is None else TracePlace.parse(before)
        found = await self.reports.page(
            caller, which, of=_whose(caller, which), before=place, limit=limit
        )
        found = [await _settled(self.settling, caller, run) for run in found]
        if found:  # their answers have been read then
            await self.contexts.raise_taint(
                caller, join(run.label for run in found), untrusted=True
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTrace:
    traces: Traces
    settling: Settling
    contexts: Contexts

    async def __call__(self, caller: Principal, run: RunId) -> WholeTrace:
        """Raises `AgentRunNotFound`."""
        found = await seen(self.traces, caller, run)
        now = await _settled(self.settling, caller, found.run)
        if now.status is not found.run.status:  # it went on meanwhile: what is over is shown whole
            found = await seen(self.traces, caller, run)
            now = await _settled(self.settling, caller, found.run)
        await self.contexts.raise_taint(caller, join([found.run.label, now.label]), untrusted=True)
        return replace(found, run=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowToolStats:
    reports: TraceReports

    async def __call__(self, caller: Principal, which: TraceFilter) -> Sequence[ToolStats]:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.AGENTS_READ)
        return await self.reports.tools(caller, which, of=_whose(caller, which))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowModelStats:
    reports: TraceReports

    async def __call__(self, caller: Principal, which: TraceFilter) -> Sequence[ModelStats]:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.AGENTS_READ)
        return await self.reports.models(caller, which, of=_whose(caller, which))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTrace:
    traces: Traces
    spans: Spans

    async def __call__(self, caller: Principal, run: RunId) -> JsonObject:
        """As OTLP/JSON, with the ids that the trace was written under. Raises
        `AgentRunNotFound`."""
        return self.spans.of(await seen(self.traces, caller, run))


async def _settled(settling: Settling, caller: Principal, run: RunTrace) -> RunTrace:
    if run.status.over:
        return run
    try:
        now = await settling.settled(caller, run.run)
    except RunNotFound:
        return run
    return replace(now, history=run.history, asked=run.asked)


def _whose(caller: Principal, which: TraceFilter) -> PrincipalId | None:
    return None if caller.may(Scope.TRACES_READ) and not which.mine else caller.id
