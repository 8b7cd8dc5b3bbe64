"""The record of calls in PostgreSQL, and concurrent writes of other processes."""

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

import psycopg

from portico.adapters.postgres.group_commit import WriteBehind
from portico.adapters.postgres.mapping import storable_or_none, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.runs import RunStatus
from portico.gateway.core.calls import (
    KNOWN,
    MARGIN,
    OLDEST,
    REST,
    SKEW,
    UNBOUNDED,
    Call,
    CallClaim,
    CallId,
    CallOutcome,
    CallStats,
    begun_before,
    lost,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import BegunBefore
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.contexts import context_of
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

Row = Mapping[str, Any]


def call_columns(calls: Sequence[Call]) -> dict[str, object]:
    """As lists, one a column."""
    return {
        "calls": [call.id.value for call in calls],
        "started": [call.started_at for call in calls],
        "principals": [call.principal.value for call in calls],
        "servers": [call.ref.server for call in calls],
        "tools": [strip_nul(call.ref.name) for call in calls],
        "effects": [call.effect.value for call in calls],
        "pins": [call.pin for call in calls],
        "arguments": [_json_text(call.arguments) for call in calls],
        "due": [call.due_at for call in calls],
        "took": [call.took for call in calls],
        "outcomes": [None if call.outcome is None else call.outcome.value for call in calls],
        "errors": [storable_or_none(call.error) for call in calls],
        "bytes": [call.bytes_out for call in calls],
        "contexts": [None if call.context is None else call.context.value for call in calls],
        "levels": [int(call.label.level) for call in calls],
        "compartments": [",".join(sorted(call.label.compartments)) for call in calls],
    }


def call_from(row: Row, *, incarnation: str, now: datetime) -> Call:
    """Without an outcome, what we ourselves have begun is under way."""
    call = Call(
        id=CallId(row["call_id"]),
        principal=PrincipalId(row["principal_id"]),
        ref=ToolRef(row["server"], row["tool"]),
        effect=Effect(row["effect"]),
        pin=row["pin"],
        arguments=row["arguments"],
        started_at=row["started_at"],
        due_at=row["due_at"],
        took=row["took"],
        outcome=None if row["outcome"] is None else CallOutcome(row["outcome"]),
        error=row["error"],
        bytes_out=row["bytes_out"],
        label=Label(Level(row["level"]), frozenset(row["compartments"])),
        context=None if row["context_id"] is None else ContextId(row["context_id"]),
    )
    if row["incarnation"] != incarnation and lost(call, now):
        return replace(call, outcome=CallOutcome.UNCERTAIN)
    return call


def figures_from(row: Row) -> CallStats:
    p50, p95, p99 = row["percentiles"] or [timedelta()] * 3
    return CallStats(
        name=row["name"],
        calls=row["calls"],
        failures=row["failures"],
        p50=p50,
        p95=p95,
        p99=p99,
        last_at=row["last_at"],
    )


def _json_text(value: JsonValue) -> str:
    """A number that JSON has no word for does not keep the call out of the record."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(repr(value))


# The record of calls, kept in PostgreSQL.
#
# What a call may change is written down before it is made. What became of it is kept back for a
# moment, and written together with what became of others.

_log: Final = logging.getLogger("portico.postgres")

_ENTER: Final[LiteralString] = """
    SELECT set_config('portico.level', '3', true),
           set_config('portico.compartments', coalesce(string_agg(DISTINCT its, ','), ''), true)
      FROM (SELECT unnest(string_to_array(given, ',')) AS its
              FROM unnest(%(compartments)s::text[]) AS given
             UNION
            SELECT unnest(t.compartments) FROM portico.taint_context t
             WHERE t.space_id = %(space)s AND t.context_id = ANY(%(contexts)s::uuid[])) AS every
"""
"""What is recorded may be more secret than whoever it is recorded for may read by now."""
_INSERT: Final[LiteralString] = """
        INSERT INTO portico.tool_call (
            space_id, incarnation, call_id, started_at, principal_id, server, tool, effect, pin,
            arguments, due_at, took, outcome, error, bytes_out, context_id, level, compartments)
        SELECT %(space)s, %(incarnation)s, call_id, started_at, given.principal_id, server, tool,
               effect, pin, arguments, due_at, took, outcome, error, bytes_out, given.context_id,
               greatest(given.level, t.level),
               ARRAY(SELECT unnest(string_to_array(given.compartments, ','))
                      UNION SELECT unnest(t.compartments) ORDER BY 1)
          FROM unnest(%(calls)s::uuid[], %(started)s::timestamptz[], %(principals)s::uuid[],
                      %(servers)s::text[], %(tools)s::text[], %(effects)s::text[],
                      %(pins)s::text[], %(arguments)s::json[], %(due)s::timestamptz[],
                      %(took)s::interval[], %(outcomes)s::text[], %(errors)s::text[],
                      %(bytes)s::bigint[], %(contexts)s::uuid[], %(levels)s::smallint[],
                      %(compartments)s::text[])
               AS given (call_id, started_at, principal_id, server, tool, effect, pin, arguments,
                         due_at, took, outcome, error, bytes_out, context_id, level, compartments)
          LEFT JOIN portico.taint_context t
            ON t.space_id = %(space)s AND t.context_id = given.context_id
"""
_WRITE: Final[LiteralString] = f"""
    WITH written AS (
        {_INSERT}
        ON CONFLICT (space_id, call_id, started_at) DO UPDATE
           SET took = excluded.took, outcome = excluded.outcome, error = excluded.error,
               bytes_out = excluded.bytes_out
        RETURNING call_id
    )
    SELECT count(*) AS calls FROM written
"""
_ALONE: Final[LiteralString] = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))
"""
_BEGUN: Final[LiteralString] = """
    SELECT call_id = %(own)s AS own, outcome FROM portico.tool_call
     WHERE space_id = %(space)s
       AND (call_id = %(own)s
            OR (call_id = ANY(%(earlier)s::uuid[])
                AND (outcome IS NULL OR NOT outcome = ANY(%(failed)s))))
"""
_NOT_ITS_TURN: Final[LiteralString] = """
    SELECT FROM portico.run
     WHERE space_id = %(space)s AND run_id = %(run)s
       AND (leg > %(leg)s OR NOT status = ANY(%(going_on)s))
"""
_OUTCOMES: Final[LiteralString] = """
    SELECT call_id, outcome FROM portico.tool_call
     WHERE space_id = %(space)s AND call_id = ANY(%(calls)s::uuid[])
"""
_WRITE_ONCE: Final[LiteralString] = f"""
    WITH written AS (
        {_INSERT}
         WHERE NOT EXISTS ({_BEGUN}) AND NOT EXISTS ({_NOT_ITS_TURN})
        RETURNING call_id
    )
    SELECT count(*) AS calls FROM written
"""
_PAGE: Final[LiteralString] = """
    SELECT call_id, started_at, principal_id, server, tool, effect, pin, arguments, due_at,
           incarnation, took, outcome, error, bytes_out, context_id, level, compartments
      FROM portico.tool_call WHERE
"""
_NEWEST: Final[LiteralString] = "ORDER BY started_at DESC, call_id DESC LIMIT %(limit)s"
_BY_THE_INDEX: Final[LiteralString] = "SET LOCAL enable_sort = off"
"""How many calls somebody is cleared for is guessed far too low: for a thousand of the newest, all
would be read and sorted."""
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
               AND (%(server)s::text IS NULL OR server = %(server)s)
               AND (%(of)s::uuid IS NULL OR principal_id = %(of)s)
               AND (%(task)s::uuid IS NULL OR context_id = %(task)s)
               AND NOT server = ANY(%(beyond)s)) AS each
     WHERE outcome IS NOT NULL
     GROUP BY name ORDER BY name COLLATE "C"
