"""Work items in PostgreSQL: whoever changes one holds its row."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, LiteralString

from psycopg.errors import ForeignKeyViolation

from portico.adapters.postgres.bridge.visibility import cleared, no_write_down
from portico.adapters.postgres.mapping import Row, as_label, uuid_or_none
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.bridge.core.errors import ProjectNotFound, WorkNotFound
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
    asked_alike,
    claimed,
    handed_over,
    over,
)
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_NEEDED: Final[LiteralString] = """portico.work_item d
             WHERE d.space_id = w.space_id AND d.work_item_id = ANY (w.depends)
               AND d.level <= %(level)s AND d.compartments <@ %(compartments)s::text[]"""
_SELECT: Final[LiteralString] = f"""
    SELECT w.work_item_id, w.project_id, w.title, w.body, w.level, w.compartments, w.state,
           w.claimed_by, p.name, w.token, w.outcome, w.untrusted, w.made_by, w.made_at,
           w.changed_at,
           ARRAY(SELECT d.work_item_id FROM {_NEEDED}
                  ORDER BY array_position(w.depends, d.work_item_id)) AS depends,
           cardinality(w.depends) > (
               SELECT count(*) FROM {_NEEDED} AND d.state IN ('done', 'dropped')) AS held_up
      FROM portico.work_item w
      LEFT JOIN portico.principal p ON p.space_id = w.space_id AND p.principal_id = w.claimed_by
     WHERE w.space_id = %(space)s
       AND w.level <= %(level)s AND w.compartments <@ %(compartments)s::text[]
"""
_GET: Final[LiteralString] = f"{_SELECT} AND w.work_item_id = %(work)s"
_HOLD: Final[LiteralString] = f"{_GET} FOR UPDATE OF w"
_BY_KEY: Final[LiteralString] = f"""
    {_SELECT} AND w.made_by = %(principal)s AND w.key = %(key)s
     ORDER BY w.level DESC, cardinality(w.compartments) DESC,
              array_to_string(w.compartments, '+') COLLATE "C" DESC LIMIT 1
"""
_PAGE: Final[LiteralString] = f"""
    {_SELECT} AND w.project_id = %(project)s
       AND (%(state)s::text IS NULL OR w.state = %(state)s)
       AND (%(after)s::uuid IS NULL OR w.work_item_id > %(after)s)
     ORDER BY w.work_item_id LIMIT %(limit)s
"""
_LOCK: Final[LiteralString] = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))
"""
"""Of one key of one maker: the same asked twice at once is one after the other."""
_PROJECT: Final[LiteralString] = """
    SELECT project_id FROM portico.project
     WHERE space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
"""
_KNOWN: Final[LiteralString] = """
    SELECT work_item_id FROM portico.work_item
     WHERE space_id = %(space)s AND project_id = %(project)s AND work_item_id = ANY (%(depends)s)
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
"""
_ADD: Final[LiteralString] = """
    INSERT INTO portico.work_item (
        space_id, work_item_id, project_id, title, body, level, compartments, state, depends,
        untrusted, key, made_by, made_at, changed_at)
    VALUES (%(space)s, %(work)s, %(project)s, %(title)s, %(body)s, %(its_level)s,
            %(its_compartments)s, 'open', %(depends)s, %(untrusted)s, %(key)s, %(principal)s,
            %(at)s, %(at)s)
"""
_CHANGE: Final[LiteralString] = """
    UPDATE portico.work_item
       SET state = %(state)s, claimed_by = %(claimed_by)s, token = %(token)s,
           outcome = %(outcome)s, untrusted = %(untrusted)s, changed_at = %(changed)s
     WHERE space_id = %(space)s AND work_item_id = %(work)s
"""


