"""Runs in PostgreSQL, as seen and changed from outside."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, LiteralString

import psycopg
from psycopg.rows import DictRow
from psycopg.types.json import Json

from portico.adapters.postgres.engine.event_log import telling, told_values
from portico.adapters.postgres.mapping import as_label
from portico.adapters.postgres.transaction import Connection, Part, Transactions
from portico.adapters.telemetry.spans import traceparent
from portico.engine.core.errors import (
    AlreadyAnswered,
    KeyReused,
    RunNotFound,
    RunNotOver,
    RunOver,
    TopicRefused,
)
from portico.engine.core.runs import (
    Activation,
    Failure,
    QueuedActivation,
    QueuePlacement,
    Run,
    RunPosition,
    RunStatus,
    Step,
    StepState,
)
from portico.engine.ports import Bus, EventLog
from portico.engine.runs import ALL_RUNS, run_entries
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import EventId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

Row = Mapping[str, Any]

RUN_COLUMNS: Final[LiteralString] = """
    space_id, run_id, principal_id, kind, level, compartments, clearance_level,
    clearance_compartments, scopes, queue, partition_key, priority, status, leg, attempts,
    waits_for, wakes_at, forked_from, trace, input, result, error, created_at, started_at,
    finished_at
"""
INSERT_RUN: Final[LiteralString] = f"""
    WITH added AS (
    INSERT INTO portico.run (
        space_id, run_id, principal_id, kind, fingerprint, level, compartments, clearance_level,
        clearance_compartments, scopes, queue, partition_key, priority, status, forked_from,
        trace, input, created_at
    ) VALUES (
        %(space)s, %(run)s, %(principal)s, %(kind)s, %(fingerprint)s, %(level)s, %(compartments)s,
        %(clearance_level)s, %(clearance_compartments)s, %(scopes)s, %(queue)s, %(partition)s,
        %(priority)s, 'queued', %(forked_from)s, %(trace)s, %(input)s, %(created)s
    ) ON CONFLICT DO NOTHING
    RETURNING run_id
    ), {telling("added", 2)}
    SELECT count(*) AS added FROM added
"""


def run_row(run: Run, fingerprint: str) -> dict[str, object]:
    return {
        "space": run.space.value,
        "run": run.id.value,
        "principal": run.principal.value,
        "kind": run.kind,
        "fingerprint": fingerprint,
        "level": int(run.label.level),
        "compartments": sorted(run.label.compartments),
        "clearance_level": int(run.clearance.level),
        "clearance_compartments": sorted(run.clearance.compartments),
        "scopes": sorted(run.scopes),
        "queue": run.placement.queue,
        "partition": run.placement.partition,
        "priority": run.placement.priority,
        "forked_from": None if run.forked_from is None else run.forked_from.value,
        "trace": run.trace,
        "input": Json(run.input),
        "created": run.created_at,
    }


def run_from(row: Row) -> Run:
    return Run(
        id=RunId(row["run_id"]),
        space=SpaceId(row["space_id"]),
        principal=PrincipalId(row["principal_id"]),
        kind=row["kind"],
        label=as_label(row["level"], row["compartments"]),
        clearance=as_label(row["clearance_level"], row["clearance_compartments"]),
        scopes=frozenset(row["scopes"]),
        placement=place_from(row),
        status=RunStatus(row["status"]),
        input=row["input"],
        created_at=row["created_at"],
        leg=row["leg"],
        attempts=row["attempts"],
        waits_for=tuple(row["waits_for"]),
        wakes_at=row["wakes_at"],
        forked_from=None if row["forked_from"] is None else RunId(row["forked_from"]),
        trace=row["trace"],
        result=row["result"],
        failure=_failure(row["error"]),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


def place_from(row: Row) -> QueuePlacement:
    return QueuePlacement(
        queue=row["queue"], partition=row["partition_key"], priority=row["priority"]
    )


def turn_from(row: Row) -> QueuedActivation:
    return QueuedActivation(Activation(RunId(row["run_id"]), row["leg"]), place_from(row))


def step_from(row: Row) -> Step:
    return Step(
        name=row["name"],
        number=row["number"],
        state=StepState(row["state"]),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        due_at=row["due_at"],
        output=row["output"],
        failure=_failure(row["error"]),
    )


def _failure(error: Row | None) -> Failure | None:
    return None if error is None else Failure(**error)


_WHERE: Final[LiteralString] = "WHERE space_id = %(space)s AND run_id = %(run)s"
_GET: Final[LiteralString] = f"SELECT {RUN_COLUMNS}, fingerprint FROM portico.run {_WHERE}"
_HOLD: Final[LiteralString] = f"{_GET} FOR UPDATE"
_PAGE: Final[LiteralString] = f"""
    SELECT {RUN_COLUMNS} FROM portico.run
     WHERE space_id = %(space)s
       AND (%(statuses)s::text[] = '{{}}' OR status = ANY(%(statuses)s))
       AND (%(kind)s::text IS NULL OR kind = %(kind)s)
       AND (%(of)s::uuid IS NULL OR principal_id = %(of)s)
       AND (%(before)s::uuid IS NULL
            OR (created_at, run_id) < (%(created)s::timestamptz, %(before)s::uuid))
     ORDER BY created_at DESC, run_id DESC LIMIT %(limit)s
