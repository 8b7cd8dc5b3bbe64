"""The record of calls, kept in PostgreSQL.

What a call may change is written down before it is made. What became of it is kept back for a
moment, and written together with what became of others.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.call_rows import call_columns, call_from, figures_from
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.call import MARGIN, UNBOUNDED, Call, CallId, CallOutcome, Figures
from portico.gateway.core.tool import ToolRef
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.postgres")
_PAUSE: Final = 0.2
"""Seconds that an outcome is kept back for at most."""
_AT_ONCE: Final = 200
"""Calls a statement; so many are not kept back any longer."""
_TOO_MANY: Final = 10_000
"""Whoever comes when so many wait for a database that is away waits too, and is told."""

_WRITE: Final[LiteralString] = """
    WITH written AS (
        INSERT INTO portico.tool_call (
            space_id, incarnation, call_id, started_at, principal_id, server, tool, effect, pin,
            arguments, due_at, took, outcome, error, bytes_out)
        SELECT %(space)s, %(incarnation)s, given.*
          FROM unnest(%(calls)s::uuid[], %(started)s::timestamptz[], %(principals)s::uuid[],
                      %(servers)s::text[], %(tools)s::text[], %(effects)s::text[],
                      %(pins)s::text[], %(arguments)s::json[], %(due)s::timestamptz[],
                      %(took)s::interval[], %(outcomes)s::text[], %(errors)s::text[],
                      %(bytes)s::bigint[]) AS given
        ON CONFLICT (space_id, call_id, started_at) DO UPDATE
           SET took = excluded.took, outcome = excluded.outcome, error = excluded.error,
               bytes_out = excluded.bytes_out
        RETURNING call_id
    )
    SELECT count(*) AS calls FROM written
"""
_PAGE: Final[LiteralString] = """
    SELECT call_id, started_at, principal_id, server, tool, effect, pin, arguments, due_at,
           incarnation, took, outcome, error, bytes_out
      FROM portico.tool_call WHERE
"""
_NEWEST: Final[LiteralString] = "ORDER BY started_at DESC, call_id DESC LIMIT %(limit)s"
_FIGURES: Final[LiteralString] = """
    SELECT name, count(*) AS calls,
           count(*) FILTER (WHERE outcome = ANY(%(wrong)s)) AS failures,
           percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY took) AS percentiles,
           max(started_at) AS last_at
      FROM (SELECT CASE WHEN %(server)s::text IS NULL THEN server ELSE tool END AS name,
                   took, started_at,
                   CASE WHEN outcome IS NULL AND incarnation <> %(incarnation)s
                         AND coalesce(due_at, started_at + %(unbounded)s) + %(margin)s < %(now)s
                        THEN 'uncertain' ELSE outcome END AS outcome
              FROM portico.tool_call
             WHERE space_id = %(space)s AND started_at >= %(since)s
               AND (%(server)s::text IS NULL OR server = %(server)s)) AS each
     WHERE outcome IS NOT NULL
     GROUP BY name ORDER BY name COLLATE "C"
"""


class PostgresCallHistory:
    """`incarnation` is a name that no other process has, or has had."""

    def __init__(self, transactions: Transactions, clock: Clock, incarnation: str) -> None:
        self._transactions = transactions
        self._clock = clock
        self._incarnation = incarnation
        self._waiting: list[tuple[Principal, Call]] = []
        self._turn = asyncio.Lock()
        self._something = asyncio.Event()
        self._enough = asyncio.Event()

    async def begin(self, caller: Principal, call: Call) -> None:
        await self._write(caller, [call])

    async def record(self, caller: Principal, call: Call) -> None:
        self._waiting.append((caller, call))
        self._something.set()
        if len(self._waiting) >= _AT_ONCE:
            self._enough.set()
        if len(self._waiting) >= _TOO_MANY:
            await self.flush()

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None = None,
        ref: ToolRef | None,
        before: datetime | None,
        limit: int,
    ) -> Sequence[Call]:
        await self.flush()
        asked: dict[str, object] = {"space": caller.space.value, "limit": limit}
        where: list[LiteralString] = ["space_id = %(space)s"]
        if of is not None:
            where.append("principal_id = %(of)s")
            asked["of"] = of.value
        if ref is not None:
            where.append("server = %(server)s AND tool = %(tool)s")
            asked |= {"server": ref.server, "tool": ref.name}
        if before is not None:
            where.append("started_at < %(before)s")
            asked["before"] = before
        now, query = self._clock.now(), f"{_PAGE} {' AND '.join(where)} {_NEWEST}"
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(query, asked)
            return [call_from(row, incarnation=self._incarnation, now=now) async for row in rows]

    async def figures(
        self, caller: Principal, *, since: datetime, server: str | None
    ) -> Sequence[Figures]:
        await self.flush()
        asked = {
            "space": caller.space.value,
            "since": since,
            "server": server,
            "incarnation": self._incarnation,
            "now": self._clock.now(),
            "unbounded": UNBOUNDED,
            "margin": MARGIN,
            "wrong": [outcome.value for outcome in CallOutcome if outcome.wrong],
        }
        async with self._transactions.begin(caller) as connection:
            return [figures_from(row) async for row in await connection.execute(_FIGURES, asked)]

    async def run(self) -> None:
        """Until it is cancelled; what is kept back by then is still written."""
        try:
            while True:
                await self._something.wait()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE):
                        await self._enough.wait()
                await self._flush_or_say()
        finally:
            await asyncio.shield(self._flush_or_say())

    async def flush(self) -> None:
        """Whatever is kept back is in the database afterwards. Raises `StoreUnavailable`."""
        async with self._turn:
            while self._waiting:
                together = self._waiting[:_AT_ONCE]
                for caller, calls in _by_space(together):
                    await self._written(caller, calls)
                del self._waiting[: len(together)]
            self._something.clear()
            self._enough.clear()

    async def _flush_or_say(self) -> None:
        try:
            await self.flush()
        except StoreUnavailable:
            self._enough.clear()
            _log.warning("%d calls are not recorded yet: no database", len(self._waiting))

    async def _written(self, caller: Principal, calls: Sequence[Call]) -> None:
        try:
            await self._write(caller, calls)
        except psycopg.Error:
            if len(calls) > 1:  # one of them is refused: it must not take the others with it
                for call in calls:
                    await self._written(caller, [call])
            else:
                _log.exception("a call could not be recorded: %s", calls[0].id)

    async def _write(self, caller: Principal, calls: Sequence[Call]) -> None:
        """By itself, whatever else is going on: it has to be there if that fails."""
        values = {
            "space": caller.space.value,
            "incarnation": self._incarnation,
            **call_columns(calls),
        }
        await self._transactions.stroke(caller, (_WRITE, values))


def _by_space(
    calls: Sequence[tuple[Principal, Call]],
) -> Sequence[tuple[Principal, Sequence[Call]]]:
    """In the name of one of those who called; a call that is told twice counts as told last."""
    callers: dict[SpaceId, Principal] = {}
    spaces: defaultdict[SpaceId, dict[CallId, Call]] = defaultdict(dict)
    for caller, call in calls:
        callers[caller.space] = caller
        spaces[caller.space][call.id] = call
    return [(callers[space], [*its.values()]) for space, its in spaces.items()]
