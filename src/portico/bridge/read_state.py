"""The inbox: list, mark as read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.bridge.activity import Cursors
from portico.bridge.conversations import OpenMessage
from portico.bridge.core.conversations import ConversationId, UnreadTotal
from portico.bridge.core.errors import raise_if_invalid
from portico.bridge.core.messages import MessageId, flaws_of_reading
from portico.bridge.core.read_state import Inbox, inbox_of
from portico.bridge.ports import Conversations, Messages, ReadState
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# What waits for somebody, over all conversations that they take part in.

_MOST_OVERDUE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CountUnread:
    read_state: ReadState
    taint: TaintRecorder

    async def __call__(self, caller: Principal, *, upto: Label | None = None) -> UnreadTotal:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller = looking(in_view_context(caller, None), upto)
        counted = await self.read_state.total(caller)
        await self.taint.read(caller, [counted.label])
        return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowInbox:
    conversations: Conversations
    messages: Messages
    read_state: ReadState
    taint: TaintRecorder
    clock: Clock

    async def __call__(self, caller: Principal, *, upto: Label | None = None) -> Inbox:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller = looking(in_view_context(caller, None), upto)
        unread = await self.read_state.unread(caller)
        where = await self.conversations.some(caller, [each.conversation for each in unread])
        late = await self.messages.overdue(caller, self.clock.now(), _MOST_OVERDUE)
        overdue = [placed.message for placed in late]
        counted = [*(each.label for each in unread), *(each.label for each in where)]
        await self.taint.read_messages(caller, overdue, inside=counted)
        return inbox_of(where, unread, overdue)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRead:
    read_state: ReadState
    cursors: Cursors

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        cursor: str,
        *,
        upto: Label | None = None,
    ) -> None:
        """Up to where a page of these conversations ended, read with the same `upto`; never back.
        A cursor of another clearance marks nothing. Raises `NotPermitted`, `InvalidBridgeInput`,
        `InvalidCursor`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_reading(conversations))
        looked = looking(caller, upto)
        all_of_it = looked.clearance == caller.clearance
        standing = self.cursors.position(looked, conversations, cursor)
        for conversation, place in standing.places.items():
            if place:
                await self.read_state.read_to(
                    caller, conversation, place, max_label=None if all_of_it else upto
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOne:
    read_state: ReadState
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """This one, whatever is before it. Raises `NotPermitted`, `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        await self.read_state.read_one(caller, message)
