"""The task that a run of an agent happens in: it begins with what its starter's task has read."""

from dataclasses import dataclass

from portico.guard.core.access_request import TaskContext
from portico.guard.core.contexts import OpenedContext
from portico.guard.ports import ContextBook, Contexts
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTasks:
    """Nobody says here that a window is clean: the house opens it, and the run remembers nothing
    but what it is given."""

    book: ContextBook
    contexts: Contexts
    clock: Clock
    entropy: Entropy

    async def open(
        self, acts_as: Principal, name: str, *, after: Principal, label: Label = PUBLIC
    ) -> ContextId:
        """Raises `ContextNotFound`."""
        task, now = await self.contexts.get(after), self.clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self.entropy),
            principal=acts_as.id,
            name=name,
            opened_at=now,
            label=join([task.label, label]),
            untrusted=task.untrusted,
        )
        await self.book.open(acts_as, context)
        return context.id

    async def take_over(self, caller: Principal, *, after: Principal) -> TaskContext:
        """Raises `ContextNotFound`."""
        task = await self.contexts.get(after)
        await self.contexts.rise(caller, task.label, untrusted=task.untrusted)
        return task

    async def label(self, caller: Principal) -> Label:
        """Raises `ContextNotFound`."""
        return (await self.contexts.get(caller)).label
