"""Task contexts: what a task has read so far."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from portico.guard.core.access_request import TaintContext
from portico.guard.core.errors import ContextRefused
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedContext:
    """A task that somebody opened for themselves, clean, and what it has taken in since."""

    id: ContextId
    principal: PrincipalId
    name: str
    opened_at: datetime
    label: Label = PUBLIC
    untrusted: bool = False
    closed_at: datetime | None = None


def context_of(caller: Principal) -> ContextId:
    """The one that it says it is at, or that of its key: a client's window remembers for as long
    as its key is in use, and nothing on the wire says when it begins anew."""
    if caller.context is not None:
        return caller.context
    whose = f"key {caller.key}" if caller.key is not None else f"principal {caller.id}"
    if caller.place is not None:
        whose = f"principal {caller.id} at {caller.place}"
    return _of(caller.space, whose)


@lru_cache(4096)
def _of(space: SpaceId, whose: str) -> ContextId:
    return ContextId.of_digest(f"context of {space} {whose}".encode())


def risen(context: TaintContext, label: Label, *, untrusted: bool) -> TaintContext:
    """What it is once this has been read in it: never less than before."""
    return replace(
        context,
        label=join([context.label, label]),
        untrusted=context.untrusted or untrusted,
    )


def check_opens(caller: Principal) -> None:
    """Nobody knows what an agent's window still holds: it cannot say that it begins anew. Raises
    `ContextRefused`."""
    if caller.kind is PrincipalKind.AGENT:
        raise ContextRefused(caller.name)