"""
_STEPS: Final[LiteralString] = f"""
    SELECT name, number, state, output, error, due_at, started_at, finished_at
      FROM portico.run_step {_WHERE}
     ORDER BY state = 'open', number, started_at, name
"""
_PROGRESS: Final[LiteralString] = """
    SELECT run_id, count(*) AS steps FROM portico.run_step
     WHERE space_id = %(space)s AND run_id = ANY(%(runs)s) AND state <> 'open'
     GROUP BY run_id
"""
_COPY_STEPS: Final[LiteralString] = """
    INSERT INTO portico.run_step (space_id, run_id, name, number, state, level, compartments,
                                  output, error, due_at, started_at, finished_at)
    SELECT space_id, %(run)s, name, number, state, level, compartments,
           output, error, due_at, started_at, finished_at
      FROM portico.run_step
     WHERE space_id = %(space)s AND run_id = %(source)s
       AND state <> 'open' AND number < %(before)s
"""
_COPY_THESE: Final[LiteralString] = """
    INSERT INTO portico.run_step (space_id, run_id, name, number, state, level, compartments,
                                  output, error, due_at, started_at, finished_at)
    SELECT space_id, %(run)s, name, number, state, level, compartments,
           output, error, due_at, started_at, finished_at
      FROM portico.run_step
     WHERE space_id = %(space)s AND run_id = %(source)s
       AND state <> 'open' AND name = ANY(%(names)s)
"""
_CANCEL: Final[LiteralString] = f"""
    UPDATE portico.run
       SET status = 'cancelled', claim = NULL, executor = NULL, waits_for = '{{}}',
           wakes_at = NULL, finished_at = now(), changed_at = now()
    {_WHERE}
"""
_FORGET_FAILED: Final[LiteralString] = f"""
    DELETE FROM portico.run_step {_WHERE} AND state = 'failed' AND name = %(step)s
"""
_FORGET_THESE: Final[LiteralString] = f"""
    DELETE FROM portico.run_step {_WHERE} AND name = ANY(%(names)s)
"""
_AGAIN: Final[LiteralString] = f"""
    UPDATE portico.run
       SET status = 'queued', leg = leg + 1, claim = NULL, executor = NULL, attempts = 0,
           error = NULL, finished_at = NULL, changed_at = now()
    {_WHERE}
    RETURNING run_id, leg, queue, partition_key, priority
"""
_LEND: Final[LiteralString] = f"""
    UPDATE portico.run
       SET input = %(input)s, scopes = %(scopes)s, clearance_level = %(level)s,
           clearance_compartments = %(compartments)s
    {_WHERE}
"""
_SEND: Final[LiteralString] = """
    INSERT INTO portico.run_signal
           (space_id, run_id, topic, level, compartments, principal_id, payload)
    VALUES (%(space)s, %(run)s, %(topic)s, %(level)s, %(compartments)s, %(by)s, %(payload)s)
    ON CONFLICT DO NOTHING