"""


class PostgresCallHistory:
    """`incarnation` is a name that no other process has, or has had."""

    def __init__(self, transactions: Transactions, clock: Clock, incarnation: str) -> None:
        self._transactions = transactions
        self._clock = clock
        self._incarnation = incarnation
        self._behind = WriteBehind(self._write_behind, "calls")

    async def record_start(self, caller: Principal, call: Call) -> None:
        await self._write(caller, [call])

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        """In one trip. Of two at once, the second waits until the first is written, whichever leg
        of a run each belongs to: so the later one is seen."""
        values = {**_claimed(caller, claim), **self._values(caller, [call])}
        _, _, found, written = await self._transactions.stroke(
            caller, (_ENTER, values), (_ALONE, values), (_BEGUN, values), (_WRITE_ONCE, values)
        )
        if found:
            outcome = next((row["outcome"] for row in found if row["own"]), found[0]["outcome"])
            raise BegunBefore(str(call.ref), outcome)
        if not written[0]["calls"]:
            raise BegunBefore(str(call.ref), None)

    async def find_started(
        self, caller: Principal, claims: Sequence[CallClaim]
    ) -> Collection[CallId]:
        ids = [call.value for claim in claims for call in (claim.id, *claim.earlier)]
        asked = {**_reaching(caller), "calls": ids}
        _, rows = await self._transactions.stroke(caller, (_ENTER, asked), (_OUTCOMES, asked))
        made = {CallId(row["call_id"]): row["outcome"] for row in rows}
        return {claim.id for claim in claims if _refused(claim, made)}

    async def record(self, caller: Principal, call: Call) -> None:
        self._behind.add((caller, call))
        if self._behind.full:
            await self.flush()

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None = None,
        ref: ToolRef | None,
        before: datetime | None,
        limit: int,
        beyond: Collection[str] = (),
    ) -> Sequence[Call]:
        await self.flush()
        asked: dict[str, object] = {"space": caller.space.value, "limit": limit}
        where: list[LiteralString] = ["space_id = %(space)s"]
        if beyond:
            where.append("NOT server = ANY(%(beyond)s)")
            asked["beyond"] = [*beyond]
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
            await connection.execute(_BY_THE_INDEX)
            rows = await connection.execute(query, asked)
            return [
                call_from(row, incarnation=self._incarnation, now=now)
                for row in await rows.fetchall()
            ]

    async def stats(
        self,
        caller: Principal,
        *,
        since: datetime,
        server: str | None,
        of: PrincipalId | None = None,
        task: ContextId | None = None,
        beyond: Collection[str] = (),
    ) -> Sequence[CallStats]:
        await self.flush()
        asked = {
            "space": caller.space.value,
            "since": since,
            "server": server,
            "of": None if of is None else of.value,
            "task": None if task is None else task.value,
            "beyond": [*beyond],
            "incarnation": self._incarnation,
            "now": self._clock.now(),
            "unbounded": UNBOUNDED,
            "margin": MARGIN,
            "wrong": [outcome.value for outcome in CallOutcome if outcome.wrong],
        }
        async with self._transactions.begin(caller) as connection:
            return [
                figures_from(row)
                for row in await (await connection.execute(_FIGURES, asked)).fetchall()
            ]

    async def run(self) -> None:
        """Until it is cancelled; what is kept back by then is still written."""
        await self._behind.run()

    async def flush(self) -> None:
        """Whatever is kept back is in the database afterwards. Raises `StoreUnavailable`."""
        await self._behind.flush()

    async def _write_behind(self, together: Sequence[tuple[Principal, Call]]) -> None:
        for caller, calls in _by_space(together):
            await self._written(caller, calls)

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
        values = self._values(caller, calls)
        await self._transactions.stroke(caller, (_ENTER, values), (_WRITE, values))

    def _values(self, caller: Principal, calls: Sequence[Call]) -> dict[str, object]:
        return {
            "space": caller.space.value,
            "incarnation": self._incarnation,
            **call_columns(calls),
        }


def _claimed(caller: Principal, claim: CallClaim) -> dict[str, object]:
    return {
        **_reaching(caller),
        "own": claim.id.value,
        "earlier": [call.value for call in claim.earlier],
        "failed": [outcome.value for outcome in CallOutcome if outcome.known_failure],
        "lock": f"call {claim.first}",
        "run": None if claim.run is None else claim.run.value,
        "leg": claim.leg,
        "going_on": [status.value for status in RunStatus if not status.over],
    }


def _reaching(caller: Principal) -> dict[str, object]:
    """What they have called is found, also what was labelled above them since."""
    return {
        "space": caller.space.value,
        "contexts": [context_of(caller).value],
        "compartments": [",".join(sorted(caller.clearance.compartments))],
    }


def _refused(claim: CallClaim, made: Mapping[CallId, str | None]) -> bool:
    return any(
        begun_before(
            None if (told := made[call]) is None else CallOutcome(told), own=call == claim.id
        )
        for call in (claim.id, *claim.earlier)
        if call in made
    )


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


_SEE_ALL: Final[LiteralString] = """
    SELECT set_config('portico.level', '3', true),
           set_config('portico.compartments', coalesce(string_agg(DISTINCT its, ','), ''), true)
      FROM (SELECT unnest(t.compartments) AS its FROM portico.taint_context t
             WHERE t.space_id = %(space)s AND t.compartments <> '{}'
             UNION
            SELECT unnest(s.label_compartments) FROM portico.server s
             WHERE s.space_id = %(space)s) AS every
