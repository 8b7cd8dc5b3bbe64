"""Traces of agents' runs in PostgreSQL."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Final, LiteralString

from portico.adapters.postgres.mapping import Row, as_label, storable_or_none, strip_nul
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.agents.core.agents import AgentId
from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.model_requests import (
    Finish,
    Usage,
    calls_as_json,
    calls_of,
    message_as_json,
    message_of,
)
from portico.agents.core.traces import (
    AgentRunStatus,
    ModelStats,
    RunTrace,
    ToolStats,
    ToolUse,
    TraceFilter,
    TracePlace,
    TraceUpdates,
    TurnTrace,
    UserInput,
    WholeTrace,
    opening,
)
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SURROGATE: Final = "\\ud"
"""How JSON spells halves of letters, and whole ones that are made of two."""


def run_columns(caller: Principal, run: RunTrace) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": run.run.value,
        "agent": run.agent.value,
        "agent_name": run.agent_name,
        "agent_version": run.agent_version,
        "started_by": run.started_by.value,
        "acts_as": run.acts_as.value,
        "context": run.context.value,
        "continues": None if run.continues is None else run.continues.value,
        "history": _json([message_as_json(each) for each in run.history]),
        "status": run.status.value,
        **label_columns(run.label),
        "started": run.started_at,
        "ended": run.ended_at,
        "model": strip_nul(run.model),
        "turns": run.turns,
        "tool_uses": run.tool_uses,
        **_usage_columns(run.usage),
        "money": run.money,
        "answer": strip_nul(run.answer),
        "error_code": storable_or_none(run.error_code),
        "error": storable_or_none(run.error),
        "trace": run.trace_id,
    }


def run_from(row: Row) -> RunTrace:
    return RunTrace(
        run=RunId(row["run_id"]),
        agent=AgentId(row["agent_id"]),
        agent_name=row["agent_name"],
        agent_version=row["agent_version"],
        started_by=PrincipalId(row["started_by"]),
        acts_as=PrincipalId(row["acts_as"]),
        context=ContextId(row["context_id"]),
        continues=None if row["continues"] is None else RunId(row["continues"]),
        history=tuple(message_of(each) for each in json.loads(row["history"])),
        status=AgentRunStatus(row["status"]),
        label=as_label(row["level"], row["compartments"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        model=row["model"],
        turns=row["turns"],
        tool_uses=row["tool_uses"],
        usage=_usage(row),
        money=row["money"],
        answer=row["answer"],
        error_code=row["error_code"],
        error=row["error"],
        trace_id=row["trace_id"],
    )


def turn_columns(caller: Principal, turn: TurnTrace) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": turn.run.value,
        "number": turn.number,
        **label_columns(turn.label),
        "model": strip_nul(turn.model),
        "attempts": turn.attempts,
        "heard": turn.inputs_seen,
        "text": strip_nul(turn.text),
        "thought": strip_nul(turn.thought),
        "calls": _json(calls_as_json(turn.calls)),
        "kept": _json(turn.stored),
        **_usage_columns(turn.usage),
        "counted": turn.counted,
        "money": turn.money,
        "finish": turn.finish.value,
        "started": turn.started_at,
        "took": turn.took,
        "first_piece": turn.first_piece,
        "notes": [strip_nul(note) for note in turn.notes],
        "span": turn.span_id,
    }


def turn_from(row: Row) -> TurnTrace:
    return TurnTrace(
        run=RunId(row["run_id"]),
        number=row["number"],
        model=row["model"],
        attempts=row["attempts"],
        inputs_seen=row["heard"],
        text=row["text"],
        thought=row["thought"],
        calls=calls_of(json.loads(row["calls"])),
        stored=json.loads(row["kept"]),
        usage=_usage(row),
        counted=row["counted"],
        money=row["money"],
        finish=Finish(row["finish"]),
        started_at=row["started_at"],
        took=row["took"],
        first_piece=row["first_piece"],
        notes=tuple(row["notes"]),
        label=as_label(row["level"], row["compartments"]),
        span_id=row["span_id"],
    )


def use_columns(caller: Principal, use: ToolUse) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": use.run.value,
        "turn": use.turn,
        "place": use.position,
        **label_columns(use.label),
        "call": strip_nul(use.call),
        "tool": strip_nul(use.tool),
        "arguments": _json(use.arguments),
        "text": strip_nul(use.text),
        "failed": use.failed,
        "code": storable_or_none(use.code),
        "approval": None if use.approval is None else use.approval.value,
        "early": use.early,
        "started": use.started_at,
        "took": use.took,
        "span": use.span_id,
    }


def use_from(row: Row) -> ToolUse:
    return ToolUse(
        run=RunId(row["run_id"]),
        turn=row["turn"],
        position=row["place"],
        call=row["call"],
        tool=row["tool"],
        arguments=json.loads(row["arguments"]),
        text=row["text"],
        failed=row["failed"],
        code=row["code"],
        approval=None if row["approval_id"] is None else ApprovalId(row["approval_id"]),
        early=row["early"],
        started_at=row["started_at"],
        took=row["took"],
        label=as_label(row["level"], row["compartments"]),
        span_id=row["span_id"],
    )


def said_columns(caller: Principal, said: UserInput, label: Label) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": said.run.value,
        "number": said.number,
        **label_columns(label),
        "text": strip_nul(said.text),
        "by": said.by.value,
        "at": said.at,
    }


def said_from(row: Row) -> UserInput:
    return UserInput(
        run=RunId(row["run_id"]),
        number=row["number"],
        text=row["text"],
        by=PrincipalId(row["said_by"]),
        at=row["said_at"],
    )


def _json(value: JsonValue) -> str:
    """Models write numbers that JSON has not, and halves of letters that nobody can be shown; what
    was paid for is not lost for that."""
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_written(value))
    return json.dumps(_written(value)) if _SURROGATE in text else text


def _written(value: JsonValue) -> JsonValue:
    match value:
        case float() if not isfinite(value):
            return str(value)
        case str():
            return _whole(value)
        case Mapping():
            return {_whole(name): _written(each) for name, each in value.items()}
        case list() | tuple():
            return [_written(each) for each in value]
        case _:
            return value


def _whole(text: str) -> str:
    return text.encode(errors="replace").decode()


def label_columns(label: Label) -> dict[str, object]:
    return {"level": int(label.level), "compartments": sorted(label.compartments)}


def _usage_columns(usage: Usage) -> dict[str, object]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reported": usage.reported,
    }


def _usage(row: Row) -> Usage:
    return Usage(
        input=row["input_tokens"],
        output=row["output_tokens"],
        cached=row["cached_tokens"],
        reported=row["reported"],
    )


# What is written down of the runs of agents, kept in PostgreSQL.
#
# What is added also tells the row of its run: so a run that is on shows where it is, and is as
# secret as what is in it.

RUN_COLUMNS: Final[LiteralString] = """run_id, agent_id, agent_name, agent_version, started_by,
    acts_as, context_id, continues, status, level, compartments, started_at, ended_at, model,
    turns, tool_uses, input_tokens, output_tokens, cached_tokens, reported, money, answer,
    error_code, error, trace_id"""
"""Without its history, which can be long, and is nothing for a list."""
_TURN_COLUMNS: Final[LiteralString] = """run_id, number, level, compartments, model, attempts,
    heard, text, thought, calls::text AS calls, kept::text AS kept, input_tokens, output_tokens,
    cached_tokens, reported, counted, money, finish, started_at, took, first_piece, notes,
    span_id"""
_USE_COLUMNS: Final[LiteralString] = """run_id, turn, place, level, compartments, call, tool,
    arguments::text AS arguments, text, failed, code, approval_id, early, started_at, took,
    span_id"""
_SAID_COLUMNS: Final[LiteralString] = "run_id, number, text, said_by, said_at"
_THIS: Final[LiteralString] = "space_id = %(space)s AND run_id = %(run)s"
_GOING_ON: Final[LiteralString] = "status IN ('running', 'waiting')"
_RAISED: Final[LiteralString] = """level = greatest(r.level, %(level)s),
               compartments = ARRAY(SELECT unnest(r.compartments)
                                     UNION SELECT unnest(%(compartments)s::text[]) ORDER BY 1)"""
_BEGIN: Final[LiteralString] = """
    INSERT INTO portico.agent_run (space_id, run_id, agent_id, agent_name, agent_version,
        started_by, acts_as, context_id, continues, history, status, level, compartments,
        started_at, ended_at, model, turns, tool_uses, input_tokens, output_tokens,
        cached_tokens, reported, money, answer, error_code, error, trace_id)
    VALUES (%(space)s, %(run)s, %(agent)s, %(agent_name)s, %(agent_version)s, %(started_by)s,
        %(acts_as)s, %(context)s, %(continues)s, %(history)s::json, %(status)s, %(level)s,
        %(compartments)s, %(started)s, %(ended)s, %(model)s, %(turns)s, %(tool_uses)s,
        %(input)s, %(output)s, %(cached)s, %(reported)s, %(money)s, %(answer)s, %(error_code)s,
        %(error)s, %(trace)s)
    ON CONFLICT DO NOTHING
