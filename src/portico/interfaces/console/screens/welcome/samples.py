"""Servers to begin with, for whoever has none: described here, and started only once allowed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.launch import shown
from portico.gateway.core.servers import Launch, Plain, Stdio


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    does: str
    launch: Launch

    @property
    def command(self) -> str:
        return shown(self.launch)


SAMPLES: Final = (
    Sample("time", "The time, anywhere.", Stdio("uvx", (Plain("mcp-server-time"),))),
    Sample("fetch", "Reads pages of the web.", Stdio("uvx", (Plain("mcp-server-fetch"),))),
    Sample(
        "memory",
        "A small graph of facts to remember.",
        Stdio("npx", (Plain("-y"), Plain("@modelcontextprotocol/server-memory"))),
    ),
)


def offered(known: Collection[str]) -> Sequence[Sample]:
    """Without those of a name that is there already."""
    return [each for each in SAMPLES if each.name not in known]
