"""Looking at what was written down of runs, in PostgreSQL."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, LiteralString

from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.rows import Row
from portico.adapters.postgres.trace_rows import run_from
from portico.adapters.postgres.traces import RUN_COLUMNS
from portico.adapters.postgres.transaction import Transactions
from portico.agents.core.traces import (
    ModelStats,
    RunTrace,
    ToolStats,
    TraceFilter,
    TracePlace,
    opening,
)
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_OF_RUN: Final[LiteralString] = "space_id = r.space_id AND run_id = r.run_id"
_BEFORE: Final[LiteralString] = " AND (r.started_at, r.run_id) < (%(before_at)s, %(before_run)s)"
_CONDITIONS: Final[dict[str, LiteralString]] = {
    "of": "r.started_by = %(of)s",
    "agent": "r.agent_name = %(agent)s",
    "statuses": "r.status = ANY(%(statuses)s)",
    "since": "r.started_at >= %(since)s",
    "until": "r.started_at < %(until)s",
    "tool": f"EXISTS (SELECT FROM portico.agent_tool_use WHERE {_OF_RUN} AND tool = %(tool)s)",
    "error": f"""(r.error_code = %(error)s OR EXISTS (
        SELECT FROM portico.agent_tool_use WHERE {_OF_RUN} AND code = %(error)s))""",
    "text": "r.run_id IN (SELECT run_id FROM portico.runs_that_say(%(text)s))",
}
_PAGE: Final[LiteralString] = f"""
    SELECT r.*, '[]' AS history, said.asked FROM (
        SELECT space_id, {RUN_COLUMNS} FROM portico.agent_run r WHERE r.space_id = %(space)s
"""
_NEWEST: Final[LiteralString] = f"""
         ORDER BY r.started_at DESC, r.run_id DESC LIMIT %(limit)s
    ) r LEFT JOIN LATERAL (
        SELECT left(text, 1000) AS asked FROM portico.agent_input WHERE {_OF_RUN} AND number = 1
         LIMIT 1
    ) said ON true ORDER BY r.started_at DESC, r.run_id DESC
"""
"""What was asked is read of those that are on the page, and of no others: the limit of one keeps it
a search for each of them, where else all that was ever said might be gone through for it."""
_TAKEN: Final[LiteralString] = "SELECT run_id FROM portico.agent_run r WHERE r.space_id = %(space)s"
_USED: Final[LiteralString] = "(%(tool)s::text IS NULL OR u.tool = %(tool)s)"
_TOOLS: Final[LiteralString] = f"""
    SELECT u.tool, count(*) AS uses, count(*) FILTER (WHERE u.failed) AS failures,
           count(*) FILTER (WHERE u.early) AS early,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY u.took) AS took,
           max(u.started_at) AS last_at
      FROM portico.agent_tool_use u JOIN taken USING (run_id)
     WHERE u.space_id = %(space)s AND {_USED}
     GROUP BY u.tool ORDER BY u.tool COLLATE "C"
"""
_CODES: Final[LiteralString] = f"""
    SELECT u.tool, u.code, count(*) AS uses
      FROM portico.agent_tool_use u JOIN taken USING (run_id)
     WHERE u.space_id = %(space)s AND u.failed AND u.code IS NOT NULL AND {_USED}
     GROUP BY u.tool, u.code ORDER BY u.code COLLATE "C"
"""
_MODELS: Final[LiteralString] = """
    SELECT t.model, count(*) AS turns, count(*) FILTER (WHERE t.attempts > 1) AS retried,
           sum(t.input_tokens)::bigint AS input, sum(t.output_tokens)::bigint AS output,
           sum(t.cached_tokens)::bigint AS cached, sum(t.money) AS money,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY t.took) AS took,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY t.first_piece) AS first_piece,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY t.output_tokens
               / nullif(extract(epoch FROM t.took - coalesce(t.first_piece, '0')), 0)::float8)
               FILTER (WHERE t.output_tokens > 0
                         AND t.took > coalesce(t.first_piece, '0')) AS tokens_a_second,
           max(t.started_at) AS last_at
      FROM portico.agent_turn t JOIN taken USING (run_id)
     WHERE t.space_id = %(space)s
     GROUP BY t.model ORDER BY t.model COLLATE "C"
"""


class PostgresTraceReports:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def page(
        self,
        caller: Principal,
        which: TraceFilter,
        *,
        of: PrincipalId | None,
        before: TracePlace | None,
        limit: int,
    ) -> Sequence[RunTrace]:
        values = _asked(caller, which, of)
        query = _PAGE + _where(values)
        if before is not None:
            query += _BEFORE
            values |= {"before_at": before.started_at, "before_run": before.run.value}
        rows = await self._rows(caller, query + _NEWEST, {**values, "limit": limit})
        return [replace(run_from(row), asked=opening(row["asked"] or "")) for row in rows]

    async def tools(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ToolStats]:
        values = _asked(caller, which, of)
        taken: LiteralString = f"WITH taken AS ({_TAKEN + _where(values)})"
        values.setdefault("tool", None)
        codes: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for row in await self._rows(caller, taken + _CODES, values):
            codes[row["tool"]][row["code"]] = row["uses"]
        rows = await self._rows(caller, taken + _TOOLS, values)
        return [_tool(row, codes[row["tool"]]) for row in rows]

    async def models(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ModelStats]:
        values = _asked(caller, which, of)
        taken: LiteralString = f"WITH taken AS ({_TAKEN + _where(values)})"
        return [_model(row) for row in await self._rows(caller, taken + _MODELS, values)]

    async def _rows(
        self, caller: Principal, query: LiteralString, values: dict[str, object]
    ) -> Sequence[Row]:
        async with self._transactions.begin(caller) as connection:
            return await (await connection.execute(query, values)).fetchall()


def _asked(caller: Principal, which: TraceFilter, of: PrincipalId | None) -> dict[str, object]:
    """Only what matters."""
    asked = {
        "of": None if of is None else of.value,
        "agent": None if which.agent is None else storable(which.agent),
        "statuses": [status.value for status in which.statuses] or None,
        "since": which.since,
        "until": which.until,
        "tool": None if which.tool is None else storable(which.tool),
        "error": None if which.error is None else storable(which.error),
        "text": None if which.text is None else storable(which.text),
    }
    wanted = {name: value for name, value in asked.items() if value is not None}
    return {"space": caller.space.value, **wanted}


def _where(values: dict[str, object]) -> LiteralString:
    where: LiteralString = ""
    for name, condition in _CONDITIONS.items():
        if name in values:
            where += f" AND {condition}"
    return where


def _tool(row: Row, codes: dict[str, int]) -> ToolStats:
    return ToolStats(
        tool=row["tool"],
        uses=row["uses"],
        failures=row["failures"],
        codes=codes,
        early=row["early"],
        p50=row["took"][0],
        p95=row["took"][1],
        last_at=row["last_at"],
    )


def _model(row: Row) -> ModelStats:
    return ModelStats(
        model=row["model"],
        turns=row["turns"],
        retried=row["retried"],
        input=row["input"],
        output=row["output"],
        cached=row["cached"],
        money=row["money"],
        p50=row["took"][0],
        p95=row["took"][1],
        first_piece=row["first_piece"],
        tokens_a_second=row["tokens_a_second"],
        last_at=row["last_at"],
    )
