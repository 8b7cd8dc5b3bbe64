"""The way into a conversation: to be there, and to know that it is there."""

from dataclasses import dataclass

from portico.bridge.core.conversation import Conversation, ConversationId
from portico.bridge.core.message import Message, MessageId
from portico.bridge.marks import Marks
from portico.bridge.places import at_place
from portico.bridge.ports import Conversations, Messages
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class OpenConversation:
    conversations: Conversations
    marks: Marks

    async def __call__(
        self, caller: Principal, conversation: ConversationId
    ) -> tuple[Principal, Conversation]:
        """The caller in front of it. Raises `ConversationNotFound`."""
        there = at_place(caller, conversation)
        found = await self.conversations.get(there, conversation)
        await self.marks.read(there, [found.label])
        return there, found


@dataclass(frozen=True, slots=True)
class OpenMessage:
    messages: Messages
    marks: Marks

    async def __call__(self, caller: Principal, message: MessageId) -> tuple[Principal, Message]:
        """The caller in front of its conversation. Raises `MessageNotFound`."""
        found = (await self.messages.get(caller, message)).message
        there = at_place(caller, found.conversation)
        await self.marks.read_messages(there, [found])
        return there, found
