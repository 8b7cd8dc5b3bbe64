"""Saved workflows in PostgreSQL."""

import json
from collections.abc import Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.mapping import Row, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal
from portico.workflows.core.saved import SavedWorkflow, WorkflowNotFound

_COLUMNS: Final[LiteralString] = (
    "name, plan::text AS plan, description, effect, saved_by, saved_by_name, saved_at, changed_at"
)
_ALL: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM saved_workflow WHERE space_id = %(space)s ORDER BY name COLLATE "C"
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM saved_workflow WHERE space_id = %(space)s AND name = %(name)s
"""
_PUT: Final[LiteralString] = """
    INSERT INTO saved_workflow (space_id, name, plan, description, effect, saved_by,
                                saved_by_name, saved_at, changed_at)
    VALUES (%(space)s, %(name)s, %(plan)s::json, %(description)s, %(effect)s, %(by)s,
            %(by_name)s, %(saved)s, %(changed)s)
    ON CONFLICT (space_id, name) DO UPDATE
       SET plan = excluded.plan, description = excluded.description, effect = excluded.effect,
           saved_by = excluded.saved_by, saved_by_name = excluded.saved_by_name,
           changed_at = excluded.changed_at
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM saved_workflow WHERE space_id = %(space)s AND name = %(name)s
"""


class PostgresSavedWorkflows:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def all(self, caller: Principal) -> Sequence[SavedWorkflow]:
        wanted = {"space": caller.space.value}
        async with self._transactions.begin(caller) as connection:
            return [
                _saved(row) for row in await (await connection.execute(_ALL, wanted)).fetchall()
            ]

    async def get(self, caller: Principal, name: str) -> SavedWorkflow:
        wanted = {"space": caller.space.value, "name": strip_nul(name)}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, wanted)).fetchone()
        if row is None:
            raise WorkflowNotFound(name)
        return _saved(row)

    async def put(self, caller: Principal, saved: SavedWorkflow) -> None:
        values = {
            "space": caller.space.value,
            "name": saved.name,
            "plan": json.dumps(saved.plan),
            "description": strip_nul(saved.description),
            "effect": saved.effect.value,
            "by": saved.saved_by.value,
            "by_name": saved.saved_by_name,
            "saved": saved.saved_at,
            "changed": saved.changed_at,
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PUT, values)

    async def remove(self, caller: Principal, name: str) -> None:
        doomed = {"space": caller.space.value, "name": strip_nul(name)}
        async with self._transactions.begin(caller) as connection:
            done = await connection.execute(_REMOVE, doomed)
        if done.rowcount != 1:
            raise WorkflowNotFound(name)


def _saved(row: Row) -> SavedWorkflow:
    return SavedWorkflow(
        name=row["name"],
        plan=json.loads(row["plan"]),
        description=row["description"],
        effect=Effect(row["effect"]),
        saved_by=PrincipalId(row["saved_by"]),
        saved_by_name=row["saved_by_name"],
        saved_at=row["saved_at"],
        changed_at=row["changed_at"],
    )
