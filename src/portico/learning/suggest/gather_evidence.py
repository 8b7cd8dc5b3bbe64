"""What is known for an intent: what search finds, what went well before for much the same words,
and what became what. Nothing of it is above the caller's clearance."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.ports import Embedder
from portico.gateway.search import LookUp
from portico.gateway.search_index import Finder
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, meet
from portico.kernel.principal import Principal
from portico.learning.core.suggest.asked import Asked, Searched
from portico.learning.core.suggest.intent import in_general, sub_steps, without_values
from portico.learning.core.suggest.kept_plan import KeptPlan
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.offered import Offered
from portico.learning.core.suggest.past import Floats, Near, PastPlan, PastPlans, words_of
from portico.learning.core.suggest.stored_steps import restored
from portico.learning.graph.graphs import Graphs
from portico.learning.known_flows import MOST_FLOWS, Names, known_flows
from portico.learning.ports import SeenFlows
from portico.learning.suggest.offered_tools import OfferedTools
from portico.learning.suggest_ports import PastPlanBook

_PLANS: Final = 2_000
"""Of a space, the lately used ones."""
_OF_ANOTHER: Final = 250
_NEAR_OF_ANOTHER: Final = 8
"""So that nobody outvotes everybody by many wordings of one wish."""
_HITS: Final = 40
_NEAREST: Final = 40
_MUCH_THE_SAME: Final = 0.7
"""How near a plan has to be to be used where search finds nothing, or where using it makes the task
more secret than it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    shelf: Shelf
    asked: Asked
    learnt: Learnt
    offered: Mapping[str, Offered]
    communities: Mapping[str, int]
    past: Mapping[str, KeptPlan]
    """By id, those that were looked through."""

    @property
    def fits(self) -> bool:
        """Whether search finds anything that does, or something was for much the same before."""
        found = any(each.fits for each in self.asked.searched)
        return found or any(each.similarity >= _MUCH_THE_SAME for each in self.asked.near)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherEvidence:
    catalogues: Catalogues
    look_up: LookUp
    past: PastPlanBook
    graphs: Graphs
    flows: SeenFlows
    embedder: Embedder

    async def __call__(self, caller: Principal, intent: str, task: Label) -> Evidence:
        """`task`: what has been read in the caller's task. Counts do not say what they come from,
        so that only those count which this covers. A past plan says so: the task rises to those
        that are looked at, and for that they have to be for much the same."""
        finder = await self.catalogues.finder(caller)
        kept = {str(plan.id): plan for plan in await self.past.latest(caller, _PLANS, _OF_ANOTHER)}
        # Of many plans it takes its time, and others go on meanwhile.
        plans = await asyncio.to_thread(_known, kept, finder.shelf, caller.id)
        covered = {plan.id: plan for plan in plans if task.covers(kept[plan.id].label)}
        found = await self._nearest(intent, plans, kept)
        near = [it for it in found if it.plan.id in covered or it.similarity >= _MUCH_THE_SAME]
        near = [*_of_several(near, {plan.id: kept[plan.id].principal for plan in plans})]
        within = replace(caller, clearance=meet(caller.clearance, task))
        graph = await self.graphs.of(within)
        flows = known_flows(await self.flows.counted(caller, MOST_FLOWS), finder.shelf)
        learnt = await asyncio.to_thread(
            Learnt.of, [*covered.values()], edges=graph.tasks, flows=flows
        )
        return Evidence(
            shelf=finder.shelf,
            asked=Asked(
                intent=intent,
                searched=await self._searched(finder, intent),
                near=near[:_NEAREST],
            ),
            learnt=learnt,
            offered=OfferedTools(finder.shelf),
            communities=(await self.graphs.communities(within)).numbers,
            past=kept,
        )

    async def _searched(self, finder: Finder, intent: str) -> Sequence[Searched]:
        """For all of it, and for each of its parts."""
        parts = sub_steps(intent)
        texts = [intent, *parts] if len(parts) > 1 else [intent]
        found = [(text, await self.look_up(finder, [text], _HITS)) for text in texts]
        return [
            Searched(text, {str(match.ref): match.score for match in it.found}, it.fits)
            for text, it in found
        ]

    async def _nearest(
        self, intent: str, plans: Sequence[PastPlan], kept: Mapping[str, KeptPlan]
    ) -> Sequence[Near]:
        """By meaning, or by the words of the caller's own plans: those of others are not told."""
        vector: Floats | None = None
        with suppress(EmbedderUnavailable):
            vector = (await self.embedder.embed([without_values(intent)]))[0]
        rows = [np.frombuffer(kept[plan.id].vector, "<f4") for plan in plans]
        size = 0 if vector is None else len(vector)
        table = np.array([row if len(row) == size else np.zeros(size) for row in rows], np.float32)
        words = [words_of(kept[plan.id].intent) for plan in plans]
        return PastPlans.of(plans, table, words).nearest(
            vector, words_of(in_general(intent)), most=5 * _NEAREST
        )


def _of_several(near: Sequence[Near], authors: Mapping[str, PrincipalId]) -> Iterator[Near]:
    """A few of anybody else, and whatever is the caller's own."""
    seen: Counter[PrincipalId] = Counter()
    for each in near:
        author = authors[each.plan.id]
        seen[author] += 1
        if each.plan.own or seen[author] <= _NEAR_OF_ANOTHER:
            yield each


def _known(kept: Mapping[str, KeptPlan], shelf: Shelf, who: PrincipalId) -> Sequence[PastPlan]:
    """Those of which the caller may use every tool."""
    named = Names(shelf)
    steps = {id_: restored(plan.steps, named) for id_, plan in kept.items()}
    return [
        PastPlan(
            id=id_,
            steps=found,
            times=kept[id_].runs,
            accepted=kept[id_].accepted,
            rejected=kept[id_].rejected,
            own=kept[id_].principal == who,
        )
        for id_, found in steps.items()
        if found is not None
    ]
