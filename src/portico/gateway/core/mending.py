"""How a server that does not start is mended, and where: what was approved nobody else changes."""

from collections.abc import Sequence

from portico.gateway.core.launch_text import shown
from portico.gateway.core.older_library import needs_older, repinned
from portico.gateway.core.server import ADDED, Server, Stdio
from portico.gateway.core.start_advice import advice


def how_to_mend(server: Server, reason: str, words: Sequence[str]) -> str | None:
    """None if what happened is not known to us."""
    known, launch, name = advice(server.launch, reason, words), server.launch, server.name
    older = needs_older("\n".join([reason, *words]))
    other = repinned(launch) if older and isinstance(launch, Stdio) else None
    if other is None:
        return known
    if server.origin != ADDED:
        return f"{known} (in {server.origin}), then: portico servers approve {name}"
    added = f"portico servers add {name} -- {shown(other)}"
    return f"{known}. So: portico servers remove {name}; {added}; portico servers approve {name}"