"""
_SAY: Final[LiteralString] = """
    INSERT INTO portico.agent_input (space_id, run_id, number, level, compartments, text, said_by,
                                    said_at)
    VALUES (%(space)s, %(run)s, %(number)s, %(level)s, %(compartments)s, %(text)s, %(by)s, %(at)s)
    ON CONFLICT DO NOTHING
"""
_ADD_TURN: Final[LiteralString] = f"""
    WITH added AS (
        INSERT INTO portico.agent_turn (space_id, run_id, number, level, compartments, model,
            attempts, heard, text, thought, calls, kept, input_tokens, output_tokens,
            cached_tokens, reported, counted, money, finish, started_at, took, first_piece, notes,
            span_id)
        VALUES (%(space)s, %(run)s, %(number)s, %(level)s, %(compartments)s, %(model)s,
            %(attempts)s, %(heard)s, %(text)s, %(thought)s, %(calls)s::json, %(kept)s::json,
            %(input)s, %(output)s, %(cached)s, %(reported)s, %(counted)s, %(money)s, %(finish)s,
            %(started)s, %(took)s, %(first_piece)s, %(notes)s::text[], %(span)s)
        ON CONFLICT DO NOTHING
        RETURNING *
    ), told AS (
        UPDATE portico.agent_run AS r
           SET turns = r.turns + 1, input_tokens = r.input_tokens + %(input)s,
               output_tokens = r.output_tokens + %(output)s,
               cached_tokens = r.cached_tokens + %(cached)s,
               reported = r.reported AND %(reported)s, money = r.money + %(money)s, {_RAISED}
          FROM added WHERE r.space_id = added.space_id AND r.run_id = added.run_id
    )
    SELECT {_TURN_COLUMNS} FROM added
