"""Messages in PostgreSQL, and how far everybody has read."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import (
    CLEAR,
    WALL,
    cleared,
    digest_of,
    entered_from,
    mark_of,
    placed_from,
    version_from,
)
from portico.adapters.postgres.mapping import Row, as_label, storable_or_none, strip_nul
from portico.adapters.postgres.transaction import ENTERED, Transactions
from portico.bridge.core.conversations import ConversationId, Unread, UnreadTotal
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    ConversationNotFound,
    MessageNotFound,
    NotTheirs,
    TooManyLabels,
    WriteDown,
)
from portico.bridge.core.messages import (
    Acknowledged,
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
)
from portico.bridge.ports import Entered, MessageRange, Placed, Stamp
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import ContextNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, Level, join
from portico.kernel.principal import Principal


def sent_with(caller: Principal, message: NewMessage, stamp: Stamp) -> dict[str, object]:
    """Nothing for an empty list: that is on its way sooner."""
    wanted = message.acknowledge
    return {
        **cleared(caller),
        "conversation": message.conversation.value,
        "message": stamp.id.value,
        "its_level": None if stamp.label is None else int(stamp.label.level),
        "its_compartments": None if stamp.label is None else sorted(stamp.label.compartments),
        "body": strip_nul(message.body),
        "sender_name": strip_nul(caller.name),
        "reply_to": None if message.reply_to is None else message.reply_to.value,
        "mentions": [who.value for who in (*message.mentions, *stamp.named)] or None,
        "addressed": [who.value for who in message.addressed] or None,
        "attachments": [str(digest) for digest in message.attachments] or None,
        "acknowledge": wanted is not None,
        "acknowledge_by": None if wanted is None else wanted.until,
        "untrusted": stamp.untrusted,
        "key": storable_or_none(message.key),
        "digest": digest_of(message),
        "at": stamp.at,
        "opened": caller.context is not None,
    }


def refusal(caller: Principal, message: NewMessage, row: Row) -> Exception:
    """But for what is less secret than what was read: for that it has to be looked how much."""
    match row["outcome"]:
        case "no_task":
            return ContextNotFound(str(caller.context))
        case "no_reply":
            return MessageNotFound(str(message.reply_to))
        case "archived":
            return Archived(str(message.conversation))
        case "above" | "below" | "no_label":
            return _of_its_label(caller, row)
        case _:
            return ConversationNotFound(str(message.conversation))


def _of_its_label(caller: Principal, row: Row) -> Exception:
    label = as_label(row["level"], row["compartments"])
    match row["outcome"]:
        case "above":
            return AboveClearance(label, caller.clearance)
        case "below":
            inside = as_label(row["inside_level"], row["inside_compartments"])
            return BelowContainer(label, inside)
        case _:
            return TooManyLabels(label)


# Messages, kept in PostgreSQL: what counts over all labels is done by the database itself.

MESSAGE_COLUMNS: Final[LiteralString] = """m.conversation_id, m.seq, m.message_id, m.level,
           m.compartments, m.sender, m.sender_name, m.body, m.reply_to, m.thread, m.mentions,
           m.addressed, m.attachments, m.acknowledge, m.acknowledge_by, m.untrusted,
           m.sent_at, m.edited_at, m.deleted_at"""
"""Not what a copy was made of: that is as secret as it is, and its record tells it."""
MESSAGE_SEEN: Final[LiteralString] = """m.space_id = %(space)s AND m.level <= %(level)s
       AND m.compartments <@ %(compartments)s::text[]
       AND (NOT m.closed OR %(everyone)s OR portico.bridge_takes_part(m.conversation_id))"""
_OF_ONE: Final[LiteralString] = """m.space_id = %(space)s AND m.conversation_id = %(conversation)s
       AND m.level <= %(level)s AND m.compartments <@ %(compartments)s::text[]
       AND (NOT m.closed OR %(everyone)s
            OR (SELECT portico.bridge_takes_part(%(conversation)s)))"""
_SEND: Final[LiteralString] = f"""
    SELECT s.* FROM {ENTERED} AS asker CROSS JOIN LATERAL portico.bridge_send(
        CASE WHEN asker.is_set THEN %(conversation)s::uuid END, %(message)s,
        %(its_level)s::smallint, %(its_compartments)s::text[], %(body)s, %(sender_name)s,
        %(reply_to)s, coalesce(%(mentions)s::uuid[], '{{}}'),
        coalesce(%(addressed)s::uuid[], '{{}}'), coalesce(%(attachments)s::text[], '{{}}'),
        %(acknowledge)s, %(acknowledge_by)s, %(untrusted)s, NULL,
        %(key)s, %(digest)s, %(at)s, %(opened)s, {WALL}) AS s
"""
_END: Final[LiteralString] = f"""
    SELECT place, level, compartments FROM portico.bridge_end(%(conversation)s, {WALL})
