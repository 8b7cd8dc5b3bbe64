"""Search messages in PostgreSQL, by their words and by their vectors."""

from collections.abc import Callable, Sequence
from typing import Final, LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.bridge.messages import MESSAGE_COLUMNS, MESSAGE_SEEN
from portico.adapters.postgres.bridge.visibility import CLEAR, WALL, WHOLE, cleared, message_from
from portico.adapters.postgres.mapping import strip_nul
from portico.adapters.postgres.transaction import (
    ENTERED,
    KEEPALIVE,
    EnginePool,
    Transactions,
    translated,
)
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.messages import MessageId
from portico.bridge.core.projects import ProjectId
from portico.bridge.search import Hit, ToEmbed
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

_BY_WORDS: Final[LiteralString] = f"""
    SELECT m.* FROM {ENTERED} AS asker CROSS JOIN LATERAL portico.bridge_messages(
        CASE WHEN asker.is_set THEN portico.bridge_find(
            %(words)s, %(project)s, %(conversation)s, %(limit)s, {WALL}, {WHOLE}) END,
        {WALL}) AS m
"""
_BY_MEANING: Final[LiteralString] = f"""
    SELECT {MESSAGE_COLUMNS}, f.distance FROM portico.bridge_near(
               %(model)s, %(vector)s, %(project)s, %(conversation)s, %(limit)s, {WALL}
           ) WITH ORDINALITY AS f (message_id, distance, place)
      JOIN portico.message m ON m.message_id = f.message_id AND {MESSAGE_SEEN}
     WHERE m.deleted_at IS NULL ORDER BY f.place
"""


class PostgresMessageSearch:
    """`model`: the one that makes the vectors; others' are not compared with its own. It is asked
    for when something is looked for by its meaning: knowing it may mean to load it."""

    def __init__(self, transactions: Transactions, model: Callable[[], str]) -> None:
        self._transactions = transactions
        self._model = model

    async def by_words(
        self,
        caller: Principal,
        words: str,
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        max_label: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        asked = {
            **_asked(caller, project, conversation, max_label, limit),
            "words": strip_nul(words),
        }
        rows = await self._transactions.called(caller, _BY_WORDS, asked)
        return [
            Hit(message=message_from(row), score=1 / (place + 1)) for place, row in enumerate(rows)
        ]

    async def by_meaning(
        self,
        caller: Principal,
        vector: Sequence[float],
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        max_label: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        if not any(vector):
            return []
        asked = {
            **_asked(caller, project, conversation, max_label, limit),
            "model": self._model(),
            "vector": vector_text(vector),
        }
        [rows] = await self._transactions.looked_up(caller, (_BY_MEANING, asked))
        return [Hit(message=message_from(row), score=1 - row["distance"]) for row in rows]


def vector_text(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"


def _asked(
    caller: Principal,
    project: ProjectId | None,
    conversation: ConversationId | None,
    upto: Label | None,
    limit: int,
) -> dict[str, object]:
    return {
        **cleared(caller, upto),
        "project": None if project is None else project.value,
        "conversation": None if conversation is None else conversation.value,
        "limit": limit,
    }


# A graph over the vectors of each label that has many of them, made while people go on writing.
#
# As the owner, outside of any transaction: only so others need not wait for it. What was left
# behind half made is done again.

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


_WAITING: Final[LiteralString] = """
    SELECT space_id FROM portico.bridge_spaces_to_embed(%(model)s)
"""
_COMPARTMENTS: Final[LiteralString] = "SELECT portico.bridge_compartments() AS compartments"
_MISSING: Final[LiteralString] = f"""
    SELECT message_id, body, at FROM portico.bridge_unembedded(%(model)s, %(limit)s, {CLEAR})
"""
_PUT: Final[LiteralString] = f"""
    SELECT portico.bridge_embed(%(model)s, %(ids)s::uuid[], %(ats)s::timestamptz[],
                                %(vectors)s::text[], {CLEAR}) AS kept
"""


class PostgresMessageVectors:
    def __init__(
        self,
        transactions: Transactions,
        engine: EnginePool,
        model: str,
        graphs: MessageGraphs | None = None,
    ) -> None:
        """Without graphs, if the owner's address is not known here: then those are made
        elsewhere, or all vectors are compared one by one, and the same is found."""
        self._transactions = transactions
        self._engine = engine
        self._model = model
        self._graphs = graphs

    async def waiting(self) -> Sequence[SpaceId]:
        rows = await self._engine.rows(_WAITING, {"model": self._model})
        return [SpaceId(row["space_id"]) for row in rows]

    async def clearance(self, worker: Principal) -> Label:
        [[row]] = await self._transactions.looked_up(worker, (_COMPARTMENTS, {}))
        return Label(Level.RESTRICTED, frozenset(row["compartments"]))

    async def missing(self, worker: Principal, limit: int) -> Sequence[ToEmbed]:
        asked = {**cleared(worker), "model": self._model, "limit": limit}
        [rows] = await self._transactions.looked_up(worker, (_MISSING, asked))
        return [
            ToEmbed(message=MessageId(row["message_id"]), text=row["body"], at=row["at"])
            for row in rows
        ]

    async def put(
        self, worker: Principal, vectors: Sequence[tuple[ToEmbed, Sequence[float]]]
    ) -> int:
        values = {
            **cleared(worker),
            "model": self._model,
            "ids": [each.message.value for each, _ in vectors],
            "ats": [each.at for each, _ in vectors],
            "vectors": [vector_text(its) if any(its) else None for _, its in vectors],
        }
        [[row]] = await self._transactions.looked_up(worker, (_PUT, values))
        return int(row["kept"])

    async def arrange(self) -> int:
        return 0 if self._graphs is None else await self._graphs.arrange(self._model)
