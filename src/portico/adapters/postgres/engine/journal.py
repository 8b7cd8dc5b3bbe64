"""The journal of runs in PostgreSQL: nothing is written but by whoever has the claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Json

from portico.adapters.postgres.engine.event_log import asking, telling, told_values
from portico.adapters.postgres.engine.runs import RUN_COLUMNS, run_from, step_from
from portico.adapters.postgres.mapping import as_label, identity_from
from portico.adapters.postgres.transaction import Connection, EnginePool, Transactions
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Activation, ClaimedActivation, Failure, Run, RunStatus, Step
from portico.engine.ports import Bus, EventLog
from portico.engine.runs import run_entries
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Identity
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import EventId, PrincipalId, SpaceId, uuid7
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import meet
from portico.kernel.principal import Principal, PrincipalKind

_CLAIM: Final[LiteralString] = """
    UPDATE portico.run
       SET claim = %(claim)s, executor = %(executor)s, status = 'running', wakes_at = NULL,
           attempts = attempts + 1, started_at = coalesce(started_at, now()), changed_at = now()
     WHERE run_id = %(run)s AND leg = %(leg)s AND status IN ('queued', 'running')
    RETURNING space_id, principal_id, clearance_level, clearance_compartments
"""
_WHERE: Final[LiteralString] = "WHERE space_id = %(space)s AND run_id = %(run)s"
_LOAD: Final[LiteralString] = f"SELECT {RUN_COLUMNS} FROM portico.run {_WHERE}"
_STEPS: Final[LiteralString] = f"""
    SELECT name, number, state, output, error, due_at, started_at, finished_at
      FROM portico.run_step {_WHERE}
"""
_IDENTITY: Final[LiteralString] = """
    SELECT principal_id, space_id, kind, name, roles, grants, level, compartments, tools,
           created_at, disabled_at
      FROM portico.principal WHERE space_id = %(space)s AND principal_id = %(principal)s
"""
_MINE: Final[LiteralString] = f"""
    SELECT space_id, run_id, level, compartments
      FROM portico.run {_WHERE} AND claim = %(claim)s
"""
_FINISH: Final[LiteralString] = """
    SELECT portico.finish_step(
        %(space)s, %(principal)s, %(asking_level)s::smallint, %(asking_compartments)s, %(run)s,
        %(claim)s, %(name)s, %(number)s, %(state)s, %(output)s, %(error)s, %(due)s, %(started)s,
        %(finished)s, %(topic)s, %(event)s, %(type)s, %(facts)s) AS mine
"""
_HOLD: Final[LiteralString] = f"{_MINE} FOR UPDATE"
_ANSWERS: Final[LiteralString] = f"""
    SELECT topic, payload FROM portico.run_signal {_WHERE} AND topic = ANY(%(topics)s)
"""
_PARK: Final[LiteralString] = f"""
    UPDATE portico.run
       SET status = 'waiting', claim = NULL, executor = NULL, leg = leg + 1, attempts = 0,
           waits_for = %(topics)s, wakes_at = %(wakes)s, changed_at = now()
    {_WHERE}
"""
_SETTLE: Final[LiteralString] = f"""
    WITH over AS (
        UPDATE portico.run
           SET status = %(status)s, result = %(result)s, error = %(error)s, claim = NULL,
               executor = NULL, waits_for = '{{}}', wakes_at = NULL, finished_at = now(),
               changed_at = now()
        {_WHERE} AND claim = %(claim)s
        RETURNING run_id
    ), {telling("over", 2)}
    SELECT count(*) AS mine FROM over
