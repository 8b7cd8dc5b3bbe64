"""The tools of one server under their own names, for a client that wants just that one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.surface import hints
from portico.gateway.shelf import LiveTool
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class ServerTools:
    tools: Sequence[JsonObject]
    """In the protocol's own form."""
    said: str
    """What the server says of itself, as far as somebody has approved it."""
    schemas: Mapping[str, JsonObject]

    def schema(self, name: str) -> JsonObject | None:
        return self.schemas.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListServerTools:
    catalogues: Catalogues
    _made: dict[tuple[SpaceId, str], tuple[object, ServerTools]] = field(default_factory=dict)

    async def __call__(self, caller: Principal, server: str) -> ServerTools:
        """Asks nobody. Raises `ServerNotFound`, `ServerDisabled`, `ServerNotApproved`."""
        permit(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        found = shelf.server(server)
        made = self._made.get((caller.space, server))
        if made is None or made[0] is not shelf.version:
            live = list(shelf.of_server(server))
            schemas = {tool.ref.name: tool.definition.input_schema for tool in live}
            tools = ServerTools([_listed(tool) for tool in live], found.said, schemas)
            made = self._made[caller.space, server] = (shelf.version, tools)
        return made[1]


def _listed(tool: LiveTool) -> JsonObject:
    """As it was approved, but for its hints: those are what an operator said of it."""
    said = tool.definition.raw.get("annotations")
    kept = said if isinstance(said, Mapping) else {}
    schema = {"type": "object", **tool.definition.input_schema}
    annotations = {**kept, **hints(tool.effect)}
    return {**tool.definition.raw, "inputSchema": schema, "annotations": annotations}