"""
_WAKE: Final[LiteralString] = f"""
    UPDATE portico.run SET status = 'queued', waits_for = '{{}}', wakes_at = NULL,
           changed_at = now()
    {_WHERE} AND status = 'waiting' AND %(topic)s = ANY(waits_for)
    RETURNING run_id, leg, queue, partition_key, priority
"""


class PostgresRunQueries:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(self, caller: Principal, run: RunId) -> Run:
        async with self._transactions.begin(caller) as connection:
            return await _found(connection, _GET, caller, run)

    async def page(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus],
        kind: str | None,
        before: RunPosition | None,
        limit: int,
        of: PrincipalId | None = None,
    ) -> Sequence[Run]:
        asked = {
            "space": caller.space.value,
            "statuses": [*statuses],
            "kind": kind,
            "of": None if of is None else of.value,
            "created": None if before is None else before.created_at,
            "before": None if before is None else before.run.value,
            "limit": limit,
        }
        async with self._transactions.begin(caller) as connection:
            return [
                run_from(row) for row in await (await connection.execute(_PAGE, asked)).fetchall()
            ]

    async def steps(self, caller: Principal, run: RunId) -> Sequence[Step]:
        asked = {"space": caller.space.value, "run": run.value}
        async with self._transactions.begin(caller) as connection:
            return [
                step_from(row) for row in await (await connection.execute(_STEPS, asked)).fetchall()
            ]

    async def progress(self, caller: Principal, runs: Sequence[RunId]) -> Mapping[RunId, int]:
        asked = {"space": caller.space.value, "runs": [run.value for run in runs]}
        async with self._transactions.begin(caller) as connection:
            counted = await connection.execute(_PROGRESS, asked)
            return {RunId(row["run_id"]): row["steps"] for row in await counted.fetchall()}


class PostgresRuns:
    """Whatever changes a run holds its row, so that no two changes are made of the same state."""

    def __init__(
        self,
        transactions: Transactions,
        log: EventLog,
        *,
        bus: Bus,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._transactions = transactions
        self._log = log
        self._bus = bus
        self._clock = clock
        self._entropy = entropy

    async def add(
        self, caller: Principal, run: Run, fingerprint: str
    ) -> tuple[Run, QueuedActivation | None]:
        inserting = (INSERT_RUN, self._new(caller, run, fingerprint))
        looking = (_GET, _which(caller, run.id))
        try:
            if self._transactions.inside:
                (counted,), found = await self._joining(caller, inserting, looking)
            else:
                (counted,), found = await self._transactions.stroke(caller, inserting, looking)
        except psycopg.errors.InsufficientPrivilege as error:
            raise TopicRefused from error
        return self._added(caller, run, fingerprint, new=bool(counted["added"]), found=found)

    async def fork(
        self, caller: Principal, source: RunId, run: Run, *, before: int
    ) -> tuple[Run, QueuedActivation | None]:
        copied = (_COPY_STEPS, {"source": source.value, "before": before})
        return await self._forked(caller, run, f"fork of {source} before {before}", copied)

    async def fork_with(
        self, caller: Principal, source: RunId, run: Run, *, steps: Collection[str], asked: str
    ) -> tuple[Run, QueuedActivation | None]:
        copied = (_COPY_THESE, {"source": source.value, "names": [*steps]})
        return await self._forked(caller, run, asked, copied)

    async def _forked(
        self, caller: Principal, run: Run, fingerprint: str, copied: Part
    ) -> tuple[Run, QueuedActivation | None]:
        which = _which(caller, run.id)
        async with self._transactions.begin(caller) as connection:
            new = self._new(caller, run, fingerprint)
            row = await (await connection.execute(INSERT_RUN, new)).fetchone()
            added = row is not None and bool(row["added"])
            if added:
                await connection.execute(copied[0], {**which, **copied[1]})
            found = await (await connection.execute(_GET, which)).fetchall()
        return self._added(caller, run, fingerprint, new=added, found=found)

    async def cancel(self, caller: Principal, run: RunId) -> QueuedActivation | None:
        async with self._transactions.begin(caller) as connection:
            found = await _found(connection, _HOLD, caller, run)
            if found.status.over:
                raise RunOver(str(run), found.status)
            await connection.execute(_CANCEL, _which(caller, run))
            await self._tell(caller, found, "run.cancelled", {"by": caller.name})
            if found.status is not RunStatus.QUEUED:
                return None  # it stands in no line
            return QueuedActivation(Activation(run, found.leg), found.placement)

    async def resume(
        self,
        caller: Principal,
        run: RunId,
        *,
        anew: Collection[str] = (),
        given: JsonObject | None = None,
    ) -> QueuedActivation:
        async with self._transactions.begin(caller) as connection:
            found = await _found(connection, _HOLD, caller, run)
            if not found.status.over or found.status is RunStatus.DONE:
                raise RunNotOver(str(run), found.status)
            if found.failure is not None:
                failed = {**_which(caller, run), "step": found.failure.step}
                await connection.execute(_FORGET_FAILED, failed)
            if anew:
                names = {**_which(caller, run), "names": [*anew]}
                await connection.execute(_FORGET_THESE, names)
            if given is not None:
                await connection.execute(_LEND, _lent(caller, run, given))
            row = await (await connection.execute(_AGAIN, _which(caller, run))).fetchone()
            if row is None:
                raise RunNotFound(str(run))
            await self._tell(caller, found, "run.resumed", {"by": caller.name})
            return turn_from(row)

    async def signal(
        self, caller: Principal, run: RunId, topic: str, payload: JsonValue
    ) -> QueuedActivation | None:
        async with self._transactions.begin(caller) as connection:
            found = await _found(connection, _HOLD, caller, run)
            if found.status.over:
                raise RunOver(str(run), found.status)
            values = {
                **_which(caller, run),
                "topic": topic,
                "level": int(found.label.level),
                "compartments": sorted(found.label.compartments),
                "by": caller.id.value,
                "payload": Json(payload),
            }
            if (await connection.execute(_SEND, values)).rowcount == 0:
                raise AlreadyAnswered(topic)
            await self._tell(caller, found, "run.signalled", {"topic": topic, "by": caller.name})
            row = await (await connection.execute(_WAKE, values)).fetchone()
            return None if row is None else turn_from(row)

    async def _joining(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        """As part of what is open already: all of it is written, or none."""
        async with self._transactions.begin(caller) as connection:
            return [
                await (await connection.execute(statement, values)).fetchall()
                for statement, values in parts
            ]

    def _new(self, caller: Principal, run: Run, fingerprint: str) -> Mapping[str, object]:
        told = run_entries(run, "run.queued", {})
        events = [EventId.mint(self._clock.now(), self._entropy) for _ in told]
        asked = {**run_row(run, fingerprint), "trace": traceparent()}
        return {**asked, **told_values(caller, told, events)}

    def _added(
        self,
        caller: Principal,
        run: Run,
        fingerprint: str,
        *,
        new: bool,
        found: Sequence[DictRow],
    ) -> tuple[Run, QueuedActivation | None]:
        """Raises `KeyReused`."""
        if not found or found[0]["fingerprint"] != fingerprint:
            raise KeyReused(str(run.id))
        there = run_from(found[0])
        if not new:
            return there, None
        for topic in (str(run.id), ALL_RUNS):
            self._transactions.afterwards(partial(self._bus.wake, caller.space, topic))
        return there, QueuedActivation(Activation(run.id, run.leg), run.placement)

    async def _tell(self, caller: Principal, run: Run, type_: str, facts: JsonObject) -> None:
        await self._log.append(caller, run_entries(run, type_, facts))


def _which(caller: Principal, run: RunId) -> dict[str, object]:
    return {"space": caller.space.value, "run": run.value}


async def _found(
    connection: Connection, query: LiteralString, caller: Principal, run: RunId
) -> Run:
    row = await (await connection.execute(query, _which(caller, run))).fetchone()
    if row is None:
        raise RunNotFound(str(run))
    return run_from(row)


def _lent(caller: Principal, run: RunId, given: JsonObject) -> dict[str, object]:
    return {
        **_which(caller, run),
        "input": Json(given),
        "scopes": sorted(caller.scopes),
        "level": int(caller.clearance.level),
        "compartments": sorted(caller.clearance.compartments),
    }