"""
"""It is asked whether there is something, not what: a change counts whoever may know of it."""
_CHANGED: Final[LiteralString] = """
    SELECT EXISTS (
        SELECT FROM portico.tool_call
         WHERE space_id = %(space)s AND started_at >= %(oldest)s
           AND incarnation <> %(incarnation)s
           AND (principal_id = %(principal)s OR server = %(server)s
                OR (%(here)s AND NOT EXISTS (
                    SELECT FROM portico.server s
                     WHERE s.space_id = %(space)s AND s.name = tool_call.server
                       AND s.launch ->> 'type' = 'http')))
           AND effect = ANY(%(changing)s)
           AND CASE WHEN outcome IS NULL
                    THEN coalesce(due_at, started_at + %(unbounded)s) + %(margin)s >= %(now)s
                    WHEN outcome = ANY(%(known)s) THEN started_at + coalesce(took, '0') >= %(since)s
                    ELSE started_at + coalesce(took, '0') + %(rest)s >= %(since)s
               END) AS changed
"""
_CHANGING: Final = [str(effect) for effect in Effect if not effect.is_read_only]


class PostgresElsewhere:
    """`incarnation`: of this process, whose own changes are known without asking."""

    def __init__(self, transactions: Transactions, clock: Clock, incarnation: str) -> None:
        self._transactions = transactions
        self._clock = clock
        self._incarnation = incarnation

    async def changed_since(self, act: AccessRequest, since: datetime) -> bool:
        now, caller = self._clock.now(), act.caller
        asked = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "server": act.target.server,
            "here": act.target.here,
            "incarnation": self._incarnation,
            "changing": _CHANGING,
            "known": [*map(str, KNOWN)],
            "oldest": now - OLDEST,
            "unbounded": UNBOUNDED,
            "margin": MARGIN,
            "rest": REST,
            "since": since - SKEW,
            "now": now,
        }
        _, [found] = await self._transactions.stroke(caller, (_SEE_ALL, asked), (_CHANGED, asked))
        return bool(found["changed"])
