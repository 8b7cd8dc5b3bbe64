"""When nothing fits: which server may have it, and what stands in the way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from portico.gateway.core.server import Server


@dataclass(frozen=True, slots=True)
class Nearest:
    """In our own words only: nothing that the server says of itself is in it."""

    server: str
    needs: str
    fix: str

    def __str__(self) -> str:
        return f"{self.server} {self.needs} ({self.fix})"


def nearest_servers(
    servers: Mapping[str, Server], candidates: Iterable[str], limit: int
) -> Sequence[Nearest]:
    """Of those that come into question, the first few, best first."""
    names = list(dict.fromkeys(name for name in candidates if name in servers))[:limit]
    return [nearest(servers[name]) for name in names]


def nearest(server: Server) -> Nearest:
    """Of one that has no tool which could be called."""
    name = server.name
    if not server.enabled:
        return Nearest(name, "is switched off", f"portico servers enable {name}")
    if server.approved:
        return Nearest(
            name, "has tools that nobody has approved as they are", f"portico servers diff {name}"
        )
    if server.failure is not None and server.may_start:
        return Nearest(name, "could not be listed", f"portico servers logs {name}")
    return Nearest(name, "waits for approval", f"portico servers approve {name}")
