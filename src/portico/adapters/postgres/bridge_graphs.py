"""A graph over the vectors of each label that has many of them, made while people go on writing.

As the owner, outside of any transaction: only so others need not wait for it. What was left behind
half made is done again.
"""

from collections.abc import Sequence
from typing import Final, LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.transaction import KEEPALIVE, translated

MANY: Final = 5_000
"""Vectors of a label, from which on it is worth a graph: fewer are compared one by one."""
_ALONE: Final[LiteralString] = """
    SELECT pg_try_advisory_lock(hashtextextended('portico graphs', 0)) AS alone
"""
# Those of spaces, labels and models that are gone, and those that were never done.
_DOOMED: Final[LiteralString] = """
    SELECT c.relname AS name FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relname LIKE 'message\\_near\\_%%'
       AND (NOT i.indisvalid OR NOT EXISTS (
            SELECT FROM portico.message_vector v,
                        string_to_array(obj_description(c.oid, 'pg_class'), ' ') AS told
             WHERE v.space_id = told[1]::uuid AND v.label = told[2]::smallint
               AND v.model = array_to_string(told[3:], ' ') AND NOT v.closed))
"""
# This is asked often: of a label that has its graph nothing is counted, of another no more than
# would be enough.
_WANTED: Final[LiteralString] = """
    SELECT g.name, l.space_id AS space, l.number AS label, max(few.dimensions) AS dimensions
      FROM portico.bridge_label l
     CROSS JOIN LATERAL (
            SELECT 'message_near_' || substr(md5(concat_ws(
                       ' ', l.space_id, l.number, %(model)s::text)), 1, 24) AS name) g
     CROSS JOIN LATERAL (
            SELECT public.vector_dims(v.embedding) AS dimensions
              FROM portico.message_vector v
             WHERE v.space_id = l.space_id AND v.label = l.number AND v.model = %(model)s
               AND v.embedding IS NOT NULL AND NOT v.closed
             LIMIT %(many)s) few
     WHERE to_regclass('portico.' || g.name) IS NULL
     GROUP BY g.name, l.space_id, l.number
    HAVING count(*) >= %(many)s AND max(few.dimensions) <= 4000
"""
_DROP: Final = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS portico.{}")
_MAKE: Final = sql.SQL("""
    CREATE INDEX CONCURRENTLY {name} ON portico.message_vector
     USING hnsw ((embedding::public.halfvec({dimensions})) public.halfvec_cosine_ops)
      WITH (m = 32, ef_construction = 128)
     WHERE space_id = {space} AND label = {label} AND model = {model} AND NOT closed
""")
_TELL: Final = sql.SQL("COMMENT ON INDEX portico.{} IS {}")


class MessageGraphs:
    def __init__(self, owner: str, *, many: int = MANY) -> None:
        self._owner = owner
        self._many = many

    async def arrange(self, model: str) -> int:
        """How many were made; none while another process is at it. Raises `StoreUnavailable`."""
        async with translated(), await self._connected() as connection:
            if not (await _rows(connection, _ALONE))[0]["alone"]:
                return 0
            for row in await _rows(connection, _DOOMED):
                await connection.execute(_DROP.format(sql.Identifier(row["name"])))
            wanted = await _rows(connection, _WANTED, {"model": model, "many": self._many})
            for row in wanted:
                await _make(connection, row, model)
            return len(wanted)

    async def _connected(self) -> AsyncConnection[DictRow]:
        return await AsyncConnection[DictRow].connect(
            self._owner,
            autocommit=True,
            row_factory=dict_row,
            application_name="portico graphs",
            options="-c maintenance_work_mem=256MB",
            **KEEPALIVE,
        )


async def _rows(
    connection: AsyncConnection[DictRow],
    statement: LiteralString,
    values: dict[str, object] | None = None,
) -> Sequence[DictRow]:
    return await (await connection.execute(statement, values or {})).fetchall()


async def _make(connection: AsyncConnection[DictRow], row: DictRow, model: str) -> None:
    """What it is of is told last: one that is not told of is not done, and goes the next time."""
    await connection.execute(
        _MAKE.format(
            name=sql.Identifier(row["name"]),
            dimensions=sql.Literal(row["dimensions"]),
            space=sql.Literal(str(row["space"])),
            label=sql.Literal(row["label"]),
            model=sql.Literal(model),
        )
    )
    told = f"{row['space']} {row['label']} {model}"
    await connection.execute(_TELL.format(sql.Identifier(row["name"]), sql.Literal(told)))
