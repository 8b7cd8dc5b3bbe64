"""Looking at what was written down of runs, in memory."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from uuid import UUID

from portico.agents.core.traces import (
    ModelStats,
    RunTrace,
    ToolStats,
    ToolUse,
    TraceFilter,
    TracePlace,
    TurnTrace,
    opening,
)
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import Label, may_read
from portico.kernel.principal import Principal
from portico.testing.world import MemoryWorld


class MemoryTraceReports:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def page(
        self,
        caller: Principal,
        which: TraceFilter,
        *,
        of: PrincipalId | None,
        before: TracePlace | None,
        limit: int,
    ) -> Sequence[RunTrace]:
        taken = sorted(self._taken(caller, which, of), key=_newest_first, reverse=True)
        if before is not None:
            last = (before.started_at, before.run.value)
            taken = [run for run in taken if _newest_first(run) < last]
        return [replace(run, asked=self._asked(caller, run.run)) for run in taken[:limit]]

    async def tools(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ToolStats]:
        runs = [run.run for run in self._taken(caller, which, of)]
        uses = [
            use for run in runs for use in self._uses(caller, run) if which.tool in (None, use.tool)
        ]
        named = groupby(sorted(uses, key=lambda use: use.tool), key=lambda use: use.tool)
        return [_tool(tool, list(its)) for tool, its in named]

    async def models(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ModelStats]:
        runs = [run.run for run in self._taken(caller, which, of)]
        turns = [turn for run in runs for turn in self._turns(caller, run)]
        named = groupby(sorted(turns, key=lambda turn: turn.model), key=lambda turn: turn.model)
        return [_model(model, list(its)) for model, its in named]

    def _taken(
        self, caller: Principal, which: TraceFilter, of: PrincipalId | None
    ) -> Sequence[RunTrace]:
        rows = self._world.agent_runs.items()
        seen = [run for (space, _), run in rows if space == caller.space and _sees(caller, run)]
        return [
            run for run in seen if of in (None, run.started_by) and self._takes(caller, which, run)
        ]

    def _takes(self, caller: Principal, which: TraceFilter, run: RunTrace) -> bool:
        uses = self._uses(caller, run.run)
        codes = {run.error_code, *(use.code for use in uses)}
        return (
            which.agent in (None, run.agent_name)
            and (not which.statuses or run.status in which.statuses)
            and (which.since is None or run.started_at >= which.since)
            and (which.until is None or run.started_at < which.until)
            and (which.tool is None or which.tool in {use.tool for use in uses})
            and (which.error is None or which.error in codes)
            and (which.text is None or self._says(caller, run.run, _words(which.text)))
        )

    def _asked(self, caller: Principal, run: RunId) -> str:
        first = self._world.agent_said.get((caller.space, run, 1))
        seen = first is not None and may_read(caller.clearance, first.label)
        return opening(first.said.text) if first is not None and seen else ""

    def _says(self, caller: Principal, run: RunId, wanted: Sequence[str]) -> bool:
        said = [
            kept.said.text
            for place, kept in self._world.agent_said.items()
            if place[:2] == (caller.space, run) and may_read(caller.clearance, kept.label)
        ]
        said += [turn.text for turn in self._turns(caller, run)]
        said += [use.text for use in self._uses(caller, run)]
        return bool(wanted) and any(_all_in(wanted, _words(each)) for each in said)

    def _turns(self, caller: Principal, run: RunId) -> Sequence[TurnTrace]:
        rows = self._world.agent_turns.items()
        return [
            turn for place, turn in rows if place[:2] == (caller.space, run) and _sees(caller, turn)
        ]

    def _uses(self, caller: Principal, run: RunId) -> Sequence[ToolUse]:
        rows = self._world.agent_uses.items()
        return [
            use for place, use in rows if place[:2] == (caller.space, run) and _sees(caller, use)
        ]


def _words(text: str) -> Sequence[str]:
    return re.findall(r"\w+", text.lower())


def _all_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    return all(any(word.startswith(each) for word in words) for each in wanted)


def _sees(caller: Principal, row: RunTrace | TurnTrace | ToolUse) -> bool:
    label: Label = row.label
    return may_read(caller.clearance, label)


def _newest_first(run: RunTrace) -> tuple[datetime, UUID]:
    return (run.started_at, run.run.value)


def _tool(tool: str, uses: Sequence[ToolUse]) -> ToolStats:
    codes = Counter(use.code for use in uses if use.failed and use.code is not None)
    return ToolStats(
        tool=tool,
        uses=len(uses),
        failures=sum(use.failed for use in uses),
        codes=dict(codes),
        early=sum(use.early for use in uses),
        p50=_at(0.5, [use.took for use in uses]),
        p95=_at(0.95, [use.took for use in uses]),
        last_at=max(use.started_at for use in uses),
    )


def _model(model: str, turns: Sequence[TurnTrace]) -> ModelStats:
    first = [turn.first_piece for turn in turns if turn.first_piece is not None]
    fast = [turn.tokens_a_second for turn in turns if turn.tokens_a_second is not None]
    return ModelStats(
        model=model,
        turns=len(turns),
        retried=sum(turn.attempts > 1 for turn in turns),
        input=sum(turn.usage.input for turn in turns),
        output=sum(turn.usage.output for turn in turns),
        cached=sum(turn.usage.cached for turn in turns),
        money=sum((turn.money for turn in turns), Decimal(0)),
        p50=_at(0.5, [turn.took for turn in turns]),
        p95=_at(0.95, [turn.took for turn in turns]),
        first_piece=_at(0.5, first) if first else None,
        tokens_a_second=_between(0.5, fast) if fast else None,
        last_at=max(turn.started_at for turn in turns),
    )


def _at(share: float, times: Iterable[timedelta]) -> timedelta:
    return timedelta(seconds=_between(share, [time.total_seconds() for time in times]))


def _between(share: float, values: Sequence[float]) -> float:
    """As the database's `percentile_cont`: between the two nearest, by how near each is."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
