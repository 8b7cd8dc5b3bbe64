"""What only the owner can ask: is anybody at home yet, and who came first?"""

from typing import Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.rows import identity_from
from portico.guard.core.principals import Identity
from portico.kernel.ids import SpaceId

_FIRST_ADMIN: Final[LiteralString] = """
    SELECT * FROM portico.principal
     WHERE 'spaces:create' = ANY(grants) AND kind = 'person' AND disabled_at IS NULL
     ORDER BY created_at LIMIT 1
"""

_SPACE_NAME: Final[LiteralString] = "SELECT name FROM portico.space WHERE space_id = %(space)s"


async def space_name(owner: str, space: SpaceId) -> str:
    async with await AsyncConnection[DictRow].connect(owner, row_factory=dict_row) as connection:
        found = await connection.execute(_SPACE_NAME, {"space": space.value})
        row = await found.fetchone()
    return "" if row is None else str(row["name"])


async def first_admin(owner: str) -> Identity | None:
    """Of `home`: whoever may found spaces. The admins of other spaces are not ours to speak for."""
    async with await AsyncConnection[DictRow].connect(owner, row_factory=dict_row) as connection:
        row = await (await connection.execute(_FIRST_ADMIN)).fetchone()
    return None if row is None else identity_from(row)
