"""Who comes in at a door where what is read has a label."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from portico.guard.authentication import Entry


async def at_window(authenticate: Callable[[str], Awaitable[Entry]], shown: str) -> Entry:
    """Whoever comes over MCP is a model's window, also with a person's key. They are looked at each
    time, and not remembered for a second as at the gateway: in that second they would still be told
    what they are not cleared for any more."""
    entry = await authenticate(shown)
    return replace(entry, principal=replace(entry.principal, window=True))
