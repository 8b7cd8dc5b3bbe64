"""How far everybody has read, kept in PostgreSQL: counted by label, and told of those labels alone
that the reader may see."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import CLEAR, WALL, cleared
from portico.adapters.postgres.transaction import ENTERED, Transactions
from portico.bridge.core.conversations import ConversationId, Unread, UnreadTotal
from portico.bridge.core.messages import MessageId
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal

_READ_TO: Final[LiteralString] = f"""
    SELECT portico.bridge_read_to(%(conversation)s, %(place)s, %(partly)s, {WALL}) AS done
"""
_READ_ONE: Final[LiteralString] = f"SELECT portico.bridge_read_one(%(message)s, {WALL}) AS done"
_UNREAD: Final[LiteralString] = f"""
    SELECT u.conversation_id, u.unread, u.mentioned, u.labels
      FROM {ENTERED} AS asker CROSS JOIN LATERAL portico.bridge_unread(
           CASE WHEN asker.is_set THEN %(conversations)s::uuid[] END, {CLEAR}) AS u
"""
_TOTAL: Final[LiteralString] = f"""
    SELECT coalesce(sum(u.unread), 0)::bigint AS unread,
           coalesce(sum(u.mentioned), 0)::bigint AS mentioned,
           coalesce(string_agg(DISTINCT u.labels, ','), '0') AS labels
      FROM {ENTERED} AS asker CROSS JOIN LATERAL portico.bridge_unread(
           NULL, CASE WHEN asker.is_set THEN %(level)s::smallint END,
           %(compartments)s::text[]) AS u
"""


class PostgresReadState:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def read_to(
        self,
        caller: Principal,
        conversation: ConversationId,
        place: int,
        *,
        upto: Label | None = None,
    ) -> None:
        values = {
            **cleared(caller, upto),
            "conversation": conversation.value,
            "place": place,
            "partly": upto is not None,
        }
        await self._transactions.looked_up(caller, (_READ_TO, values))

    async def read_one(self, caller: Principal, message: MessageId) -> None:
        values = {**cleared(caller), "message": message.value}
        await self._transactions.looked_up(caller, (_READ_ONE, values))

    async def unread(
        self,
        caller: Principal,
        *,
        upto: Label | None = None,
        conversations: Collection[ConversationId] | None = None,
    ) -> Sequence[Unread]:
        wanted = None if conversations is None else [each.value for each in conversations]
        asked = {**cleared(caller, upto), "conversations": wanted}
        rows = await self._transactions.called(caller, _UNREAD, asked)
        return [
            Unread(
                conversation=ConversationId(row["conversation_id"]),
                count=row["unread"],
                mentions=row["mentioned"],
                label=_label(row["labels"]),
            )
            for row in rows
        ]

    async def total(self, caller: Principal) -> UnreadTotal:
        [row] = await self._transactions.called(caller, _TOTAL, cleared(caller))
        return UnreadTotal(
            count=row["unread"], mentions=row["mentioned"], label=_label(row["labels"])
        )


@lru_cache(1024)
def _label(text: str) -> Label:
    """The least that is as secret as all of them."""
    split = [each.split("+") for each in text.split(",")]
    return join(Label(Level(int(level)), frozenset(rest)) for level, *rest in split)