"""
_BEGUN: Final[LiteralString] = f"""
    WITH mine AS (
        {_MINE}
    ), {telling("mine", 2)}
    SELECT count(*) AS mine FROM mine
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresJournal:
    """The engine's role claims, knowing only ids; everything else is done in the name of whoever
    the run is for, behind the same walls as they are."""

    executor: str
    engine: EnginePool
    transactions: Transactions
    log: EventLog
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        claim = uuid7(self.clock.now(), self.entropy(8))
        asked = {
            "run": leg.run.value,
            "leg": leg.number,
            "claim": claim,
            "executor": self.executor,
        }
        row = await self.engine.one(_CLAIM, asked)
        if row is None:
            return None
        stand_in = Principal(
            id=PrincipalId(row["principal_id"]),
            space=SpaceId(row["space_id"]),
            kind=PrincipalKind.WORKER,
            name="engine",
            clearance=as_label(row["clearance_level"], row["clearance_compartments"]),
        )
        taken = await self._loaded(stand_in, leg, claim)
        if taken is not None:
            told = run_entries(taken.run, *_beginning(taken.run))
            await self._told(stand_in, _BEGUN, _which(taken), told)
        return taken

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        values = {
            **_which(taken),
            "name": step.name,
            "number": step.number,
            "state": step.state,
            "output": Json(step.output),
            "error": None if step.failure is None else Json(step.failure.as_json()),
            "due": step.due_at,
            "started": step.started_at,
            "finished": step.finished_at,
            "topic": told.topic,
            "event": EventId.mint(self.clock.now(), self.entropy).value,
            "type": told.type,
            "facts": Json(told.details),
            **asking(taken.worker),
        }
        row = await self.transactions.at_once(_FINISH, values)
        self.bus.wake(taken.run.space, told.topic)
        return bool(row["mine"])

    async def announce(self, taken: ClaimedActivation, told: Sequence[NewEntry]) -> bool:
        async with self.transactions.begin(taken.worker) as connection:
            if not await _holds(connection, taken):
                return False
            await self.log.append(taken.worker, told)
            return True

    async def answer(
        self, taken: ClaimedActivation, topics: Sequence[str]
    ) -> Mapping[str, JsonValue] | None:
        async with self.transactions.begin(taken.worker) as connection:
            if not await _holds(connection, taken):
                return None
            return await _answers(connection, taken, topics)

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        async with self.transactions.begin(taken.worker) as connection:
            if not await _holds(connection, taken):
                return False
            if await _answers(connection, taken, topics):
                return None
            values = {**_which(taken), "topics": [*topics], "wakes": wakes_at}
            await connection.execute(_PARK, values)
            facts: JsonObject = {
                "for": [*topics],
                "until": None if wakes_at is None else wakes_at.isoformat(),
            }
            await self.log.append(taken.worker, run_entries(taken.run, "run.waiting", facts))
            return True

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        error = None if failure is None else failure.as_json()
        values = {
            **_which(taken),
            "status": status,
            "result": Json(result),
            "error": None if error is None else Json(error),
        }
        facts: JsonObject = {} if error is None else {"error": error}
        told = run_entries(taken.run, f"run.{status}", facts)
        return await self._told(taken.worker, _SETTLE, values, told)

    async def _told(
        self,
        caller: Principal,
        statement: LiteralString,
        values: Mapping[str, object],
        told: Sequence[NewEntry],
    ) -> bool:
        """Whether the claim still held, so that it was done."""
        events = [EventId.mint(self.clock.now(), self.entropy) for _ in told]
        both = {**values, **told_values(caller, told, events)}
        ((row,),) = await self.transactions.stroke(caller, (statement, both))
        for entry in told:
            self.bus.wake(caller.space, entry.topic)
        return bool(row["mine"])

    async def _loaded(
        self, stand_in: Principal, leg: Activation, claim: UUID
    ) -> ClaimedActivation | None:
        asked = {
            "space": stand_in.space.value,
            "run": leg.run.value,
            "principal": stand_in.id.value,
        }
        runs, steps, identities = await self.transactions.stroke(
            stand_in, (_LOAD, asked), (_STEPS, asked), (_IDENTITY, asked)
        )
        if not runs or not identities:
            return None  # the space was deleted meanwhile
        return _taken(run_from(runs[0]), identity_from(identities[0]), claim, steps)


def _taken(
    run: Run, identity: Identity, claim: UUID, steps: Sequence[DictRow]
) -> ClaimedActivation:
    clearance = meet(identity.clearance, run.clearance)
    barred = _barred(identity, cleared=clearance.covers(run.label))
    whole = as_principal(identity)
    worker = replace(
        whole,
        scopes=frozenset(whole.scopes & run.scopes),
        clearance=clearance if barred is None else run.clearance,
    )
    done = [step_from(step) for step in steps]
    return ClaimedActivation(run=run, worker=worker, claim=claim, steps=done, barred=barred)


def _barred(identity: Identity, *, cleared: bool) -> str | None:
    if identity.disabled_at is not None:
        return "Whoever it is for has been disabled."
    return None if cleared else "Whoever it is for is not cleared for it any more."


def _beginning(run: Run) -> tuple[str, JsonObject]:
    if run.attempts > 1:
        return "run.taken_over", {"attempt": run.attempts}
    return ("run.started" if run.leg == 1 else "run.woken"), {}


def _which(taken: ClaimedActivation) -> dict[str, object]:
    return {
        "space": taken.run.space.value,
        "run": taken.run.id.value,
        "principal": taken.run.principal.value,
        "claim": taken.claim,
    }


async def _holds(connection: Connection, taken: ClaimedActivation) -> bool:
    return await (await connection.execute(_HOLD, _which(taken))).fetchone() is not None


async def _answers(
    connection: Connection, taken: ClaimedActivation, topics: Sequence[str]
) -> Mapping[str, JsonValue]:
    values = {**_which(taken), "topics": [*topics]}
    return {
        row["topic"]: row["payload"]
        for row in await (await connection.execute(_ANSWERS, values)).fetchall()
    }