"""
_GET: Final[LiteralString] = f"""
    SELECT {MESSAGE_COLUMNS} FROM portico.message m
     WHERE {MESSAGE_SEEN} AND m.message_id = %(message)s
"""
_NEXT: Final[LiteralString] = f"""(SELECT portico.bridge_places(
           %(conversation)s, %(thread)s::uuid, %(place)s, %(back)s, %(limit)s, {WALL}))::bigint[]"""
AFTER: Final[LiteralString] = f"""
    SELECT {MESSAGE_COLUMNS} FROM portico.message m
     WHERE {_OF_ONE} AND m.seq = ANY ({_NEXT}) ORDER BY m.seq
"""
BEFORE: Final[LiteralString] = f"""
    SELECT {MESSAGE_COLUMNS} FROM portico.message m
     WHERE {_OF_ONE} AND m.seq = ANY ({_NEXT}) ORDER BY m.seq DESC
"""
_CHANGE: Final[LiteralString] = f"""
    SELECT portico.bridge_change(%(message)s, %(body)s, %(its_level)s::smallint,
               %(its_compartments)s::text[], %(untrusted)s, %(gone)s, %(others)s, %(at)s, {WALL}
           ) AS outcome
"""
_VERSIONS: Final[LiteralString] = """
    SELECT v.number, v.level, v.compartments, v.body, v.changed_by, v.changed_at
      FROM portico.message_version v
     WHERE v.space_id = %(space)s AND v.message_id = %(message)s AND v.level <= %(level)s
       AND v.compartments <@ %(compartments)s::text[]
     ORDER BY v.number
"""
_ACKNOWLEDGE: Final[LiteralString] = f"""
    SELECT portico.bridge_acknowledge(%(message)s, %(at)s, {WALL}) AS outcome
"""
_ACKNOWLEDGED: Final[LiteralString] = """
    SELECT a.principal_id, a.at FROM portico.message_ack a
     WHERE a.space_id = %(space)s AND a.message_id = %(message)s AND a.level <= %(level)s
       AND a.compartments <@ %(compartments)s::text[]
     ORDER BY a.at, a.principal_id
"""
_OVERDUE: Final[LiteralString] = f"""
    SELECT {MESSAGE_COLUMNS} FROM portico.message m
     WHERE {MESSAGE_SEEN} AND m.owing <> '{{}}' AND m.deleted_at IS NULL
       AND m.acknowledge_by < %(now)s
       AND (%(principal)s = ANY (m.owing) OR m.sender = %(principal)s)
     ORDER BY m.sent_at, m.message_id LIMIT %(limit)s
