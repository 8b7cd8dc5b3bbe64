"""`read`: the last messages, or what came since a cursor, and a while of waiting for it."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.messages import Message, MessageId
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.errors import TooLargeToTell
from portico.interfaces.mcp.bridge.facts import attachment_facts, messages_facts
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import attachment_line, messages_words
from portico.interfaces.mcp.told import Facts, Told, lines, quoted
from portico.kernel.errors import Flaw
from portico.kernel.label import Label
from portico.kernel.principal import Principal

LONGEST_WAIT: Final = 20
"""Seconds: clients give up after a minute, some after half of one."""
USUAL: Final = 20
_OF_THREAD: Final = 200
_LARGEST: Final = 1_000_000
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class Look:
    """At the end of some conversations."""

    messages: Sequence[Message]
    cursor: str
    """For what comes from now on."""
    older: Facts
    """Where there is more before these: by conversation, what to go back with."""


@dataclass(frozen=True, slots=True)
class Reading:
    use: BridgeUses

    async def read(self, caller: Principal, given: Given) -> Told:
        if "attachment" in given:
            return await self._attachment(caller, given)
        if (thread := given.message("thread")) is not None:
            return await self._thread(caller, thread, given)
        conversations = [ConversationId.parse(each) for each in given.texts("conversations")]
        if not conversations:
            raise BadBridgeInput([Flaw("conversations", "is needed, or thread, or attachment")])
        limit = given.number("limit") or USUAL
        if (before := given.text("before")) is not None:
            return await self._before(caller, conversations, before, limit, given.upto)
        if (cursor := given.text("cursor")) is not None:
            return await self._since(caller, conversations, cursor, limit, given)
        look = await self.look(caller, conversations, limit=limit, upto=given.upto)
        if look.messages and not given.switch("peek"):
            await self._seen(caller, conversations, look.cursor, given.upto)
        facts = {
            "messages": messages_facts(look.messages, caller.id),
            "cursor": look.cursor,
            "older": look.older,
        }
        older = [f"older in {each}: read with before {where}" for each, where in look.older.items()]
        return _told(look.messages, facts, len(conversations), older)

    async def look(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        limit: int = USUAL,
        upto: Label | None = None,
    ) -> Look:
        """Raises `PorticoError`."""
        talk = self.use.bridge.talk
        # The cursor first: what is said in between is then told twice, and not never.
        cursor = await talk.tail_cursor(caller, conversations, upto=upto)
        pages = {
            each: await talk.look_back(caller, each, limit=limit, upto=upto)
            for each in conversations
        }
        return Look(
            messages=[message for page in pages.values() for message in page.messages],
            cursor=cursor,
            older={str(each): page.cursor for each, page in pages.items() if page.more},
        )

    async def _since(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        cursor: str,
        limit: int,
        given: Given,
    ) -> Told:
        wait = min(max(given.number("wait") or 0, 0), LONGEST_WAIT)
        page = await self.use.bridge.talk.read_messages(
            caller,
            conversations,
            cursor=cursor,
            limit=limit,
            upto=given.upto,
            wait=timedelta(seconds=wait) if wait else None,
        )
        if page.messages and not given.switch("peek"):
            await self._seen(caller, conversations, page.cursor, given.upto)
        facts = {
            "messages": messages_facts(page.messages, caller.id),
            "cursor": page.cursor,
            "more": page.more,
            "reset": page.reset,
        }
        notes = [
            "What you may read has changed: this begins anew." if page.reset else "",
            "There is more: read on with the cursor." if page.more else "",
        ]
        return _told(page.messages, facts, len(conversations), notes)

    async def _before(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        before: str,
        limit: int,
        upto: Label | None,
    ) -> Told:
        if len(conversations) != 1:
            raise BadBridgeInput([Flaw("conversations", "must be one, to go back in it")])
        page = await self.use.bridge.talk.look_back(
            caller, conversations[0], before=before, limit=limit, upto=upto
        )
        facts = messages_facts(page.messages, caller.id)
        older = page.cursor if page.more else None
        note = f"older: read with before {older}" if older else "These are the first."
        return Told(
            lines(messages_words(facts), note),
            {"messages": facts, "more": page.more, **({"before": older} if older else {})},
        )

    async def _thread(self, caller: Principal, thread: MessageId, given: Given) -> Told:
        """Its cursor is the last message of it."""
        limit = given.number("limit") or _OF_THREAD
        found = await self.use.bridge.talk.read_thread(
            looking(caller, given.upto), thread, after=given.message("cursor"), limit=limit
        )
        facts, more = messages_facts(found, caller.id), len(found) == limit
        last = {"cursor": str(found[-1].id)} if more else {}
        note = f"There may be more: read on with cursor {found[-1].id}" if more else ""
        return Told(lines(messages_words(facts), note), {"messages": facts, "more": more, **last})

    async def _seen(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        cursor: str,
        upto: Label | None,
    ) -> None:
        await self.use.bridge.talk.mark_read(caller, conversations, cursor, upto=upto)

    async def _attachment(self, caller: Principal, given: Given) -> Told:
        digest = Digest.parse(given.needed("attachment"))
        attachment, content = await self.file(looking(caller, given.upto), digest)
        facts, text = attachment_facts(attachment), as_text(content)
        if text is None:
            encoded = base64.b64encode(content).decode()
            return Told(
                lines(attachment_line(facts), f"in base 64: {encoded}"),
                {**facts, "base64": encoded},
            )
        return Told(lines(attachment_line(facts), quoted(text)), {**facts, "text": text})

    async def file(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        """Raises `PorticoError`."""
        attachment, content = await self.use.bridge.things.fetch_attachment(caller, digest)
        if len(content) > _LARGEST:
            raise TooLargeToTell(str(digest), len(content))
        return attachment, content


def as_text(content: bytes) -> str | None:
    """None of what is none, whatever it is said to be."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _told(messages: Sequence[Message], facts: Facts, places: int, notes: list[str]) -> Told:
    told = facts["messages"]
    words = messages_words(told, where=places > 1) if messages else "Nothing new."
    return Told(lines(words, f"cursor: {facts['cursor']}", notes), facts)
