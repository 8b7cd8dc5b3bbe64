"""Projects, kept in PostgreSQL: the order that they are in is that of what the reader can see."""

from collections.abc import Sequence
from typing import Final, LiteralString

from psycopg.errors import UniqueViolation

from portico.adapters.postgres.bridge_rows import project_from
from portico.adapters.postgres.bridge_walls import WALL, cleared
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import ProjectNameTaken, ProjectNotFound
from portico.bridge.core.messages import secrecy
from portico.bridge.core.projects import Project, ProjectId
from portico.kernel.ids import BadId
from portico.kernel.principal import Principal

_SEEN: Final[LiteralString] = """p.space_id = %(space)s AND p.level <= %(level)s
       AND p.compartments <@ %(compartments)s::text[]"""
_COLUMNS: Final[LiteralString] = """p.project_id, p.name, p.description, p.level, p.compartments,
           p.made_by, p.made_at, p.archived_at"""
_ADD: Final[LiteralString] = """
    INSERT INTO portico.project (space_id, project_id, name, description, level, compartments,
                                 made_by, made_at, archived_at)
    VALUES (%(space)s, %(project)s, %(name)s, %(description)s, %(its_level)s, %(its_compartments)s,
            %(made_by)s, %(made_at)s, %(archived_at)s)
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS}, greatest(p.made_at, (
               SELECT max(a.active_at)
                 FROM portico.bridge_active(p.project_id, NULL, {WALL}) a)) AS active_at
      FROM portico.project p
     WHERE {_SEEN} AND (p.project_id = %(project)s OR p.name = %(name)s)
"""
_PUT: Final[LiteralString] = f"""
    UPDATE portico.project p
       SET name = %(name)s, description = %(description)s, archived_at = %(archived_at)s
     WHERE {_SEEN} AND p.project_id = %(project)s
    RETURNING p.project_id
"""
_PAGE: Final[LiteralString] = f"""
    WITH listed AS (
        SELECT {_COLUMNS}, greatest(p.made_at, a.active_at) AS active_at
          FROM portico.project p LEFT JOIN (
               SELECT project_id, max(active_at) AS active_at
                 FROM portico.bridge_active(NULL, NULL, {WALL}) GROUP BY project_id
               ) a USING (project_id)
         WHERE {_SEEN}
    )
    SELECT * FROM listed
     WHERE (archived_at IS NOT NULL) = %(archived)s
       AND (%(after)s::uuid IS NULL OR (active_at, project_id) < (
            SELECT active_at, project_id FROM listed WHERE project_id = %(after)s::uuid))
     ORDER BY active_at DESC, project_id DESC LIMIT %(limit)s
"""


class PostgresProjects:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, project: Project) -> None:
        async with (
            no_write_down(self._transactions, caller, project.label),
            self._transactions.begin(caller) as connection,
        ):
            try:
                await connection.execute(_ADD, _columns(caller, project))
            except UniqueViolation as error:
                if error.diag.constraint_name != "project_name":
                    raise
                raise ProjectNameTaken(project.name, project.label) from error

    async def get(self, caller: Principal, which: str) -> Project:
        id_ = _parsed(which)
        asked = {
            **cleared(caller),
            "project": None if id_ is None else id_.value,
            "name": storable(which),
        }
        [rows] = await self._transactions.looked_up(caller, (_GET, asked))
        found = [project_from(row) for row in rows]
        if not found:
            raise ProjectNotFound(which)
        return max(found, key=lambda its: (its.id == id_, secrecy(its.label), its.id.value))

    async def put(self, caller: Principal, project: Project) -> None:
        values = {**_columns(caller, project), **cleared(caller)}
        async with (
            no_write_down(self._transactions, caller, project.label),
            self._transactions.begin(caller) as connection,
        ):
            try:
                done = await connection.execute(_PUT, values)
            except UniqueViolation as error:
                raise ProjectNameTaken(project.name, project.label) from error
        if done.rowcount == 0:
            raise ProjectNotFound(str(project.id))

    async def page(
        self, caller: Principal, *, archived: bool, after: str | None, limit: int
    ) -> Sequence[Project]:
        last = None if after is None else _parsed(after)
        if after is not None and last is None:
            return []
        asked = {
            **cleared(caller),
            "archived": archived,
            "after": None if last is None else last.value,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_PAGE, asked))
        return [project_from(row) for row in rows]


def _parsed(text: str) -> ProjectId | None:
    """None of what is no id, and so may be a name."""
    try:
        return ProjectId.parse(text)
    except BadId:
        return None


def _columns(caller: Principal, project: Project) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "project": project.id.value,
        "name": storable(project.name),
        "description": storable(project.description),
        "its_level": int(project.label.level),
        "its_compartments": sorted(project.label.compartments),
        "made_by": project.made_by.value,
        "made_at": project.made_at,
        "archived_at": project.archived_at,
    }