"""
_TURN: Final[LiteralString] = f"""
    SELECT {_TURN_COLUMNS} FROM portico.agent_turn WHERE {_THIS} AND number = %(number)s
"""
_ADD_USE: Final[LiteralString] = f"""
    WITH added AS (
        INSERT INTO portico.agent_tool_use (space_id, run_id, turn, place, level, compartments,
            call, tool, arguments, text, failed, code, approval_id, early, started_at, took,
            span_id)
        VALUES (%(space)s, %(run)s, %(turn)s, %(place)s, %(level)s, %(compartments)s, %(call)s,
            %(tool)s, %(arguments)s::json, %(text)s, %(failed)s, %(code)s, %(approval)s, %(early)s,
            %(started)s, %(took)s, %(span)s)
        ON CONFLICT DO NOTHING
        RETURNING space_id, run_id
    )
    UPDATE portico.agent_run AS r
       SET tool_uses = r.tool_uses + 1, {_RAISED}
      FROM added WHERE r.space_id = added.space_id AND r.run_id = added.run_id
    RETURNING r.run_id
"""
_HOLD: Final[LiteralString] = f"""
    SELECT status, level, compartments FROM portico.agent_run WHERE {_THIS} FOR UPDATE
"""
_LAST_SAID: Final[LiteralString] = f"""
    SELECT coalesce(max(number), 0) AS number FROM portico.agent_input WHERE {_THIS}
