"""Propose references between the steps of a plan, and find producers of a field."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Embedder
from portico.gateway.search import RankTools
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.learning.core.dataflow import (
    Edge,
    KnownTool,
    Source,
    Sources,
    bounded,
    output_fields,
    propose,
    rank_producers,
    step_shapes,
    texts_of,
    texts_to_embed,
)
from portico.learning.core.dataflow_fields import Flows, Meanings, Parameter, StepSignature
from portico.learning.observation import MOST_FLOWS, ObservedFlows, known_flows
from portico.workflows.core.plan import Expressions, InvalidPlan, Plan, PlanDiagnostic, graph_of
from portico.workflows.core.plan_documents import read_plan, with_edges

_CONSIDERED: Final = 50
_TOLD: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FindProducers:
    catalogues: Catalogs
    look_up: RankTools
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
        there = [ref for ref in dict.fromkeys(refs) if ref in finder.snapshot.tools]
        sources = await self._sources(caller, finder.snapshot, there)
        meanings = await self._meanings([*sources.texts_to_embed(), *wanted])
        ranked = rank_producers(parameter, consumer, sources, meanings, flows)
        return [each.tool for each in ranked[:_TOLD]]

    async def _sources(
        self, caller: Principal, shelf: CatalogSnapshot, refs: Sequence[ToolRef]
    ) -> Sources:
        known = await self.known_shapes(caller, shelf, refs)
        tools = {ref: KnownTool(shelf.tools[ref].definition, known.get(ref)) for ref in refs}
        return Sources.ready(
            [
                Source(
                    tool=str(ref),
                    description=tool.definition.description,
                    outputs=output_fields(tool),
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


ALL_SURE: Final = "all-sure"
"""Among what is accepted: every edge that is sure."""
_SURE: Final = 0.8
_WORTH: Final = 0.4
"""A guess below this is no better than to say that nothing gives it."""
_SEARCHED: Final = 10


@dataclass(frozen=True, slots=True)
class Missing:
    """A parameter that has to be said, and that no step of the plan seems to give."""

    step: str
    parameter: str
    could_give: Sequence[str] = ()
    """Tools that are not in the plan and might, the likeliest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    plan: Plan
    """With what was accepted."""
    edges: Sequence[Edge]
    """Of what is left out still, in the order of the steps; of one parameter the best first."""
    missing: Sequence[Missing]
    needed: frozenset[tuple[str, str]] = frozenset()
    """Of steps, the parameters that have to be said and are not."""
    left_out: Sequence[str] = ()
    """Steps of a long plan for which nothing was sought."""

    def is_sure(self, edge: Edge) -> bool:
        """Never of what may be left away: of two such parameters only one may be meant."""
        needed = (edge.to_step, edge.parameter) in self.needed
        return needed and edge.fits and not edge.ambiguous and edge.confidence >= _SURE


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeEdges:
    catalogues: Catalogs
    known_shapes: KnownShapes
    find_producers: FindProducers
    flows: ObservedFlows
    embedder: Embedder
    expressions: Expressions

    async def __call__(
        self, caller: Principal, document: JsonValue, *, accept: Sequence[str] = ()
    ) -> Proposed:
        """Raises `InvalidPlan`, also for a tool that is not there and for an edge that cannot
        be."""
        require_scope(caller, Scope.TOOLS_READ)
        return await self.of(caller, read_plan(document, self.expressions), accept=accept)

    async def of(self, caller: Principal, plan: Plan, *, accept: Sequence[str] = ()) -> Proposed:
        """Of a plan that has been read."""
        require_scope(caller, Scope.TOOLS_READ)
        edges = [text for text in accept if text != ALL_SURE]
        plan = with_edges(plan, edges, self.expressions)
        proposed = await self._proposed(caller, plan)
        if len(edges) == len(accept):
            return proposed
        sure = [str(edge) for edge in proposed.edges if proposed.is_sure(edge)]
        return await self._proposed(caller, with_edges(plan, sure, self.expressions))

    async def as_faults(self, caller: Principal, plan: Plan) -> Sequence[PlanDiagnostic]:
        """Of what has to be said and is left out. None for whoever may not look for tools, or of
        a plan with tools that are not there."""
        try:
            proposed = await self.of(caller, plan)
        except (NotPermitted, InvalidPlan):
            return []
        places = {step.id: number for number, step in enumerate(plan.steps)}
        proposals = [
            _as_fault(edge, places[edge.to_step])
            for edge in proposed.edges
            if (edge.to_step, edge.parameter) in proposed.needed
        ]
        return [*proposals, *_not_sought(proposed.left_out)]

    async def _proposed(self, caller: Principal, plan: Plan) -> Proposed:
        shelf = await self.catalogues.offered(caller)
        _check_tools(plan, shelf)
        refs = {step.tool for step in plan.steps}
        known = await self.known_shapes(caller, shelf, refs)
        tools = {ref: KnownTool(shelf.tools[ref].definition, known.get(ref)) for ref in refs}
        some = bounded(step_shapes(plan, graph_of(plan, self.expressions), tools))
        shapes = some.steps
        if not any(shape.wanted for shape in shapes):
            return Proposed(plan=plan, edges=[], missing=[], left_out=some.left_out)
        flows = await self._flows(caller, shelf)
        meanings = await self._meanings(texts_to_embed(shapes))
        # Of a long plan it takes its time, and others go on meanwhile.
        found = await asyncio.to_thread(propose, shapes, meanings, flows)
        unknown = {step.id for step in plan.steps if tools[step.tool].output_schema is None}
        edges = [edge for edge in found if edge.from_step not in unknown or _worth(edge)]
        edges = [_guess(edge) if edge.from_step in unknown else edge for edge in edges]
        needed = {
            (shape.step, each.name): (shape, each)
            for shape in shapes
            for each in shape.wanted
            if each.required
        }
        proposed = {(edge.to_step, edge.parameter) for edge in edges}
        left = [wanted for place, wanted in needed.items() if place not in proposed]
        missing = await self._missing(caller, left, flows)
        return Proposed(
            plan=plan,
            edges=edges,
            missing=missing,
            needed=frozenset(needed),
            left_out=some.left_out,
        )

    async def _missing(
        self, caller: Principal, left: Sequence[tuple[StepSignature, Parameter]], flows: Flows
    ) -> Sequence[Missing]:
        """For the first of them it is said who could give it: a search for each."""
        missing: list[Missing] = []
        for number, (shape, each) in enumerate(left):
            could_give: Sequence[str] = ()
            if number < _SEARCHED:
                could_give = await self.find_producers(caller, shape.tool, each, flows)
            missing.append(Missing(shape.step, each.name, could_give))
        return missing

    async def _meanings(self, texts: Sequence[str]) -> Meanings:
        try:
            return Meanings.of(texts, await self.embedder.embed(texts))
        except EmbedderUnavailable:
            return Meanings.none()

    async def _flows(self, caller: Principal, shelf: CatalogSnapshot) -> Flows:
        return known_flows(await self.flows.counted(caller, MOST_FLOWS), shelf)


