"""Read what was said: on from where one stood, back from the end, a thread, or one message."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.cursor import Standing
from portico.bridge.core.errors import MessageNotFound
from portico.bridge.core.merging import Read, merged
from portico.bridge.core.message import Message, MessageId, Page
from portico.bridge.core.saying import flaws_of_limit, flaws_of_reading
from portico.bridge.core.spelling import check_flaws
from portico.bridge.cursors import Cursors
from portico.bridge.marks import Marks
from portico.bridge.news import Bulletin
from portico.bridge.open_conversation import OpenMessage
from portico.bridge.places import at_place, looking
from portico.bridge.ports import Messages
from portico.guard.authentication import AsTheyAre
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessages:
    messages: Messages
    marks: Marks
    cursors: Cursors
    bulletin: Bulletin
    as_they_are: AsTheyAre

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        cursor: str | None = None,
        limit: int = 50,
        upto: Label | None = None,
        wait: timedelta | None = None,
    ) -> Page:
        """The oldest first, from the first or from where a page ended that was read with the same
        `upto`; if there is nothing, waits so long until there is. Raises `NotPermitted`,
        `BadBridgeInput`, `BadCursor`, `ConversationNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_reading(conversations, limit=limit, wait=wait))
        asked = _Asked(conversations, cursor, limit, upto)
        page = await self._page(caller, asked)
        if page.messages or page.reset or not wait:
            return page
        async with self.bulletin.listening(caller, conversations, upto=upto) as listener:
            page = await self._page(await self._again(caller), asked)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait.total_seconds()):
                    while not (page.messages or page.reset):
                        await listener.heard()
                        page = await self._page(await self._again(caller), asked)
        return page

    async def _again(self, caller: Principal) -> Principal:
        """Whoever waited is who they are by now. Raises `KeyEnded`, `NotPermitted`."""
        now = await self.as_they_are(caller, key=caller.key, at=caller.context)
        permit(now, Scope.BRIDGE_READ)
        return now

    async def _page(self, caller: Principal, asked: "_Asked") -> Page:
        looked = looking(caller, asked.upto)
        standing = self.cursors.standing(looked, asked.conversations, asked.cursor)
        reads = {
            each: await self._read(looked, each, standing, asked.limit)
            for each in asked.conversations
        }
        found = merged(reads, asked.limit)
        for each in asked.conversations:
            here = [message for message in found.messages if message.conversation == each]
            await self.marks.read_messages(
                at_place(looked, each), here, inside=[reads[each].inside]
            )
        cursor = self.cursors.text(looked, found.places)
        return Page(messages=found.messages, cursor=cursor, more=found.more, reset=standing.reset)

    async def _read(
        self, caller: Principal, conversation: ConversationId, standing: Standing, limit: int
    ) -> Read:
        start = standing.places[conversation]
        here = at_place(caller, conversation)
        stretch = await self.messages.after(here, conversation, after=start, limit=limit)
        return Read(
            found=[(placed.place, placed.message) for placed in stretch.found],
            start=start,
            more=stretch.more,
            inside=stretch.inside,
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    conversations: Sequence[ConversationId]
    cursor: str | None
    limit: int
    upto: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookBack:
    messages: Messages
    marks: Marks
    cursors: Cursors
    """Those that lead back."""

    async def __call__(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        before: str | None = None,
        limit: int = 50,
        upto: Label | None = None,
    ) -> Page:
        """The last ones, or those before a page of them, oldest first; its cursor is for the page
        before. Raises `NotPermitted`, `BadBridgeInput`, `BadCursor`, `ConversationNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_limit(limit))
        caller = looking(at_place(caller, conversation), upto)
        standing = self.cursors.standing(caller, [conversation], before)
        anew = before is None or standing.reset
        stretch = await self.messages.before(
            caller,
            conversation,
            before=None if anew else standing.places[conversation],
            limit=limit,
        )
        found = [placed.message for placed in stretch.found]
        await self.marks.read_messages(caller, found, inside=[stretch.inside])
        cursor = self.cursors.text(caller, {conversation: stretch.end})
        return Page(messages=found, cursor=cursor, more=stretch.more, reset=standing.reset)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThread:
    messages: Messages
    open_message: OpenMessage
    marks: Marks

    async def __call__(
        self,
        caller: Principal,
        message: MessageId,
        *,
        after: MessageId | None = None,
        limit: int = 200,
    ) -> Sequence[Message]:
        """What the thread of this message began with, and the first answers in it; or those
        `after` one of them. Raises `NotPermitted`, `BadBridgeInput`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_limit(limit))
        caller, found = await self.open_message(caller, message)
        root = found.thread or found.id
        begun: list[Message] = []
        if after is None:
            with suppress(MessageNotFound):  # it may be more secret by now than what answers it
                begun.append((await self.messages.get(caller, root)).message)
        answers = await self.messages.after(
            caller,
            found.conversation,
            after=0 if after is None else await self._place(caller, found, after),
            limit=limit,
            thread=root,
        )
        page = [*begun, *(placed.message for placed in answers.found)][:limit]
        await self.marks.read_messages(caller, page)
        return page

    async def _place(self, caller: Principal, beside: Message, message: MessageId) -> int:
        """Of one in the same conversation: elsewhere it would measure what nobody is told."""
        placed = await self.messages.get(caller, message)
        if placed.message.conversation != beside.conversation:
            raise MessageNotFound(str(message))
        return placed.place


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowMessage:
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> Message:
        """Raises `NotPermitted`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        _, found = await self.open_message(caller, message)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TailCursor:
    """Where what comes from now on begins."""

    messages: Messages
    marks: Marks
    cursors: Cursors

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        upto: Label | None = None,
    ) -> str:
        """After the last message that the caller may see: nothing that is hidden moves it. Raises
        `NotPermitted`, `BadBridgeInput`, `ConversationNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_reading(conversations))
        caller = looking(caller, upto)
        places: dict[ConversationId, int] = {}
        for each in conversations:
            here = at_place(caller, each)
            last = await self.messages.before(here, each, before=None, limit=1)
            said = [placed.message.label for placed in last.found]
            await self.marks.read(here, [last.inside, *said])
            places[each] = last.end
        return self.cursors.text(caller, places)
