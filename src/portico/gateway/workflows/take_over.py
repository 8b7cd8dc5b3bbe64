"""Whoever goes on with what another task of theirs has begun takes over what that had read."""

from collections.abc import Mapping
from dataclasses import replace

from portico.guard.core.contexts import context_of
from portico.guard.ports import Contexts
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


async def take_over(contexts: Contexts, caller: Principal, given: JsonObject) -> None:
    """`given` is what the run was started with. A task that has read nothing would else be free to
    do what the one that has may not. Raises `ContextNotFound`."""
    began = _began(caller, given)
    if context_of(began) == context_of(caller):
        return
    task = await contexts.get(began)
    await contexts.rise(caller, task.label, untrusted=task.untrusted)


def _began(caller: Principal, given: JsonObject) -> Principal:
    who = given.get("asker")
    asker = who if isinstance(who, Mapping) else {}
    key, context = asker.get("key"), asker.get("context")
    return replace(
        caller,
        key=key if isinstance(key, str) else None,
        context=ContextId.parse(context) if isinstance(context, str) else None,
    )
