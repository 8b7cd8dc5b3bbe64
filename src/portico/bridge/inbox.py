"""What waits for somebody, over all conversations that they take part in."""

from dataclasses import dataclass
from typing import Final

from portico.bridge.core.conversation import UnreadTotal
from portico.bridge.core.inbox import Inbox, inbox_of
from portico.bridge.marks import Marks
from portico.bridge.places import at_place, looking
from portico.bridge.ports import Conversations, Messages, ReadState
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_MOST_OVERDUE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CountUnread:
    read_state: ReadState
    marks: Marks

    async def __call__(self, caller: Principal, *, upto: Label | None = None) -> UnreadTotal:
        """Raises `NotPermitted`."""
        permit(caller, Scope.BRIDGE_READ)
        caller = looking(at_place(caller, None), upto)
        counted = await self.read_state.total(caller)
        await self.marks.read(caller, [counted.label])
        return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowInbox:
    conversations: Conversations
    messages: Messages
    read_state: ReadState
    marks: Marks
    clock: Clock

    async def __call__(self, caller: Principal, *, upto: Label | None = None) -> Inbox:
        """Raises `NotPermitted`."""
        permit(caller, Scope.BRIDGE_READ)
        caller = looking(at_place(caller, None), upto)
        unread = await self.read_state.unread(caller)
        where = await self.conversations.some(caller, [each.conversation for each in unread])
        late = await self.messages.overdue(caller, self.clock.now(), _MOST_OVERDUE)
        overdue = [placed.message for placed in late]
        counted = [*(each.label for each in unread), *(each.label for each in where)]
        await self.marks.read_messages(caller, overdue, inside=counted)
        return inbox_of(where, unread, overdue)
