"""Leases of the bridge in PostgreSQL, by its clock."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, LiteralString

from portico.adapters.postgres.bridge.visibility import cleared, mark_of, no_write_down
from portico.adapters.postgres.mapping import Row, as_label
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.bridge.core.errors import LeaseHeld, LeaseLost, ProjectNotFound
from portico.bridge.core.leases import (
    WAITS_FOR,
    Lease,
    LeaseId,
    LeaseSpec,
    Waiting,
    check_alike,
    check_free,
    check_number,
    holds,
)
from portico.bridge.core.messages import check_shared
from portico.bridge.core.projects import ProjectId
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# Leases, kept in PostgreSQL, by its clock.
#
# Whether a wish is in the way of another is decided in the core, under the lock of the project: one
# of its leases is given at a time.

_COLUMNS: Final[LiteralString] = """l.lease_id, l.project_id, l.level, l.compartments, l.resource,
    l.purpose, l.principal_id, p.name, l.token, l.since, l.expires_at"""
_SEEN: Final[LiteralString] = """l.space_id = %(space)s
       AND l.level <= %(level)s AND l.compartments <@ %(compartments)s::text[]"""
_PROJECT: Final[LiteralString] = f"""
    SELECT l.level, l.compartments FROM portico.project l
     WHERE {_SEEN} AND l.project_id = %(project)s
"""
_LOCK: Final[LiteralString] = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))
"""
_NOW: Final[LiteralString] = "SELECT clock_timestamp() AS now"
"""Once the lock is held: a transaction may have begun long before."""
_SWEEP: Final[LiteralString] = """
    DELETE FROM portico.lease
     WHERE space_id = %(space)s AND project_id = %(project)s AND expires_at <= %(now)s
"""
_FROM: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.lease l JOIN portico.principal p USING (space_id, principal_id)
"""
_ALL: Final[LiteralString] = f"""
    {_FROM} WHERE {_SEEN} AND l.project_id = %(project)s
       AND l.expires_at > coalesce(%(now)s, clock_timestamp()) ORDER BY l.since, l.lease_id
"""
_GET: Final[LiteralString] = f"""
    {_FROM} WHERE {_SEEN} AND l.lease_id = %(lease)s AND l.token IS NOT NULL
       AND l.expires_at > clock_timestamp()
"""
_TOKEN: Final[LiteralString] = "SELECT portico.bridge_next_token(%(project)s) AS token"  # noqa: S105 # a statement
_PUT: Final[LiteralString] = """
    INSERT INTO portico.lease (space_id, lease_id, project_id, level, compartments, resource,
                               purpose, principal_id, token, since, expires_at)
    VALUES (%(space)s, %(lease)s, %(project)s, %(its_level)s, %(its_compartments)s, %(resource)s,
            %(purpose)s, %(principal)s, %(token)s, %(now)s, %(now)s + %(lasts)s)
    RETURNING *, %(name)s::text AS name
"""
_STOP_WAITING: Final[LiteralString] = """
    DELETE FROM portico.lease
     WHERE space_id = %(space)s AND project_id = %(project)s AND principal_id = %(principal)s
       AND resource = %(resource)s AND token IS NULL
"""
_WAIT_ON: Final[LiteralString] = """
    UPDATE portico.lease SET expires_at = %(now)s + %(lasts)s
     WHERE space_id = %(space)s AND project_id = %(project)s AND principal_id = %(principal)s
       AND resource = %(resource)s AND token IS NULL
"""
_OWN: Final[
    LiteralString
] = f"""{_SEEN} AND l.lease_id = %(lease)s AND l.principal_id = %(principal)s
       AND l.token = %(token)s AND l.expires_at > clock_timestamp()"""
_RENEW: Final[LiteralString] = f"""
    UPDATE portico.lease l SET expires_at = clock_timestamp() + %(lasts)s
      FROM portico.principal p
     WHERE p.space_id = l.space_id AND p.principal_id = l.principal_id AND {_OWN}
    RETURNING {_COLUMNS}
"""
_RELEASE: Final[LiteralString] = f"""
    DELETE FROM portico.lease l WHERE {_OWN} RETURNING l.lease_id
