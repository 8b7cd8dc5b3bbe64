"""The tools of a space, for whoever looks after them: with what may not be used, and why not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.gateway.core.errors import ToolNotFound
from portico.gateway.core.learnt import SeenShape, ToolPlace
from portico.gateway.core.server import Server, standing
from portico.gateway.core.tool import Definition, Standing, Tool, ToolRef
from portico.gateway.core.vague_schema import vague
from portico.gateway.ports import Servers, Shapes, Tools
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class ToolLook:
    tool: Tool
    standing: Standing
    returns: SeenShape | None = None
    """What has been learnt from its results, if its server does not say what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTools:
    servers: Servers
    tools: Tools

    async def __call__(self, caller: Principal, *, server: str | None = None) -> Sequence[ToolLook]:
        """By server, in its own order; those on the caller's lists. Raises `ServerNotFound`."""
        permit(caller, Scope.SERVERS_READ)
        if server is not None:
            one = await self.servers.get(caller, server)
            found = await self.tools.of(caller, one)
            return [_look(caller, one, it) for it in found if on_lists(caller, str(it.ref))]
        every = await self.tools.all(caller)
        return [
            _look(caller, its, tool)
            for its in await self.servers.all(caller)
            for tool in every.get(its.id, ())
            if on_lists(caller, str(tool.ref))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTool:
    servers: Servers
    tools: Tools
    shapes: Shapes

    async def __call__(self, caller: Principal, ref: ToolRef) -> ToolLook:
        """Raises `ServerNotFound`, `ToolNotFound`."""
        permit(caller, Scope.SERVERS_READ)
        server = await self.servers.get(caller, ref.server)
        for tool in await self.tools.of(caller, server):
            if tool.ref == ref and on_lists(caller, str(ref)):
                look = _look(caller, server, tool)
                return replace(look, returns=await self._returns(caller, server, look))
        raise ToolNotFound(str(ref))

    async def _returns(self, caller: Principal, server: Server, look: ToolLook) -> SeenShape | None:
        tool, says = look.tool, look.tool.definition.output_schema
        if look.standing is not Standing.LIVE or not (says is None or vague(says)):
            return None
        place = ToolPlace(server.id, tool.ref.name)
        return (await self.shapes.known(caller, {place: tool.pin})).get(place)


def _look(caller: Principal, server: Server, tool: Tool) -> ToolLook:
    """What nobody has approved is told to those who approve; to others only that it is there."""
    stands = standing(server, tool)
    if stands is Standing.LIVE or caller.may(Scope.SERVERS_APPROVE):
        return ToolLook(tool, stands)
    name = tool.definition.name
    unsaid = Definition(name, "", "", {}, None, {}, {"name": name})
    return ToolLook(replace(tool, definition=unsaid, accepted=None, refused=None), stands)
