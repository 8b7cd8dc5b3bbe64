"""The task that a debate happens in: it begins with what its starter's task has read."""

from dataclasses import dataclass

from portico.guard.core.access_request import TaskContext
from portico.guard.core.contexts import OpenedContext
from portico.guard.ports import ContextBook, Contexts
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateTasks:
    """Nobody says here that a window is clean: the house opens it, and the debate remembers nothing
    but what it is given."""

    book: ContextBook
    contexts: Contexts
    clock: Clock
    entropy: Entropy

    async def open(self, caller: Principal, name: str, label: Label) -> ContextId:
        """Raises `ContextNotFound`."""
        task, now = await self.contexts.get(caller), self.clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self.entropy),
            principal=caller.id,
            name=name,
            opened_at=now,
            label=join([task.label, label]),
            untrusted=task.untrusted,
        )
        await self.book.open(caller, context)
        return context.id

    async def at(self, caller: Principal) -> TaskContext:
        """Raises `ContextNotFound`."""
        return await self.contexts.get(caller)

    async def read(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """Raises `ContextNotFound`."""
        await self.contexts.rise(caller, label, untrusted=untrusted)