class PostgresWorks:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(
        self,
        caller: Principal,
        id_: WorkItemId,
        work: NewWorkItem,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> WorkItem:
        values = {**cleared(caller), **_columns(id_, work, label)}
        values |= {"untrusted": untrusted, "at": at}
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            before = await _before(connection, caller, work, values)
            if before is not None:
                return before
            await _check_known(connection, work, values)
            await connection.execute(_ADD, values)
            return await _found(connection, _GET, values, id_)

    async def get(self, caller: Principal, work: WorkItemId) -> WorkItem:
        values = {**cleared(caller), "work": work.value}
        [rows] = await self._transactions.looked_up(caller, (_GET, values))
        if not rows:
            raise WorkNotFound(str(work))
        return _work(rows[0])

    async def page(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkItemStatus | None,
        after: WorkItemId | None,
        limit: int,
    ) -> Sequence[WorkItem]:
        values = {
            **cleared(caller),
            "project": project.value,
            "state": None if state is None else state.value,
            "after": None if after is None else after.value,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_PAGE, values))
        return [_work(row) for row in rows]

    async def claim(self, caller: Principal, work: WorkItemId, at: datetime) -> WorkItem:
        return await self._change(caller, work, lambda there: claimed(there, caller.id, at))

    async def hand_over(
        self, caller: Principal, work: WorkItemId, token: int, to: PrincipalId | None, at: datetime
    ) -> WorkItem:
        try:
            return await self._change(
                caller, work, lambda there: handed_over(there, caller.id, token, to, at)
            )
        except ForeignKeyViolation as error:
            raise PrincipalNotFound(str(to)) from error

    async def end(
        self, caller: Principal, ended: WorkEnded, at: datetime, *, untrusted: bool = False
    ) -> WorkItem:
        return await self._change(
            caller,
            ended.work,
            lambda there: over(there, ended, caller.id, at, untrusted=untrusted),
        )

    async def _change(
        self, caller: Principal, work: WorkItemId, change: Callable[[WorkItem], WorkItem]
    ) -> WorkItem:
        label = (await self.get(caller, work)).label
        values = {**cleared(caller), "work": work.value}
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            there = await _found(connection, _HOLD, values, work)
            changed = change(there)
            if changed == there:
                return there
            await connection.execute(_CHANGE, {**values, **_changed(changed)})
            return await _found(connection, _GET, values, work)


async def _before(
    connection: Connection, caller: Principal, work: NewWorkItem, values: dict[str, object]
) -> WorkItem | None:
    """Raises `KeyReused`."""
    if work.key is None:
        return None
    lock = {"lock": f"portico work {caller.space} {caller.id} {work.key}"}
    await connection.execute(_LOCK, lock)
    row = await (await connection.execute(_BY_KEY, values)).fetchone()
    if row is None:
        return None
    before = _work(row)
    if not asked_alike(before, work):
        raise KeyReused(work.key, before.label)
    return before


async def _check_known(
    connection: Connection, work: NewWorkItem, values: dict[str, object]
) -> None:
    """Raises `ProjectNotFound`, `WorkNotFound`."""
    if await (await connection.execute(_PROJECT, values)).fetchone() is None:
        raise ProjectNotFound(str(work.project))
    rows = await (await connection.execute(_KNOWN, values)).fetchall()
    known = {row["work_item_id"] for row in rows}
    for needed in work.depends:
        if needed.value not in known:
            raise WorkNotFound(str(needed))


async def _found(
    connection: Connection, statement: LiteralString, values: dict[str, object], work: WorkItemId
) -> WorkItem:
    row = await (await connection.execute(statement, values)).fetchone()
    if row is None:
        raise WorkNotFound(str(work))
    return _work(row)


def _columns(id_: WorkItemId, work: NewWorkItem, label: Label) -> dict[str, object]:
    return {
        "work": id_.value,
        "project": work.project.value,
        "title": work.title,
        "body": work.body,
        "its_level": int(label.level),
        "its_compartments": sorted(label.compartments),
        "depends": [each.value for each in dict.fromkeys(work.depends)],
        "key": work.key,
    }


def _changed(work: WorkItem) -> dict[str, object]:
    return {
        "state": work.state.value,
        "claimed_by": uuid_or_none(work.claimed_by),
        "token": work.token,
        "outcome": work.outcome,
        "untrusted": work.untrusted,
        "changed": work.changed_at,
    }


def _work(row: Row) -> WorkItem:
    return WorkItem(
        id=WorkItemId(row["work_item_id"]),
        project=ProjectId(row["project_id"]),
        title=row["title"],
        body=row["body"],
        label=as_label(row["level"], row["compartments"]),
        state=WorkItemStatus(row["state"]),
        depends=tuple(WorkItemId(each) for each in row["depends"]),
        held_up=row["held_up"],
        claimed_by=None if row["claimed_by"] is None else PrincipalId(row["claimed_by"]),
        claimed_by_name=row["name"],
        token=row["token"],
        outcome=row["outcome"],
        untrusted=row["untrusted"],
        made_by=PrincipalId(row["made_by"]),
        made_at=row["made_at"],
        changed_at=row["changed_at"],
    )
