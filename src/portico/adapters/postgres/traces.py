"""What is written down of the runs of agents, kept in PostgreSQL.

What is added also tells the row of its run: so a run that is on shows where it is, and is as secret
as what is in it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.rows import Row, as_label
from portico.adapters.postgres.trace_rows import (
    label_columns,
    run_columns,
    run_from,
    said_columns,
    said_from,
    turn_columns,
    turn_from,
    use_columns,
    use_from,
)
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.traces import (
    AgentRunStatus,
    News,
    PersonSaid,
    RunTrace,
    ToolUse,
    TurnTrace,
    WholeTrace,
)
from portico.kernel.ids import ContextId, RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

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

    async def begin(self, caller: Principal, run: RunTrace, said: PersonSaid) -> None:
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

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> News:
        asked = {**_which(caller, use.run), "after": after}
        _, news = await self._transactions.looked_up(
            caller, (_ADD_USE, use_columns(caller, use)), (_NEWS, asked)
        )
        return _news(news)

    async def say(self, caller: Principal, run: RunId, text: str, at: datetime) -> PersonSaid:
        async with self._transactions.begin(caller) as connection:
            held = await _held(connection, caller, run)
            last = await _last_said(connection, caller, run)
            said = PersonSaid(run=run, number=last + 1, text=text, by=caller.id, at=at)
            label = as_label(held["level"], held["compartments"])
            await connection.execute(_SAY, said_columns(caller, said, label))
        return said

    async def stop(self, caller: Principal, run: RunId, at: datetime) -> None:
        async with self._transactions.begin(caller) as connection:
            await _held(connection, caller, run)
            await connection.execute(_STOP, {**_which(caller, run), "at": at})

    async def stop_asked(self, caller: Principal, run: RunId) -> bool:
        return bool(await self._rows(caller, _STOP_ASKED, _which(caller, run)))

    async def news(self, caller: Principal, run: RunId, *, after: int) -> News:
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


def _news(rows: Sequence[Row]) -> News:
    said = tuple(said_from(row) for row in rows if row["number"] is not None)
    return News(said=said, stop=any(row["stop"] for row in rows))


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
