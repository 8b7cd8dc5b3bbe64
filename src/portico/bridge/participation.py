"""Who takes part in a conversation: join it, leave it, hear less of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.audit_facts import about_membership
from portico.bridge.core.conversation import Conversation, ConversationId, Participant
from portico.bridge.core.labelling import check_shared
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenConversation
from portico.bridge.places import at_place
from portico.bridge.ports import Conversations
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListParticipants:
    conversations: Conversations
    open_conversation: OpenConversation

    async def __call__(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        """Raises `NotPermitted`, `ConversationNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_conversation(caller, conversation)
        return await self.conversations.participants(caller, conversation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """That somebody takes part is there for everybody to see who sees the conversation."""

    conversations: Conversations
    open_conversation: OpenConversation
    marks: Marks
    together: Together
    audit: Audit

    async def __call__(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId | None = None
    ) -> None:
        """The caller, or somebody whom they let in. Raises `NotPermitted`,
        `ConversationNotFound`, `PrincipalNotFound`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_conversation(caller, conversation)
        check_shared(found.label, (await self.marks.at(caller)).label)
        whom = who or caller.id
        async with self.together(caller):
            await self.conversations.join(caller, conversation, whom)
            await _noted(self.audit, caller, "joined", found, whom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    conversations: Conversations
    open_conversation: OpenConversation
    marks: Marks
    together: Together
    audit: Audit

    async def __call__(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId | None = None
    ) -> None:
        """The caller; or somebody else, by whoever began it or has to keep order. Raises
        `NotPermitted`, `ConversationNotFound`, `NotTakingPart`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_conversation(caller, conversation)
        whom = who or caller.id
        if caller.id not in (whom, found.made_by):
            permit(caller, Scope.BRIDGE_MANAGE)
        check_shared(found.label, (await self.marks.at(caller)).label)
        async with self.together(caller):
            await _noted(self.audit, caller, "left", found, whom)
            await self.conversations.leave(caller, conversation, whom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    conversations: Conversations

    async def __call__(
        self, caller: Principal, conversation: ConversationId, *, muted: bool
    ) -> None:
        """For the caller alone, who alone is told. Raises `NotPermitted`,
        `ConversationNotFound`, `NotTakingPart`."""
        permit(caller, Scope.BRIDGE_READ)
        await self.conversations.mute(at_place(caller, conversation), conversation, muted=muted)


async def _noted(
    audit: Audit, caller: Principal, done: str, conversation: Conversation, who: PrincipalId
) -> None:
    if conversation.closed:
        await audit.note(caller, about_membership(done, conversation, who))
