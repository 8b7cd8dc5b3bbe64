"""Say something in a conversation, once."""

from dataclasses import dataclass

from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    MessageNotFound,
    WriteDown,
)
from portico.bridge.core.message import MOST_MENTIONS, Message, MessageId, NewMessage, Sent
from portico.bridge.core.naming import names_in
from portico.bridge.core.news import topic_of
from portico.bridge.core.saying import flaws_of_message
from portico.bridge.core.spelling import check_flaws
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenConversation
from portico.bridge.places import at_place
from portico.bridge.ports import Conversations, Entered, Messages, People, Stamp
from portico.bridge.thing_ports import Attachments
from portico.engine.core.errors import KeyReused
from portico.engine.ports import Bus
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import PrincipalId
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
