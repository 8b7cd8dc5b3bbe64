"""What a tool is to the guard, for whoever asks what would be decided about it."""

from dataclasses import dataclass, replace

from portico.gateway.beside_tools import NAMES
from portico.gateway.catalogue import Catalogues
from portico.gateway.core.aim import aim_at, aim_beside
from portico.gateway.core.tool import ToolRef
from portico.gateway.shelf import Shelf
from portico.guard.core.access_request import Aim
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAims:
    catalogues: Catalogues

    async def of(self, caller: Principal, tool: str) -> Aim:
        """Of one that waits for approval too. Raises `BadToolRef`, `ToolNotFound`."""
        shelf, ref = await self.catalogues.current(caller), ToolRef.parse(tool)
        return _waiting(shelf, ref) or _beside(shelf, ref) or _live(shelf, ref)


def _live(shelf: Shelf, ref: ToolRef) -> Aim:
    tool = shelf.find(ref)
    return aim_at(shelf.servers[ref.server], ref, tool.effect, tool.pin)


def _waiting(shelf: Shelf, ref: ToolRef) -> Aim | None:
    if ref not in shelf.waiting:
        return None
    _, tool = shelf.waiting[ref]
    aim = aim_at(shelf.servers[ref.server], ref, Effect.UNKNOWN, tool.pin)
    return replace(aim, live=False)


def _beside(shelf: Shelf, ref: ToolRef) -> Aim | None:
    server = shelf.servers.get(ref.server)
    if server is None or ref.name not in NAMES.values():
        return None
    return aim_beside(server, ref.name)