def _as_fault(edge: Edge, number: int) -> PlanDiagnostic:
    return PlanDiagnostic(
        f"/steps/{number}/arguments/{edge.parameter}",
        f"could come from {str(edge).partition(' ')[0]} ({edge.confidence:.2f}: {edge.reason}).",
        f'If that is meant, accept "{edge}".',
    )


def _not_sought(steps: Sequence[str]) -> Sequence[PlanDiagnostic]:
    if not steps:
        return []
    more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    what = f"The plan is too long to look for what {steps[0]!r}{more} could be given."
    return [PlanDiagnostic("/steps", what, "Say it for them yourself, or make it shorter plans.")]


def _worth(edge: Edge) -> bool:
    return edge.confidence >= _WORTH


def _guess(edge: Edge) -> Edge:
    """From a step of which nobody knows what it gives: only somebody who does can say."""
    return replace(
        edge,
        confidence=edge.confidence / 2,
        reason=f"{edge.reason}, though it is not known what it gives",
        ambiguous=True,
    )


def _check_tools(plan: Plan, shelf: CatalogSnapshot) -> None:
    """Raises `InvalidPlan`."""
    faults: list[PlanDiagnostic] = []
    for number, step in enumerate(plan.steps):
        try:
            shelf.find(step.tool)
        except PorticoError as error:
            faults.append(PlanDiagnostic(f"/steps/{number}/tool", str(error), error.fix))
    if faults:
        raise InvalidPlan(faults)
