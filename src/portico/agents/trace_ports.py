"""What looking at traces needs from the outside world."""

from collections.abc import Sequence
from typing import Protocol

from portico.agents.core.statistics import ModelStats, ToolStats
from portico.agents.core.trace import RunTrace, WholeTrace
from portico.agents.core.trace_filter import TraceFilter, TracePlace
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject
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
