"""`tools/call` on the bridge: each name is a use case or a few, told by what was given."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from portico.interfaces.mcp.answers import Result
from portico.interfaces.mcp.bridge.errors import NoSuchTool
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.memory import MemoryTools
from portico.interfaces.mcp.bridge.places import Places
from portico.interfaces.mcp.bridge.reading import Reading
from portico.interfaces.mcp.bridge.talk import Talk
from portico.interfaces.mcp.bridge.tools import BY_NAME
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.work import LeaseTool, TaskTool
from portico.interfaces.mcp.told import Told
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

Call = Callable[[Principal, Given], Awaitable[Told]]


class BridgeCalls:
    def __init__(self, use: BridgeUses) -> None:
        places, talk, memory = Places(use), Talk(use), MemoryTools(use)
        self._by_name: Final[Mapping[str, Call]] = {
            "whoami": talk.whoami,
            "projects": places.projects,
            "project_set": places.project_set,
            "conversations": places.conversations,
            "conversation_set": places.conversation_set,
            "send": talk.send,
            "read": Reading(use).read,
            "inbox": talk.inbox,
            "search": talk.search,
            "change": talk.change,
            "memory_get": memory.memory_get,
            "memory_set": memory.memory_set,
            "memory_find": memory.memory_find,
            "lease": LeaseTool(use).lease,
            "task": TaskTool(use).task,
            "attach": memory.attach,
        }

    async def __call__(self, caller: Principal, name: str, given: JsonObject) -> Result:
        """Raises `PorticoError`."""
        if name not in self._by_name:
            raise NoSuchTool(name)
        told = await self._by_name[name](caller, Given.read(BY_NAME[name], given))
        return told.as_result()
