"""Say how far one has read: for oneself alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.message import MessageId
from portico.bridge.core.saying import flaws_of_reading
from portico.bridge.core.spelling import check_flaws
from portico.bridge.cursors import Cursors
from portico.bridge.open_conversation import OpenMessage
from portico.bridge.places import looking
from portico.bridge.ports import ReadState
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.label import Label
from portico.kernel.principal import Principal


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
        A cursor of another clearance marks nothing. Raises `NotPermitted`, `BadBridgeInput`,
        `BadCursor`."""
        permit(caller, Scope.BRIDGE_READ)
        check_flaws(flaws_of_reading(conversations))
        looked = looking(caller, upto)
        all_of_it = looked.clearance == caller.clearance
        standing = self.cursors.standing(looked, conversations, cursor)
        for conversation, place in standing.places.items():
            if place:
                await self.read_state.read_to(
                    caller, conversation, place, upto=None if all_of_it else upto
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOne:
    read_state: ReadState
    open_message: OpenMessage

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """This one, whatever is before it. Raises `NotPermitted`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        await self.read_state.read_one(caller, message)
