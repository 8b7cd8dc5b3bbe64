"""DBOS's own tables: made by the owner, open to the engine's role, closed to the application."""

import asyncio
from importlib.metadata import version
from typing import Final, LiteralString

from psycopg import AsyncConnection

from portico.adapters.postgres.addresses import ENGINE, as_url

_KNOWN: Final[LiteralString] = """
    SELECT 1 FROM portico.component_version
     WHERE name = 'dbos' AND version = %(version)s
       AND to_regclass('dbos.workflow_status') IS NOT NULL
"""
_NOTE: Final[LiteralString] = """
    INSERT INTO portico.component_version (name, version) VALUES ('dbos', %(version)s)
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, migrated_at = now()
"""


class DbosTables:
    """Loads DBOS only when there is something to do: a start is not the place to wait for it."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def migrate(self) -> None:
        installed = {"version": version("dbos")}
        async with await AsyncConnection.connect(self._owner, autocommit=True) as connection:
            if await (await connection.execute(_KNOWN, installed)).fetchone():
                return
            await asyncio.to_thread(_migrate, self._owner)
            await connection.execute(_NOTE, installed)


def _migrate(owner: str) -> None:
    from dbos import DBOS  # noqa: PLC0415 # half a second, and rarely needed

    from portico.adapters.dbos import system  # noqa: F401, PLC0415 # quietens its log

    DBOS.migrate(as_url(owner), application_role=ENGINE)