"""
"""In a statement of its own after the run is held: what somebody said while one waited for that is
not seen by the statement that waited."""
_STOP: Final[LiteralString] = f"""
    UPDATE portico.agent_run SET stop_at = coalesce(stop_at, %(at)s) WHERE {_THIS}
"""
_STOP_ASKED: Final[LiteralString] = f"""
    SELECT run_id FROM portico.agent_run WHERE {_THIS} AND stop_at IS NOT NULL
"""
_NEWS: Final[LiteralString] = """
    SELECT r.stop_at IS NOT NULL AS stop, s.run_id, s.number, s.text, s.said_by, s.said_at
      FROM portico.agent_run r
      LEFT JOIN portico.agent_input s
        ON s.space_id = r.space_id AND s.run_id = r.run_id AND s.number > %(after)s
     WHERE r.space_id = %(space)s AND r.run_id = %(run)s ORDER BY s.number
"""
_MARK: Final[LiteralString] = f"""
    UPDATE portico.agent_run AS r SET status = %(status)s, {_RAISED} WHERE {_THIS} AND {_GOING_ON}
"""
_REOPEN: Final[LiteralString] = f"""
    UPDATE portico.agent_run
       SET status = 'running', ended_at = NULL, error_code = NULL, error = NULL, answer = '',
           stop_at = NULL
     WHERE {_THIS} AND status IN ('failed', 'exhausted', 'stopped')
"""
_END: Final[LiteralString] = f"""
    UPDATE portico.agent_run AS r
       SET status = %(status)s, ended_at = %(ended)s, turns = %(turns)s,
           tool_uses = %(tool_uses)s, input_tokens = %(input)s, output_tokens = %(output)s,
           cached_tokens = %(cached)s, reported = %(reported)s, money = %(money)s,
           answer = %(answer)s, error_code = %(error_code)s, error = %(error)s, {_RAISED}
     WHERE {_THIS} AND {_GOING_ON}
"""
_RUN: Final[LiteralString] = f"""
    SELECT {RUN_COLUMNS}, history::text AS history FROM portico.agent_run WHERE {_THIS}
"""
_AT: Final[LiteralString] = """
    SELECT run_id FROM portico.agent_run
     WHERE space_id = %(space)s AND context_id = %(context)s
       AND started_at BETWEEN to_timestamp(%(opened)s) - interval '1 hour'
                          AND to_timestamp(%(opened)s) + interval '1 hour'
"""
"""A task is opened for a run that begins with it: its id says when, and few runs began then."""
_SAID: Final[LiteralString] = f"""
    SELECT {_SAID_COLUMNS} FROM portico.agent_input WHERE {_THIS} ORDER BY number
"""
_TURNS: Final[LiteralString] = f"""
    SELECT {_TURN_COLUMNS} FROM portico.agent_turn WHERE {_THIS} ORDER BY number
"""
_USES: Final[LiteralString] = f"""
    SELECT {_USE_COLUMNS} FROM portico.agent_tool_use WHERE {_THIS} ORDER BY turn, place
