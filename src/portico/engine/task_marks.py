"""What a task has read is under what it tells a run, and what it reads of one rises it."""

from portico.engine.core.errors import RunWriteDown
from portico.guard.ports import Contexts
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


async def check_write(contexts: Contexts, caller: Principal, label: Label) -> None:
    """Raises `RunWriteDown`."""
    read = (await contexts.get(caller)).label
    if not label.covers(read):
        raise RunWriteDown(label, read)


async def has_read(contexts: Contexts, caller: Principal, label: Label) -> None:
    """Of programs alone: a person who looks at a run does not go on by what is written there."""
    if caller.kind is PrincipalKind.AGENT:
        await contexts.rise(caller, label, untrusted=True)
