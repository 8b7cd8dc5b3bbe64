"""Messages: send, read, change, acknowledge."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.bridge.activity import Bulletin, Cursors
from portico.bridge.conversations import OpenConversation, OpenMessage
from portico.bridge.core.activity import ReadPosition, topic_of
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    MessageNotFound,
    WriteDown,
    raise_if_invalid,
)
from portico.bridge.core.messages import (
    MOST_MENTIONS,
    Acknowledged,
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
    Page,
    Read,
    Sent,
    check_shared,
    flaws_of_body,
    flaws_of_limit,
    flaws_of_message,
    flaws_of_reading,
    label_of,
    merged,
    names_in,
)
from portico.bridge.core.taint import about_deletion
from portico.bridge.ports import Attachments, Conversations, Entered, Messages, People, Stamp
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.engine.core.errors import KeyReused
from portico.engine.ports import Bus
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage:
    conversations: Conversations
    open_conversation: OpenConversation
    messages: Messages
    attachments: Attachments
    people: People
    taint: TaintRecorder
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, message: NewMessage) -> Sent:
        """As secret as was asked for; or else as where it is said, what is attached to it, and all
        that was read in this task. Whom its text names with an `@` is mentioned. Raises
        `NotPermitted`, `InvalidBridgeInput`, `ConversationNotFound`, `MessageNotFound` of what it
        answers, `AttachmentNotFound`, `WriteDown`, `BelowContainer`, `AboveClearance`,
        `Archived`, `KeyReused`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_message(message))
        caller = in_view_context(caller, message.conversation)
        await self._answers(caller, message)
        await self._attached(caller, message)
        now = self.clock.now()
        stamp = Stamp(
            id=MessageId.mint(now, self.entropy),
            at=now,
            label=message.label,
            named=await self._named(caller, message),
        )
        entered = await self._said(caller, message, stamp)
        said, replayed = entered.message, entered.message.id != stamp.id
        if replayed:
            await self.taint.read_messages(caller, [said], inside=[entered.inside])
        else:
            await self.taint.read(caller, [entered.inside])
        self.bus.wake(caller.space, topic_of(message.conversation))
        raised = message.label is None and said.label != entered.inside
        absent = await self._absent(caller, said)
        return Sent(message=said, raised=raised, replayed=replayed, absent=absent)

    async def _absent(self, caller: Principal, said: Message) -> tuple[PrincipalId, ...]:
        told = dict.fromkeys((*said.mentions, *said.addressed))
        if not told:
            return ()
        there = await self.conversations.participants(caller, said.conversation)
        taking_part = {each.principal for each in there}
        return tuple(who for who in told if who not in taking_part)

    async def _answers(self, caller: Principal, message: NewMessage) -> None:
        """Whoever answers something has read it."""
        if message.reply_to is None:
            return
        answered = (await self.messages.get(caller, message.reply_to)).message
        if answered.conversation != message.conversation:
            raise MessageNotFound(str(message.reply_to))
        await self.taint.read_messages(caller, [answered])

    async def _attached(self, caller: Principal, message: NewMessage) -> None:
        """Whoever attaches something knows that it is there."""
        attached = [await self.attachments.about(caller, each) for each in message.attachments]
        labels = [each.label for each in attached]
        if labels:
            untrusted = any(each.untrusted for each in attached)
            await self.taint.read(caller, labels, untrusted=untrusted)

    async def _named(self, caller: Principal, message: NewMessage) -> tuple[PrincipalId, ...]:
        names = names_in(message.body)
        found = await self.people.named(caller, names) if names else {}
        told = dict.fromkeys(found[name] for name in names if name in found)
        more = [who for who in told if who not in message.mentions]
        return tuple(more[: MOST_MENTIONS - len(message.mentions)])

    async def _said(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        """Whoever is told why not knows that the conversation is there."""
        try:
            return await self.messages.send(caller, message, stamp)
        except KeyReused as before:
            await self.taint.read(caller, [before.label])
            raise
        except (Archived, BelowContainer, WriteDown, AboveClearance):
            await self.open_conversation(caller, message.conversation)
            raise


# Say something differently, or take it back; and what it was before.


@dataclass(frozen=True, slots=True, kw_only=True)
class EditMessage:
    messages: Messages
    open_message: OpenMessage
    taint: TaintRecorder
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId, body: str) -> Message:
        """As secret as it was, and as what was read in this task: it is then hidden from those who
        may read less. Raises `NotPermitted`, `InvalidBridgeInput`, `MessageNotFound`, `NotTheirs`,
        `AboveClearance`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        raise_if_invalid(flaws_of_body(body, empty=bool(was.attachments)))
        mark = await self.taint.at(caller)
        labelled = label_of(None, inside=was.label, mark=mark.label, clearance=caller.clearance)
        now = self.clock.now()
        changed = replace(
            was,
            body=body,
            label=labelled.label,
            untrusted=was.untrusted or mark.untrusted,
            edited_at=now,
        )
        await self.messages.edit(caller, changed, now)
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMessage:
    messages: Messages
    open_message: OpenMessage
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """That it was there remains. Raises `NotPermitted`, `MessageNotFound`, `NotTheirs`,
        `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        check_shared(was.label, (await self.taint.at(caller)).label)
        others = caller.may(Scope.BRIDGE_MANAGE)
        async with self.unit_of_work(caller):
            await self.messages.delete(caller, message, self.clock.now(), others=others)
            if was.sender != caller.id:
                await self.audit.note(caller, about_deletion(was))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVersions:
    messages: Messages
    open_message: OpenMessage
    taint: TaintRecorder

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        """What it said before, oldest first. Raises `NotPermitted`, `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        versions = await self.messages.versions(caller, message)
        await self.taint.read(caller, [version.label for version in versions])
        return versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessages:
    messages: Messages
    taint: TaintRecorder
    cursors: Cursors
    bulletin: Bulletin
    as_they_are: RevalidatePrincipal

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
        `InvalidBridgeInput`, `InvalidCursor`, `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_reading(conversations, limit=limit, wait=wait))
        asked = _Asked(conversations, cursor, limit, upto)
        page = await self._page(caller, asked)
        if page.messages or page.reset or not wait:
            return page
        async with self.bulletin.listening(caller, conversations, max_label=upto) as listener:
            page = await self._page(await self._again(caller), asked)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait.total_seconds()):
                    while not (page.messages or page.reset):
                        await listener.receive()
                        page = await self._page(await self._again(caller), asked)
        return page

    async def _again(self, caller: Principal) -> Principal:
        """Whoever waited is who they are by now. Raises `KeyEnded`, `NotPermitted`."""
        now = await self.as_they_are(caller, key=caller.key, at=caller.context)
        require_scope(now, Scope.BRIDGE_READ)
        return now

    async def _page(self, caller: Principal, asked: "_Asked") -> Page:
        looked = looking(caller, asked.upto)
        standing = self.cursors.position(looked, asked.conversations, asked.cursor)
        reads = {
            each: await self._read(looked, each, standing, asked.limit)
            for each in asked.conversations
        }
        found = merged(reads, asked.limit)
        for each in asked.conversations:
            here = [message for message in found.messages if message.conversation == each]
            await self.taint.read_messages(
                in_view_context(looked, each), here, inside=[reads[each].inside]
            )
        cursor = self.cursors.text(looked, found.positions)
        return Page(messages=found.messages, cursor=cursor, more=found.more, reset=standing.reset)

    async def _read(
        self, caller: Principal, conversation: ConversationId, standing: ReadPosition, limit: int
    ) -> Read:
        start = standing.places[conversation]
        here = in_view_context(caller, conversation)
        stretch = await self.messages.after(here, conversation, after=start, limit=limit)
        return Read(
            found=[(placed.position, placed.message) for placed in stretch.found],
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
class ReadBack:
    messages: Messages
    taint: TaintRecorder
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
        before. Raises `NotPermitted`, `InvalidBridgeInput`, `InvalidCursor`,
        `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        caller = looking(in_view_context(caller, conversation), upto)
        standing = self.cursors.position(caller, [conversation], before)
        anew = before is None or standing.reset
        stretch = await self.messages.before(
            caller,
            conversation,
            before=None if anew else standing.places[conversation],
            limit=limit,
        )
        found = [placed.message for placed in stretch.found]
        await self.taint.read_messages(caller, found, inside=[stretch.inside])
        cursor = self.cursors.text(caller, {conversation: stretch.end})
        return Page(messages=found, cursor=cursor, more=stretch.more, reset=standing.reset)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThread:
    messages: Messages
    open_message: OpenMessage
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        message: MessageId,
        *,
        after: MessageId | None = None,
        limit: int = 200,
    ) -> Sequence[Message]:
        """What the thread of this message began with, and the first answers in it; or those
        `after` one of them. Raises `NotPermitted`, `InvalidBridgeInput`, `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
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
        await self.taint.read_messages(caller, page)
        return page

    async def _place(self, caller: Principal, beside: Message, message: MessageId) -> int:
        """Of one in the same conversation: elsewhere it would measure what nobody is told."""
        placed = await self.messages.get(caller, message)
        if placed.message.conversation != beside.conversation:
            raise MessageNotFound(str(message))
        return placed.position


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowMessage:
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> Message:
        """Raises `NotPermitted`, `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        _, found = await self.open_message(caller, message)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TailCursor:
    """Where what comes from now on begins."""

    messages: Messages
    taint: TaintRecorder
    cursors: Cursors

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        upto: Label | None = None,
    ) -> str:
        """After the last message that the caller may see: nothing that is hidden moves it. Raises
        `NotPermitted`, `InvalidBridgeInput`, `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_reading(conversations))
        caller = looking(caller, upto)
        places: dict[ConversationId, int] = {}
        for each in conversations:
            here = in_view_context(caller, each)
            last = await self.messages.before(here, each, before=None, limit=1)
            said = [placed.message.label for placed in last.found]
            await self.taint.read(here, [last.inside, *said])
            places[each] = last.end
        return self.cursors.text(caller, places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    messages: Messages
    open_message: OpenMessage
    taint: TaintRecorder
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """For everybody to see who may read the message. Raises `NotPermitted`,
        `MessageNotFound`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_message(caller, message)
        check_shared(found.label, (await self.taint.at(caller)).label)
        await self.messages.acknowledge(caller, message, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAcknowledged:
    messages: Messages
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        """Oldest first. Raises `NotPermitted`, `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        return await self.messages.acknowledged(caller, message)


# Whom somebody means who names people, as one does in talk, and not by their ids.


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePeople:
    people: People

    async def __call__(self, caller: Principal, names: Sequence[str]) -> tuple[PrincipalId, ...]:
        """In this order, each once; an `@` before a name is no part of it. Raises `NotPermitted`,
        `PrincipalNotFound`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        wanted = [name.removeprefix("@") for name in names]
        found = await self.people.named(caller, wanted) if wanted else {}
        for name in wanted:
            if name not in found:
                raise PrincipalNotFound(name)
        return tuple(dict.fromkeys(found[name] for name in wanted))