"""


class PostgresTraces:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, run: RunTrace, said: UserInput) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_BEGIN, run_columns(caller, run))
            await connection.execute(_SAY, said_columns(caller, said, run.label))

    async def add_turn(self, caller: Principal, turn: TurnTrace) -> TurnTrace:
        values = turn_columns(caller, turn)
        rows = await self._rows(caller, _ADD_TURN, values)
        if not rows:
            rows = await self._rows(caller, _TURN, values)
        if not rows:
            raise AgentRunNotFound(str(turn.run))
        return turn_from(rows[0])

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
        asked = {**_which(caller, use.run), "after": after}
        _, news = await self._transactions.looked_up(
            caller, (_ADD_USE, use_columns(caller, use)), (_NEWS, asked)
        )
        return _news(news)

    async def say(self, caller: Principal, run: RunId, text: str, at: datetime) -> UserInput:
        async with self._transactions.begin(caller) as connection:
            held = await _held(connection, caller, run)
            last = await _last_said(connection, caller, run)
            said = UserInput(run=run, number=last + 1, text=text, by=caller.id, at=at)
            label = as_label(held["level"], held["compartments"])
            await connection.execute(_SAY, said_columns(caller, said, label))
        return said

    async def stop(self, caller: Principal, run: RunId, at: datetime) -> None:
        async with self._transactions.begin(caller) as connection:
            await _held(connection, caller, run)
            await connection.execute(_STOP, {**_which(caller, run), "at": at})

    async def stop_asked(self, caller: Principal, run: RunId) -> bool:
        return bool(await self._rows(caller, _STOP_ASKED, _which(caller, run)))

    async def news(self, caller: Principal, run: RunId, *, after: int) -> TraceUpdates:
        return _news(await self._rows(caller, _NEWS, {**_which(caller, run), "after": after}))

    async def mark(
        self, caller: Principal, run: RunId, status: AgentRunStatus, *, label: Label
    ) -> None:
        values = {**_which(caller, run), "status": status.value, **label_columns(label)}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_MARK, values)

    async def reopen(self, caller: Principal, run: RunId) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_REOPEN, _which(caller, run))

    async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_HOLD, _which(caller, run.run))
            if heard is not None and await _last_said(connection, caller, run.run) > heard:
                return False
            await connection.execute(_END, run_columns(caller, run))
        return True

    async def at(self, caller: Principal, context: ContextId) -> RunId | None:
        opened = (context.value.int >> 80) / 1000
        values: dict[str, object] = {"context": context.value, "opened": opened}
        rows = await self._rows(caller, _AT, {"space": caller.space.value, **values})
        return RunId(rows[0]["run_id"]) if rows else None

    async def read(self, caller: Principal, run: RunId) -> WholeTrace:
        asked = _which(caller, run)
        runs, said, turns, uses = await self._transactions.looked_up(
            caller, (_RUN, asked), (_SAID, asked), (_TURNS, asked), (_USES, asked)
        )
        if not runs:
            raise AgentRunNotFound(str(run))
        return WholeTrace(
            run=run_from(runs[0]),
            said=tuple(said_from(row) for row in said),
            turns=tuple(turn_from(row) for row in turns),
            uses=tuple(use_from(row) for row in uses),
        )

    async def _rows(
        self, caller: Principal, statement: LiteralString, values: dict[str, object]
    ) -> Sequence[Row]:
        (rows,) = await self._transactions.looked_up(caller, (statement, values))
        return rows


def _news(rows: Sequence[Row]) -> TraceUpdates:
    said = tuple(said_from(row) for row in rows if row["number"] is not None)
    return TraceUpdates(said=said, stop=any(row["stop"] for row in rows))


async def _held(connection: Connection, caller: Principal, run: RunId) -> Row:
    """Nothing ends it meanwhile. Raises `AgentRunNotFound`, `AgentRunOver`."""
    row = await (await connection.execute(_HOLD, _which(caller, run))).fetchone()
    if row is None:
        raise AgentRunNotFound(str(run))
    if AgentRunStatus(row["status"]).over:
        raise AgentRunOver(str(run), row["status"])
    return row


async def _last_said(connection: Connection, caller: Principal, run: RunId) -> int:
    row = await (await connection.execute(_LAST_SAID, _which(caller, run))).fetchone()
    return 0 if row is None else int(row["number"])


def _which(caller: Principal, run: RunId) -> dict[str, object]:
    return {"space": caller.space.value, "run": run.value}


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
        "agent": None if which.agent is None else strip_nul(which.agent),
        "statuses": [status.value for status in which.statuses] or None,
        "since": which.since,
        "until": which.until,
        "tool": None if which.tool is None else strip_nul(which.tool),
        "error": None if which.error is None else strip_nul(which.error),
        "text": None if which.text is None else strip_nul(which.text),
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