"""
_LAST: Final = 2**63 - 1


class PostgresMessages:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        values = sent_with(caller, message, stamp)
        [row] = await self._transactions.called(caller, _SEND, values)
        if row["outcome"] == "sent":
            return entered_from(caller, message, stamp, row)
        if row["outcome"] in {"replayed", "reused"}:
            before = await self.get(caller, MessageId(row["message_id"]))
            if row["outcome"] == "reused":
                raise KeyReused(str(message.key), before.message.label)
            inside = as_label(row["inside_level"], row["inside_compartments"])
            return Entered(message=before.message, position=before.position, inside=inside)
        if row["outcome"] in {"write_down", "below_reply"}:
            raise await self._write_down(caller, message, row)
        raise refusal(caller, message, row)

    async def end(self, caller: Principal, conversation: ConversationId) -> int:
        asked = {**cleared(caller), "conversation": conversation.value}
        [rows] = await self._transactions.looked_up(caller, (_END, asked))
        return int(_there(rows, conversation)["place"])

    async def get(self, caller: Principal, message: MessageId) -> Placed:
        [rows] = await self._transactions.looked_up(caller, (_GET, _which(caller, message)))
        return placed_from(_one(rows, message))

    async def after(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        after: int,
        limit: int,
        max_label: Label | None = None,
        thread: MessageId | None = None,
    ) -> MessageRange:
        """Where it ends is asked first: what came since then may be found besides, and nothing
        that is before it is missed."""
        there = {**cleared(caller), "conversation": conversation.value}
        asked = {
            **there,
            **cleared(caller, max_label),
            "thread": None if thread is None else thread.value,
            "place": after,
            "back": False,
            "limit": limit + 1,
        }
        ends, rows = await self._transactions.looked_up(caller, (_END, there), (AFTER, asked))
        its = _there(ends, conversation)
        found = [placed_from(row) for row in rows[:limit]]
        more = len(rows) > limit
        reached = found[-1].position if found else after
        return MessageRange(
            found=found,
            inside=as_label(its["level"], its["compartments"]),
            end=reached if more else max(reached, its["place"]),
            more=more,
        )

    async def before(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        before: int | None,
        limit: int,
        max_label: Label | None = None,
    ) -> MessageRange:
        there = {**cleared(caller), "conversation": conversation.value}
        asked = {
            **there,
            **cleared(caller, max_label),
            "thread": None,
            "place": _LAST if before is None else before,
            "back": True,
            "limit": limit + 1,
        }
        ends, rows = await self._transactions.looked_up(caller, (_END, there), (BEFORE, asked))
        its = _there(ends, conversation)
        found = [placed_from(row) for row in rows[:limit]][::-1]
        return MessageRange(
            found=found,
            inside=as_label(its["level"], its["compartments"]),
            end=found[0].position if found else 0,
            more=len(rows) > limit,
        )

    async def edit(self, caller: Principal, message: Message, at: datetime) -> None:
        values = {
            "body": strip_nul(message.body),
            "its_level": int(message.label.level),
            "its_compartments": sorted(message.label.compartments),
            "untrusted": message.untrusted,
            "gone": False,
            "others": False,
        }
        await self._change(caller, message.id, message.label, {**values, "at": at})

    async def delete(
        self, caller: Principal, message: MessageId, at: datetime, *, others: bool = False
    ) -> None:
        values: dict[str, object] = {
            "body": "",
            "its_level": 0,
            "its_compartments": [],
            "untrusted": False,
            "gone": True,
            "others": others,
        }
        await self._change(caller, message, None, {**values, "at": at})

    async def versions(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        asked = _which(caller, message)
        there, rows = await self._transactions.looked_up(caller, (_GET, asked), (_VERSIONS, asked))
        _one(there, message)
        return [version_from(row) for row in rows]

    async def acknowledge(self, caller: Principal, message: MessageId, at: datetime) -> None:
        values = {**_which(caller, message), "at": at}
        [[row]] = await self._transactions.looked_up(caller, (_ACKNOWLEDGE, values))
        if row["outcome"] == "not_found":
            raise MessageNotFound(str(message))
        if row["outcome"] == "write_down":
            its = (await self.get(caller, message)).message
            raise WriteDown(its.label, await mark_of(self._transactions, caller))

    async def acknowledged(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        asked = _which(caller, message)
        there, rows = await self._transactions.looked_up(
            caller, (_GET, asked), (_ACKNOWLEDGED, asked)
        )
        _one(there, message)
        return [Acknowledged(by=PrincipalId(row["principal_id"]), at=row["at"]) for row in rows]

    async def overdue(self, caller: Principal, now: datetime, limit: int) -> Sequence[Placed]:
        asked = {**cleared(caller), "now": now, "limit": limit}
        [rows] = await self._transactions.looked_up(caller, (_OVERDUE, asked))
        return [placed_from(row) for row in rows]

    async def _change(
        self,
        caller: Principal,
        message: MessageId,
        label: Label | None,
        values: dict[str, object],
    ) -> None:
        given = {**values, **_which(caller, message)}
        [[row]] = await self._transactions.looked_up(caller, (_CHANGE, given))
        if row["outcome"] == "not_found":
            raise MessageNotFound(str(message))
        if row["outcome"] == "not_theirs":
            raise NotTheirs(str(message))
        if row["outcome"] == "no_label" and label is not None:
            raise TooManyLabels(label)
        if row["outcome"] != "done":
            its = (await self.get(caller, message)).message.label
            mark = its if row["outcome"] == "sinks" else await mark_of(self._transactions, caller)
            raise WriteDown(label or its, mark)

    async def _write_down(self, caller: Principal, message: NewMessage, row: Row) -> WriteDown:
        if row["outcome"] == "below_reply" and message.reply_to is not None:
            read = (await self.get(caller, message.reply_to)).message.label
        else:
            read = await mark_of(self._transactions, caller)
        return WriteDown(as_label(row["level"], row["compartments"]), read)


def _which(caller: Principal, message: MessageId) -> dict[str, object]:
    return {**cleared(caller), "message": message.value}


def _one(rows: Sequence[Row], message: MessageId) -> Row:
    if not rows:
        raise MessageNotFound(str(message))
    return rows[0]


def _there(rows: Sequence[Row], conversation: ConversationId) -> Row:
    if not rows:
        raise ConversationNotFound(str(conversation))
    return rows[0]


# How far everybody has read, kept in PostgreSQL: counted by label, and told of those labels alone
# that the reader may see.

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
        max_label: Label | None = None,
    ) -> None:
        values = {
            **cleared(caller, max_label),
            "conversation": conversation.value,
            "place": place,
            "partly": max_label is not None,
        }
        await self._transactions.looked_up(caller, (_READ_TO, values))

    async def read_one(self, caller: Principal, message: MessageId) -> None:
        values = {**cleared(caller), "message": message.value}
        await self._transactions.looked_up(caller, (_READ_ONE, values))

    async def unread(
        self,
        caller: Principal,
        *,
        max_label: Label | None = None,
        conversations: Collection[ConversationId] | None = None,
    ) -> Sequence[Unread]:
        wanted = None if conversations is None else [each.value for each in conversations]
        asked = {**cleared(caller, max_label), "conversations": wanted}
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
