"""Who is there, kept in PostgreSQL: one row for each in a project, until it is over."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import cleared
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.rows import as_label
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import ProjectNotFound
from portico.bridge.core.presence import Doing, Presence
from portico.bridge.core.projects import ProjectId
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_SEEN: Final[LiteralString] = """space_id = %(space)s AND project_id = %(project)s
       AND level <= %(level)s AND compartments <@ %(compartments)s::text[]"""
_PROJECT: Final[LiteralString] = f"""
    SELECT level, compartments FROM portico.project WHERE {_SEEN}
"""
_SAY: Final[LiteralString] = """
    INSERT INTO portico.presence (space_id, project_id, principal_id, level, compartments, doing,
                                  note, until)
    VALUES (%(space)s, %(project)s, %(principal)s, %(its_level)s, %(its_compartments)s, %(doing)s,
            %(note)s, %(until)s)
    ON CONFLICT (space_id, project_id, principal_id)
    DO UPDATE SET doing = excluded.doing, note = excluded.note, until = excluded.until
"""
_ALL: Final[LiteralString] = """
    SELECT n.principal_id, p.name, n.doing, n.note, n.until
      FROM portico.presence n JOIN portico.principal p USING (space_id, principal_id)
     WHERE n.space_id = %(space)s AND n.project_id = %(project)s AND n.until > %(now)s
       AND n.level <= %(level)s AND n.compartments <@ %(compartments)s::text[]
     ORDER BY p.name COLLATE "C"
"""


class PostgresPresences:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def say(
        self, caller: Principal, project: ProjectId, doing: Doing, note: str, until: datetime
    ) -> None:
        values = _where(caller, project)
        [found] = await self._transactions.looked_up(caller, (_PROJECT, values))
        if not found:
            raise ProjectNotFound(str(project))
        its = found[0]
        values |= {"its_level": its["level"], "its_compartments": its["compartments"]}
        values |= {"doing": doing.value, "note": note, "until": until}
        label = as_label(its["level"], its["compartments"])
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_SAY, values)

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        values = {**_where(caller, project), "now": now}
        found, rows = await self._transactions.looked_up(caller, (_PROJECT, values), (_ALL, values))
        if not found:
            raise ProjectNotFound(str(project))
        return [
            Presence(
                principal=PrincipalId(row["principal_id"]),
                name=row["name"],
                doing=Doing(row["doing"]),
                note=row["note"],
                until=row["until"],
            )
            for row in rows
        ]


def _where(caller: Principal, project: ProjectId) -> dict[str, object]:
    return {**cleared(caller), "project": project.value}
