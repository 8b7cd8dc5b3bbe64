"""Tasks in memory: those of keys, and those that somebody opened."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from portico.guard.core.access_request import TaskContext
from portico.guard.core.contexts import OpenedContext, context_of
from portico.guard.core.errors import ContextNotFound
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from portico.testing.world import KnownContext, MemoryWorld, RowRefused


class MemoryTaskContexts:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def get(self, caller: Principal) -> TaskContext:
        known = self._own(caller, context_of(caller))
        if known is None and caller.context is None:
            return TaskContext(id=context_of(caller))
        if known is None or known.closed_at is not None:
            raise ContextNotFound(str(caller.context))
        return TaskContext(id=context_of(caller), label=known.label, untrusted=known.untrusted)

    async def rise(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """Past what could take it back: an answer that was given stays given."""
        self._exists(caller)
        place = (caller.space, context_of(caller))
        known = self._own(caller, place[1])
        if known is None and caller.context is not None:
            raise ContextNotFound(str(caller.context))
        known = known or KnownContext(caller.id, None, BEGINNING)
        self._world.contexts.data[place] = replace(
            known, label=join([known.label, label]), untrusted=known.untrusted or untrusted
        )

    async def open(self, caller: Principal, context: OpenedContext) -> None:
        self._exists(caller)
        known = KnownContext(
            caller.id, context.name, context.opened_at, context.label, context.untrusted
        )
        self._world.contexts.insert((caller.space, context.id), known)

    async def find(self, caller: Principal, context: ContextId) -> OpenedContext | None:
        known = self._own(caller, context)
        return None if known is None or known.name is None else _opened(context, known)

    async def all(self, caller: Principal) -> Sequence[OpenedContext]:
        mine = [
            _opened(context, known)
            for (space, context), known in self._world.contexts.items()
            if (space, known.principal) == (caller.space, caller.id)
            and known.name is not None
            and known.closed_at is None
        ]
        return sorted(mine, key=lambda its: (its.opened_at, its.id.value))

    async def close(self, caller: Principal, context: ContextId, at: datetime) -> bool:
        known = self._own(caller, context)
        if known is None or known.name is None or known.closed_at is not None:
            return False
        self._world.contexts[caller.space, context] = replace(known, closed_at=at)
        return True

    def _own(self, caller: Principal, context: ContextId) -> KnownContext | None:
        known = self._world.contexts.get((caller.space, context))
        return known if known is not None and known.principal == caller.id else None

    def _exists(self, caller: Principal) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} that could be at a task.")


def _opened(context: ContextId, known: KnownContext) -> OpenedContext:
    return OpenedContext(
        id=context,
        principal=known.principal,
        name=known.name or "",
        opened_at=known.opened_at,
        label=known.label,
        untrusted=known.untrusted,
        closed_at=known.closed_at,
    )
