"""Say that something has arrived; and see who has said so."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.labelling import check_shared
from portico.bridge.core.message import Acknowledged, MessageId
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenMessage
from portico.bridge.ports import Messages
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


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
