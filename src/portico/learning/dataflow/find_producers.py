"""Which tools of the whole catalogue could give what no step of a plan does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Embedder
from portico.gateway.search import LookUp
from portico.kernel.principal import Principal
from portico.learning.core.dataflow.flows import Flows
from portico.learning.core.dataflow.meanings import Meanings
from portico.learning.core.dataflow.rank import Source, Sources, rank_producers, texts_of
from portico.learning.core.dataflow.shape import Parameter
from portico.learning.core.dataflow.step_shapes import KnownTool, outputs_of

_CONSIDERED: Final = 50
_TOLD: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FindProducers:
    catalogues: Catalogues
    look_up: LookUp
    known_shapes: KnownShapes
    embedder: Embedder

    async def __call__(
        self, caller: Principal, consumer: str, parameter: Parameter, flows: Flows
    ) -> Sequence[str]:
        """The likeliest first: of those that search finds for it, and those that have given
        something for a parameter called so."""
        finder = await self.catalogues.finder(caller)
        wanted = list(texts_of(parameter))
        found = await self.look_up(finder, wanted[-1:], _CONSIDERED)
        refs = [match.ref for match in found.found] + _seen(parameter, flows)
        there = [ref for ref in dict.fromkeys(refs) if ref in finder.shelf.tools]
        sources = await self._sources(caller, finder.shelf, there)
        meanings = await self._meanings([*sources.texts_to_embed(), *wanted])
        ranked = rank_producers(parameter, consumer, sources, meanings, flows)
        return [each.tool for each in ranked[:_TOLD]]

    async def _sources(self, caller: Principal, shelf: Shelf, refs: Sequence[ToolRef]) -> Sources:
        known = await self.known_shapes(caller, shelf, refs)
        tools = {ref: KnownTool(shelf.tools[ref].definition, known.get(ref)) for ref in refs}
        return Sources.ready(
            [
                Source(
                    tool=str(ref),
                    description=tool.definition.description,
                    outputs=outputs_of(tool),
                )
                for ref, tool in tools.items()
            ]
        )

    async def _meanings(self, texts: Sequence[str]) -> Meanings:
        once = list(dict.fromkeys(texts))
        try:
            return Meanings.of(once, await self.embedder.embed(once))
        except EmbedderUnavailable:
            return Meanings.none()


def _seen(parameter: Parameter, flows: Flows) -> list[ToolRef]:
    return [
        ToolRef.parse(tool) for tool in flows.by_producer if flows.called_so(tool, parameter.name)
    ]
