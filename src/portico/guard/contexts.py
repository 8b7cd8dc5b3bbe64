"""Task contexts: open, list, close."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.guard.core.audit import AuditEntry
from portico.guard.core.contexts import OpenedContext, check_opens
from portico.guard.core.errors import ContextNotFound
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, ContextRegistry, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

# Tasks that somebody opens for themselves: clean at first, and never cleaner again.


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenContext:
    """Written down: whatever is done in it is held against what was read in it, and no more."""

    book: ContextRegistry
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, name: str) -> OpenedContext:
        """Raises `NotPermitted`, `ContextRefused`."""
        require_scope(caller, Scope.CONTEXTS_OPEN)
        check_opens(caller)
        now = self.clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self.entropy), principal=caller.id, name=name, opened_at=now
        )
        async with self.unit_of_work(caller):
            await self.book.open(caller, context)
            entry = AuditEntry(action="context.opened", subject=str(context.id))
            await self.audit.note(caller, entry)
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class ListContexts:
    book: ContextRegistry

    async def __call__(self, caller: Principal) -> Sequence[OpenedContext]:
        """The caller's own that are open, oldest first."""
        require_scope(caller, Scope.CONTEXTS_OPEN)
        return await self.book.all(caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseContext:
    book: ContextRegistry
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, context: ContextId) -> None:
        """Nothing more is done in it. Raises `NotPermitted`, `ContextNotFound`."""
        require_scope(caller, Scope.CONTEXTS_OPEN)
        async with self.unit_of_work(caller):
            if not await self.book.close(caller, context, self.clock.now()):
                raise ContextNotFound(str(context))
            entry = AuditEntry(action="context.closed", subject=str(context))
            await self.audit.note(caller, entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterContext:
    """What a request is part of, where its sender says so."""

    book: ContextRegistry

    async def __call__(self, caller: Principal, context: ContextId) -> Principal:
        """Raises `NotPermitted`, `ContextRefused`, and `ContextNotFound` for one that is closed
        or somebody else's."""
        require_scope(caller, Scope.CONTEXTS_OPEN)
        check_opens(caller)
        found = await self.book.find(caller, context)
        if found is None or found.closed_at is not None:
            raise ContextNotFound(str(context))
        return replace(caller, context=context)