"""


class PostgresLeases:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def take(self, caller: Principal, id_: LeaseId, wish: LeaseSpec) -> Lease:
        label = await self._label(caller, wish.project)
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            taken = await _taken(connection, caller, id_, wish, label)
        if isinstance(taken, LeaseHeld):  # only now: their place in the queue is to stay
            raise taken
        return taken

    async def get(self, caller: Principal, lease: LeaseId) -> Lease:
        return _lease(await self._row(caller, lease))

    async def renew(
        self, caller: Principal, lease: LeaseId, token: int, *, for_: timedelta
    ) -> Lease:
        row = await self._row(caller, lease)
        async with no_write_down(self._transactions, caller, _label(row)):
            values = {**cleared(caller), "lease": lease.value, "token": token, "lasts": for_}
            [rows] = await self._transactions.looked_up(caller, (_RENEW, values))
        if not rows:
            raise LeaseLost(row["resource"])
        return _lease(rows[0])

    async def release(self, caller: Principal, lease: LeaseId, token: int) -> None:
        row = await self._row(caller, lease)
        values = {**cleared(caller), "lease": lease.value, "token": token}
        [rows] = await self._transactions.looked_up(caller, (_RELEASE, values))
        if not rows:  # a task that has read more cannot see what it would take away
            check_shared(_label(row), await mark_of(self._transactions, caller))
            raise LeaseLost(row["resource"])

    async def check(
        self, caller: Principal, project: ProjectId, resource: str, token: int
    ) -> Lease:
        held, _ = await self.all(caller, project)
        for lease in held:
            if lease.token == token and holds(lease.resource, resource):
                return lease
        raise LeaseLost(resource)

    async def all(
        self, caller: Principal, project: ProjectId
    ) -> tuple[Sequence[Lease], Sequence[Waiting]]:
        values = {**cleared(caller), "project": project.value, "now": None}
        found, rows = await self._transactions.looked_up(caller, (_PROJECT, values), (_ALL, values))
        if not found:
            raise ProjectNotFound(str(project))
        return _held(rows), _queue(rows)

    async def _label(self, caller: Principal, project: ProjectId) -> Label:
        values = {**cleared(caller), "project": project.value}
        [rows] = await self._transactions.looked_up(caller, (_PROJECT, values))
        if not rows:
            raise ProjectNotFound(str(project))
        return _label(rows[0])

    async def _row(self, caller: Principal, lease: LeaseId) -> Row:
        values = {**cleared(caller), "lease": lease.value}
        [rows] = await self._transactions.looked_up(caller, (_GET, values))
        if not rows:
            raise LeaseLost(str(lease))
        return rows[0]


async def _taken(
    connection: Connection, caller: Principal, id_: LeaseId, wish: LeaseSpec, label: Label
) -> Lease | LeaseHeld:
    values = {**cleared(caller), **_wished(id_, wish, label), "name": caller.name}
    values["lock"] = f"portico leases {caller.space} {wish.project}"
    await connection.execute(_LOCK, values)
    values |= await _one(connection, _NOW)
    await connection.execute(_SWEEP, values)
    rows = await (await connection.execute(_ALL, values)).fetchall()
    held, queue = _held(rows), _queue(rows)
    for row in rows:
        if (row["lease_id"], row["principal_id"]) == (id_.value, caller.id.value):
            check_alike(wish, row["resource"])
            if row["token"] is not None:
                return _lease(row)
    check_number(wish, caller.id, held=held, queue=queue)
    try:
        check_free(wish, caller.id, held=held, queue=queue)
    except LeaseHeld as error:
        if wish.wait:
            await _wait(connection, values)
        return error
    await connection.execute(_STOP_WAITING, values)
    values |= await _one(connection, _TOKEN, values)
    return _lease(await _one(connection, _PUT, {**values, "lasts": wish.lasts}))


async def _wait(connection: Connection, values: dict[str, object]) -> None:
    values = {**values, "token": None, "lasts": WAITS_FOR}
    if (await connection.execute(_WAIT_ON, values)).rowcount == 0:
        await connection.execute(_PUT, values)


async def _one(
    connection: Connection, statement: LiteralString, values: Mapping[str, object] | None = None
) -> dict[str, Any]:
    row = await (await connection.execute(statement, values)).fetchone()
    return {} if row is None else row


def _wished(id_: LeaseId, wish: LeaseSpec, label: Label) -> dict[str, object]:
    return {
        "lease": id_.value,
        "project": wish.project.value,
        "resource": wish.resource,
        "purpose": wish.purpose,
        "its_level": int(label.level),
        "its_compartments": sorted(label.compartments),
    }


def _held(rows: Sequence[Row]) -> Sequence[Lease]:
    return [_lease(row) for row in rows if row["token"] is not None]


def _queue(rows: Sequence[Row]) -> Sequence[Waiting]:
    return [
        Waiting(
            principal=PrincipalId(row["principal_id"]),
            name=row["name"],
            resource=row["resource"],
            since=row["since"],
            until=row["expires_at"],
        )
        for row in rows
        if row["token"] is None
    ]


def _label(row: Row) -> Label:
    return as_label(row["level"], row["compartments"])


def _lease(row: Row) -> Lease:
    return Lease(
        id=LeaseId(row["lease_id"]),
        project=ProjectId(row["project_id"]),
        resource=row["resource"],
        holder=PrincipalId(row["principal_id"]),
        holder_name=row["name"],
        token=row["token"],
        taken_at=row["since"],
        expires_at=row["expires_at"],
        purpose=row["purpose"],
    )
