"""Conversations and who takes part in them, kept in PostgreSQL."""

from collections.abc import Collection, Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_rows import conversation_from
from portico.adapters.postgres.bridge_walls import CLEAR, WALL, cleared, mark_of
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.errors import (
    ConversationNotFound,
    NotTakingPart,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.projects import ProjectId
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import BadId, PrincipalId
from portico.kernel.principal import Principal

CONVERSATION_SEEN: Final[LiteralString] = """c.space_id = %(space)s AND c.level <= %(level)s
       AND c.compartments <@ %(compartments)s::text[]
       AND (NOT c.closed OR %(everyone)s OR portico.bridge_takes_part(c.conversation_id))"""
_COLUMNS: Final[LiteralString] = """c.conversation_id, c.project_id, c.title, c.level,
           c.compartments, c.closed, c.made_by, c.made_at, c.archived_at"""
_ADD: Final[LiteralString] = f"""
    SELECT portico.bridge_open(%(conversation)s, %(project)s, %(title)s, %(its_level)s::smallint,
               %(its_compartments)s::text[], %(closed)s, %(made_at)s, {CLEAR}) AS outcome
"""
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS}, a.active_at FROM portico.conversation c
      JOIN portico.bridge_active(NULL, ARRAY[%(conversation)s::uuid], {WALL}) a
           USING (conversation_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
"""
_PUT: Final[LiteralString] = f"""
    UPDATE portico.conversation c SET title = %(title)s, archived_at = %(archived_at)s
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
    RETURNING c.conversation_id
"""
_PAGE: Final[LiteralString] = f"""
    WITH listed AS (
        SELECT {_COLUMNS}, a.active_at
          FROM portico.conversation c
          JOIN portico.bridge_active(%(project)s::uuid, NULL, {WALL}) a USING (conversation_id)
         WHERE {CONVERSATION_SEEN}
    )
    SELECT * FROM listed
     WHERE (archived_at IS NOT NULL) = %(archived)s
       AND (%(project)s::uuid IS NULL OR project_id = %(project)s::uuid)
       AND (%(after)s::uuid IS NULL OR (active_at, conversation_id) < (
            SELECT active_at, conversation_id FROM listed WHERE conversation_id = %(after)s::uuid))
     ORDER BY active_at DESC, conversation_id DESC LIMIT %(limit)s
"""
_SOME: Final[LiteralString] = f"""
    SELECT {_COLUMNS}, a.active_at FROM portico.conversation c
      JOIN portico.bridge_active(NULL, %(conversations)s::uuid[], {WALL}) a USING (conversation_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = ANY (%(conversations)s::uuid[])
     ORDER BY a.active_at DESC, c.conversation_id DESC
"""
_THERE: Final[LiteralString] = f"""
    SELECT c.conversation_id FROM portico.conversation c
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
"""
_PARTICIPANTS: Final[LiteralString] = f"""
    SELECT t.principal_id, p.name, t.joined_at,
           t.muted AND t.principal_id = %(principal)s AS muted
      FROM portico.conversation c
      JOIN portico.participant t USING (space_id, conversation_id)
      JOIN portico.principal p USING (space_id, principal_id)
     WHERE {CONVERSATION_SEEN} AND c.conversation_id = %(conversation)s
     ORDER BY t.joined_at, t.principal_id
"""
_JOIN: Final[LiteralString] = f"""
    SELECT portico.bridge_join(%(conversation)s, %(who)s, %(at)s, {WALL}) AS outcome
"""
_OF_THEM: Final[LiteralString] = f"""t.space_id = %(space)s AND t.principal_id = %(who)s
       AND t.conversation_id IN ({_THERE})"""
_LEAVE: Final[LiteralString] = f"""
    DELETE FROM portico.participant t WHERE {_OF_THEM} RETURNING t.principal_id
"""
_MUTE: Final[LiteralString] = f"""
    UPDATE portico.participant t SET muted = %(muted)s WHERE {_OF_THEM} RETURNING t.principal_id
"""


class PostgresConversations:
    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    async def add(self, caller: Principal, conversation: Conversation) -> None:
        values = {
            **cleared(caller),
            "conversation": conversation.id.value,
            "project": conversation.project.value,
            "title": storable(conversation.title),
            "its_level": int(conversation.label.level),
            "its_compartments": sorted(conversation.label.compartments),
            "closed": conversation.closed,
            "made_at": conversation.made_at,
        }
        [[row]] = await self._transactions.looked_up(caller, (_ADD, values))
        if row["outcome"] == "not_found":
            raise ProjectNotFound(str(conversation.project))
        if row["outcome"] == "write_down":
            raise WriteDown(conversation.label, await mark_of(self._transactions, caller))

    async def get(self, caller: Principal, conversation: ConversationId) -> Conversation:
        [rows] = await self._transactions.looked_up(caller, (_GET, _which(caller, conversation)))
        if not rows:
            raise ConversationNotFound(str(conversation))
        return conversation_from(rows[0])

    async def put(self, caller: Principal, conversation: Conversation) -> None:
        values = {
            **_which(caller, conversation.id),
            "title": storable(conversation.title),
            "archived_at": conversation.archived_at,
        }
        async with no_write_down(self._transactions, caller, conversation.label):
            [rows] = await self._transactions.looked_up(caller, (_PUT, values))
        if not rows:
            raise ConversationNotFound(str(conversation.id))

    async def page(
        self,
        caller: Principal,
        project: ProjectId | None,
        *,
        archived: bool,
        after: str | None,
        limit: int,
    ) -> Sequence[Conversation]:
        try:
            last = None if after is None else ConversationId.parse(after).value
        except BadId:
            return []
        asked = {
            **cleared(caller),
            "project": None if project is None else project.value,
            "archived": archived,
            "after": last,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_PAGE, asked))
        return [conversation_from(row) for row in rows]

    async def some(
        self, caller: Principal, conversations: Collection[ConversationId]
    ) -> Sequence[Conversation]:
        asked = {**cleared(caller), "conversations": [its.value for its in conversations]}
        [rows] = await self._transactions.looked_up(caller, (_SOME, asked))
        return [conversation_from(row) for row in rows]

    async def participants(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        asked = _which(caller, conversation)
        there, rows = await self._transactions.looked_up(
            caller, (_THERE, asked), (_PARTICIPANTS, asked)
        )
        if not there:
            raise ConversationNotFound(str(conversation))
        return [
            Participant(
                principal=PrincipalId(row["principal_id"]),
                name=row["name"],
                joined_at=row["joined_at"],
                muted=row["muted"],
            )
            for row in rows
        ]

    async def join(self, caller: Principal, conversation: ConversationId, who: PrincipalId) -> None:
        values = {**_which(caller, conversation), "who": who.value, "at": self._clock.now()}
        [[row]] = await self._transactions.looked_up(caller, (_JOIN, values))
        if row["outcome"] == "not_found":
            raise ConversationNotFound(str(conversation))
        if row["outcome"] == "nobody":
            raise PrincipalNotFound(str(who))
        if row["outcome"] == "write_down":
            its = await self.get(caller, conversation)
            raise WriteDown(its.label, await mark_of(self._transactions, caller))

    async def leave(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId
    ) -> None:
        await self._change_part(caller, conversation, _LEAVE, {"who": who.value})

    async def mute(self, caller: Principal, conversation: ConversationId, *, muted: bool) -> None:
        values: dict[str, object] = {"who": caller.id.value, "muted": muted}
        await self._change_part(caller, conversation, _MUTE, values)

    async def _change_part(
        self,
        caller: Principal,
        conversation: ConversationId,
        statement: LiteralString,
        values: dict[str, object],
    ) -> None:
        asked = {**_which(caller, conversation), **values}
        there, changed = await self._transactions.looked_up(
            caller, (_THERE, asked), (statement, asked)
        )
        if not there:
            raise ConversationNotFound(str(conversation))
        if not changed:
            raise NotTakingPart(str(conversation))


def _which(caller: Principal, conversation: ConversationId) -> dict[str, object]:
    return {**cleared(caller), "conversation": conversation.value}
