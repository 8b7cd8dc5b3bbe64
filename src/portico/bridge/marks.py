"""What a task has read on the bridge: it is raised before anything is handed out."""

from collections.abc import Iterable
from dataclasses import dataclass

from portico.bridge.core.message import Message
from portico.guard.core.access_request import TaskContext
from portico.guard.ports import Contexts
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Marks:
    contexts: Contexts

    async def at(self, caller: Principal) -> TaskContext:
        """Raises `ContextNotFound`."""
        return await self.contexts.get(caller)

    async def read(
        self, caller: Principal, labels: Iterable[Label], *, untrusted: bool = False
    ) -> None:
        """Raises `ContextNotFound`."""
        await self.contexts.rise(caller, join(labels), untrusted=untrusted)

    async def read_messages(
        self, caller: Principal, messages: Iterable[Message], *, inside: Iterable[Label] = ()
    ) -> None:
        """And the labels of the conversations that they are `inside`: that nothing was said there
        is also told by them. Raises `ContextNotFound`."""
        every = tuple(messages)
        labels = [*inside, *(message.label for message in every)]
        await self.read(caller, labels, untrusted=any(message.untrusted for message in every))
