"""Schemas inferred from results, of the tools on a snapshot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, ToolPlace, vague
from portico.gateway.ports import Shapes
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownShapes:
    shapes: Shapes

    async def __call__(
        self, caller: Principal, shelf: CatalogSnapshot, refs: Iterable[ToolRef]
    ) -> Mapping[ToolRef, ObservedSchema]:
        """Of live tools of the caller's shelf that do not say themselves what is in what they
        return. Nothing while the store is away: they can be looked at all the same."""
        tools = {ref: shelf.tools[ref] for ref in refs if ref in shelf.tools}
        places = {
            ToolPlace(shelf.servers[ref.server].id, ref.name): ref
            for ref, tool in tools.items()
            if tool.definition.output_schema is None or vague(tool.definition.output_schema)
        }
        if not places:
            return {}
        try:
            wanted = {place: tools[ref].pin for place, ref in places.items()}
            found = await self.shapes.known(caller, wanted)
        except StoreUnavailable:
            return {}
        return {places[place]: seen for place, seen in found.items()}
