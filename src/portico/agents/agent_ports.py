"""What describing agents needs from the outside world."""

from collections.abc import Sequence
from typing import Protocol

from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


class ToolNames(Protocol):
    """What there is for an agent to be allowed."""

    async def names(self, caller: Principal) -> Sequence[str]:
        """Each tool that the caller may know of, as `server.tool`."""
        ...

    async def servers(self, caller: Principal) -> Sequence[str]:
        """Also those whose tools nobody has listed yet."""
        ...


class AgentFiles(Protocol):
    """Agents as files that people read and write."""

    def write(self, agent: JsonObject) -> str:
        """One table, long texts over several lines."""
        ...

    def read(self, text: str) -> JsonObject:
        """Raises `BadAgentFile`."""
        ...
