"""Finding messages in PostgreSQL, by their words and by what they mean."""

from collections.abc import Callable, Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_messages import MESSAGE_COLUMNS, MESSAGE_SEEN
from portico.adapters.postgres.bridge_rows import message_from
from portico.adapters.postgres.bridge_walls import WALL, WHOLE, cleared
from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.transaction import ENTERED, Transactions
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.bridge.search import Hit
from portico.kernel.label import Label
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
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        asked = {**_asked(caller, project, conversation, upto, limit), "words": storable(words)}
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
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        if not any(vector):
            return []
        asked = {
            **_asked(caller, project, conversation, upto, limit),
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
