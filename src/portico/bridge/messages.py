"""Messages: send, read, change, acknowledge."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.bridge.activity import Bulletin, Cursors
from portico.bridge.conversations import OpenConversation, OpenMessage
from portico.bridge.core.activity import Standing, topic_of
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    MessageNotFound,
    WriteDown,
    check_flaws,
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
from portico.bridge.taint import Marks, at_place, looking
from portico.engine.core.errors import KeyReused
from portico.engine.ports import Bus
from portico.guard.authentication import AsTheyAre
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
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
    marks: Marks
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, message: NewMessage) -> Sent:
        """As secret as was asked for; or else as where it is said, what is attached to it, and all
        that was read in this task. Whom its text names with an `@` is mentioned. Raises
        `NotPermitted`, `BadBridgeInput`, `ConversationNotFound`, `MessageNotFound` of what it
        answers, `AttachmentNotFound`, `WriteDown`, `BelowContainer`, `AboveClearance`,
        `Archived`, `KeyReused`."""
        permit(caller, Scope.BRIDGE_WRITE)
        check_flaws(flaws_of_message(message))
        caller = at_place(caller, message.conversation)
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
            await self.marks.read_messages(caller, [said], inside=[entered.inside])
        else:
            await self.marks.read(caller, [entered.inside])
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
        await self.marks.read_messages(caller, [answered])

    async def _attached(self, caller: Principal, message: NewMessage) -> None:
        """Whoever attaches something knows that it is there."""
        attached = [await self.attachments.about(caller, each) for each in message.attachments]
        labels = [each.label for each in attached]
        if labels:
            untrusted = any(each.untrusted for each in attached)
            await self.marks.read(caller, labels, untrusted=untrusted)

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
            await self.marks.read(caller, [before.label])
            raise
        except (Archived, BelowContainer, WriteDown, AboveClearance):
            await self.open_conversation(caller, message.conversation)
            raise


# Say something differently, or take it back; and what it was before.


@dataclass(frozen=True, slots=True, kw_only=True)
class EditMessage:
    messages: Messages
    open_message: OpenMessage
    marks: Marks
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId, body: str) -> Message:
        """As secret as it was, and as what was read in this task: it is then hidden from those who
        may read less. Raises `NotPermitted`, `BadBridgeInput`, `MessageNotFound`, `NotTheirs`,
        `AboveClearance`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        check_flaws(flaws_of_body(body, empty=bool(was.attachments)))
        mark = await self.marks.at(caller)
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
    marks: Marks
    together: Together
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """That it was there remains. Raises `NotPermitted`, `MessageNotFound`, `NotTheirs`,
        `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        check_shared(was.label, (await self.marks.at(caller)).label)
        others = caller.may(Scope.BRIDGE_MANAGE)
        async with self.together(caller):
            await self.messages.delete(caller, message, self.clock.now(), others=others)
            if was.sender != caller.id:
                await self.audit.note(caller, about_deletion(was))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVersions:
    messages: Messages
    open_message: OpenMessage
    marks: Marks

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        """What it said before, oldest first. Raises `NotPermitted`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        versions = await self.messages.versions(caller, message)
        await self.marks.read(caller, [version.label for version in versions])
        return versions


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    messages: Messages
    open_message: OpenMessage
    marks: Marks
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """For everybody to see who may read the message. Raises `NotPermitted`,
        `MessageNotFound`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_message(caller, message)
        check_shared(found.label, (await self.marks.at(caller)).label)
        await self.messages.acknowledge(caller, message, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAcknowledged:
    messages: Messages
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        """Oldest first. Raises `NotPermitted`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        return await self.messages.acknowledged(caller, message)


# Whom somebody means who names people, as one does in talk, and not by their ids.


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePeople:
    people: People

    async def __call__(self, caller: Principal, names: Sequence[str]) -> tuple[PrincipalId, ...]:
        """In this order, each once; an `@` before a name is no part of it. Raises `NotPermitted`,
        `PrincipalNotFound`."""
        permit(caller, Scope.BRIDGE_WRITE)
        wanted = [name.removeprefix("@") for name in names]
        found = await self.people.named(caller, wanted) if wanted else {}
        for name in wanted:
            if name not in found:
                raise PrincipalNotFound(name)
        return tuple(dict.fromkeys(found[name] for name in wanted))
