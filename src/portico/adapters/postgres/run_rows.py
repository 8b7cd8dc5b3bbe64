"""From rows to runs and steps, and back."""

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from psycopg.types.json import Json

from portico.adapters.postgres.rows import as_label
from portico.adapters.postgres.telling import telling
from portico.engine.core.runs import Failure, Leg, Place, Run, RunStatus, Step, StepState, Turn
from portico.kernel.ids import PrincipalId, RunId, SpaceId

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
        "queue": run.place.queue,
        "partition": run.place.partition,
        "priority": run.place.priority,
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
        place=place_from(row),
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


def place_from(row: Row) -> Place:
    return Place(queue=row["queue"], partition=row["partition_key"], priority=row["priority"])


def turn_from(row: Row) -> Turn:
    return Turn(Leg(RunId(row["run_id"]), row["leg"]), place_from(row))


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
