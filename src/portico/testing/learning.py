"""What is learned, in memory: the graph, counters, suggestions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from portico.adapters.graph import RustGraphMath
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import ResultId
from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import PUBLIC, Label, may_read
from portico.kernel.principal import Principal
from portico.learning.core.intents import Outcome
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.past_plans import PastPlanId, StoredPlan
from portico.learning.core.suggestions import (
    LIFE,
    Mode,
    NothingSuggested,
    StoredSuggestion,
    SuggestionNotFound,
)
from portico.learning.core.tool_graph import KnownEdges, Sightings, ToolEdge
from portico.learning.observation import CallObservations, EdgeNotes
from portico.learning.tool_graph import Graphs
from portico.testing.guard import MemoryTaskContexts
from portico.testing.memory_store import BEGINNING, InMemoryStore, RowRefused, SeededEntropy
from portico.workflows.core.plan_learning import SuggestionId


class MemoryShapes:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, ObservedSchema]) -> None:
        for place, later in seen.items():
            if (caller.space, place.server) in self._world.servers:
                before = self._world.shapes.get((caller.space, place))
                whole = later if before is None else before.and_then(later)
                self._world.shapes[caller.space, place] = whole

    async def known(
        self, caller: Principal, wanted: Mapping[ToolPlace, str]
    ) -> Mapping[ToolPlace, ObservedSchema]:
        found = {place: self._world.shapes.get((caller.space, place)) for place in wanted}
        return {
            place: seen
            for place, seen in found.items()
            if seen is not None and seen.pin == wanted[place]
        }


class MemoryObservedFlows:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        for each, times in passed.items():
            ends = (each.producer.server, each.consumer.server)
            if all((caller.space, server) in self._world.servers for server in ends):
                place = (caller.space, each)
                self._world.flows[place] = self._world.flows.get(place, 0) + times

    async def counted(self, caller: Principal, most: int) -> Mapping[Passed, int]:
        mine = [
            (passed, times)
            for (space, passed), times in self._world.flows.items()
            if space == caller.space
        ]
        return dict(sorted(mine, key=lambda item: (-item[1], _order(item[0])))[:most])


def _order(passed: Passed) -> tuple[object, ...]:
    producer, consumer = passed.producer, passed.consumer
    return (
        consumer.server.value,
        consumer.tool,
        passed.parameter,
        producer.server.value,
        producer.tool,
        passed.path,
    )


class NotedEdges:
    """Which tool came after which, one by one."""

    def __init__(self) -> None:
        self.noted: list[tuple[Principal, Label, ToolEdge]] = []

    def note(self, caller: Principal, label: Label, edges: Iterable[ToolEdge]) -> None:
        self.noted += [(caller, label, edge) for edge in edges]


def some_lessons(
    clock: Clock, world: InMemoryStore | None = None, edges: EdgeNotes | None = None
) -> CallObservations:
    world = world or InMemoryStore()
    return CallObservations(
        shapes=MemoryShapes(world),
        flows=MemoryObservedFlows(world),
        edges=edges or NotedEdges(),
        contexts=MemoryTaskContexts(world),
        clock=clock,
        key=b"digests",
    )


def some_graphs(world: InMemoryStore, catalogues: Catalogs, clock: Clock) -> Graphs:
    return Graphs(
        book=MemoryEdgeStore(world),
        flows=MemoryObservedFlows(world),
        catalogues=catalogues,
        math=RustGraphMath(),
        clock=clock,
    )


class MemoryEdgeStore:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        for edge, sightings in seen.items() if may_read(caller.clearance, label) else ():
            ends = (edge.earlier.server, edge.later.server)
            if all((caller.space, server) in self._world.servers for server in ends):
                place = (caller.space, label, edge)
                before = self._world.edges.get(place)
                self._world.edges[place] = sightings.and_then(before) if before else sightings

    async def known(self, caller: Principal, most: int) -> KnownEdges:
        mine = [
            (edge, seen)
            for (space, label, edge), seen in self._world.edges.items()
            if space == caller.space and may_read(caller.clearance, label)
        ]
        if len(mine) > most:
            mine.sort(key=lambda item: (item[1].tasks, item[1].last_seen), reverse=True)
        mine = mine[:most]
        places = [*dict.fromkeys(end for edge, _ in mine for end in (edge.earlier, edge.later))]
        edges = [
            (places.index(edge.earlier), places.index(edge.later), edge.kind, seen)
            for edge, seen in mine
        ]
        return KnownEdges(places, edges)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        if may_read(caller.clearance, label):
            mine = [
                (seen.last_seen, place)
                for place, seen in self._world.edges.items()
                if place[:2] == (caller.space, label)
            ]
            for _, place in sorted(mine, key=lambda item: item[0], reverse=True)[most:]:
                del self._world.edges[place]


class MemoryLearnedCounts:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        for key, count in counted.items() if may_read(caller.clearance, label) else ():
            here = all((caller.space, server) in self._world.servers for server in key.servers)
            if key.fits and here:
                place = (caller.space, label, key)
                before = self._world.counts.get(place)
                self._world.counts[place] = count.and_then(before) if before else count

    async def labels(self, caller: Principal) -> Sequence[Label]:
        labels = {label for space, label, _ in self._world.counts if space == caller.space}
        mine = [label for label in labels if may_read(caller.clearance, label)]
        return sorted(mine, key=lambda label: (label.level, sorted(label.compartments)))

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        last = self._last(caller, label, most)
        wanted = [item for item in last if not kinds or item[0].kind in kinds]
        return sorted(wanted, key=lambda item: item[1].last_seen)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        if may_read(caller.clearance, label):
            kept = {key for key, _ in self._last(caller, label, most)}
            self._world.counts.drop(
                lambda place, _: place[:2] == (caller.space, label) and place[2] not in kept
            )

    def _last(self, caller: Principal, label: Label, most: int) -> Sequence[tuple[CountKey, Count]]:
        """Of each kind the ones seen last."""
        of_kind: defaultdict[str, list[tuple[CountKey, Count]]] = defaultdict(list)
        for (space, its, key), count in self._world.counts.items():
            if (space, its) == (caller.space, label) and may_read(caller.clearance, label):
                of_kind[key.kind].append((key, count))
        return [
            item
            for kind in sorted(of_kind)
            for item in sorted(
                of_kind[kind],
                key=lambda item: (-item[1].last_seen.timestamp(), _digest(item[0])),
            )[:most]
        ]


def _digest(key: CountKey) -> bytes:
    return sha256(key.key.encode()).digest()


class MemoryPastPlans:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def learn(self, caller: Principal, plan: StoredPlan) -> None:
        _check(self._world, caller, plan.label)
        before = self._world.past_plans.get((caller.space, plan.id))
        self._world.past_plans[caller.space, plan.id] = (
            plan if before is None else _added(before, plan)
        )

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[StoredPlan]:
        every = sorted(self._seen(caller), key=lambda plan: plan.id.value)
        every.sort(key=lambda plan: plan.last_at, reverse=True)
        seen: Counter[PrincipalId] = Counter()
        found = []
        for plan in every:
            seen[plan.principal] += 1
            if plan.principal == caller.id:
                found.append(plan)
            elif seen[plan.principal] <= of_another:
                found.append(replace(plan, intent=""))
        return found[:most]

    async def judge(
        self,
        caller: Principal,
        plans: Sequence[PastPlanId],
        outcome: Outcome,
        *,
        before: Outcome | None,
    ) -> None:
        for plan in self._seen(caller):
            if plan.id in plans:
                self._world.past_plans[caller.space, plan.id] = replace(
                    plan,
                    accepted=_moved(plan.accepted, Outcome.ACCEPTED, outcome, before),
                    rejected=_moved(plan.rejected, Outcome.REJECTED, outcome, before),
                    modified=_moved(plan.modified, Outcome.MODIFIED, outcome, before),
                )

    def _seen(self, caller: Principal) -> list[StoredPlan]:
        return [
            plan
            for (space, _), plan in self._world.past_plans.items()
            if space == caller.space and may_read(caller.clearance, plan.label)
        ]


class MemorySuggestions:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def keep(self, caller: Principal, suggestion: StoredSuggestion) -> None:
        _check(self._world, caller, suggestion.label)
        self._world.suggestions.insert((caller.space, suggestion.id), suggestion)

    async def get(self, caller: Principal, suggestion: SuggestionId) -> StoredSuggestion:
        found = [each for each in self._own(caller) if each.id == suggestion]
        if not found:
            raise SuggestionNotFound(str(suggestion))
        return found[0]

    async def of_run(self, caller: Principal, run: RunId) -> StoredSuggestion:
        found = [each for each in self._own(caller) if each.run == run]
        if not found:
            raise NothingSuggested(str(run))
        return found[0]

    async def latest(self, caller: Principal, most: int) -> Sequence[StoredSuggestion]:
        return self._own(caller)[:most]

    async def words_on(
        self, caller: Principal, plans: Sequence[PastPlanId]
    ) -> Mapping[PastPlanId, Outcome]:
        said = [
            (each.settled_at, each.outcome, each.past)
            for each in self._own(caller)
            if each.settled_at and each.outcome and {*plans} & {*each.past}
        ]
        said.sort(key=lambda word: word[0])
        return {plan: outcome for _, outcome, past in said for plan in past}

    async def settle(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        at: datetime,
        run: RunId | None = None,
    ) -> StoredSuggestion:
        before = await self.get(caller, suggestion)
        self._world.suggestions[caller.space, suggestion] = replace(
            before, outcome=outcome, run=before.run or run, settled_at=at
        )
        return await self.get(caller, suggestion)

    def _own(self, caller: Principal) -> list[StoredSuggestion]:
        """The latest first."""
        mine = [
            kept
            for (space, _), kept in self._world.suggestions.items()
            if (space, kept.principal) == (caller.space, caller.id)
            and may_read(caller.clearance, kept.label)
        ]
        return sorted(mine, key=lambda kept: (kept.made_at, kept.id.value), reverse=True)


def a_past_plan(
    caller: Principal,
    intent: str = "tidy the notes",
    *,
    label: Label = PUBLIC,
    at: datetime = BEGINNING,
) -> StoredPlan:
    return StoredPlan(
        id=PastPlanId.of(caller.space, caller.id, label, intent),
        principal=caller.id,
        label=label,
        intent=intent,
        vector=b"\0\0\x80?",
        steps=[{"id": "read", "tool": "srv_1.read", "arguments": {}}],
        last_at=at,
    )


def a_suggestion(
    caller: Principal,
    seed: str = "suggestion",
    *,
    label: Label = PUBLIC,
    at: datetime = BEGINNING,
    past: Sequence[PastPlanId] = (),
) -> StoredSuggestion:
    entropy = SeededEntropy(seed)
    return StoredSuggestion(
        id=SuggestionId.mint(at, entropy),
        principal=caller.id,
        label=label,
        mode=Mode.SUGGESTION,
        raw=1.5,
        backing=0.9,
        confidence=0.9,
        past=tuple(past),
        plan=ResultId.mint(at, entropy),
        made_at=at,
        expires_at=at + LIFE,
    )


def _added(before: StoredPlan, later: StoredPlan) -> StoredPlan:
    return replace(
        before,
        runs=before.runs + later.runs,
        accepted=before.accepted + later.accepted,
        rejected=before.rejected + later.rejected,
        modified=before.modified + later.modified,
        last_at=max(before.last_at, later.last_at),
    )


def _moved(times: int, which: Outcome, outcome: Outcome, before: Outcome | None) -> int:
    return max(0, times + (which is outcome) - (which is before))


def _check(world: InMemoryStore, caller: Principal, label: Label) -> None:
    if (caller.space, caller.id) not in world.identities:
        raise RowRefused(f"There is no principal {caller.id}.")
    if not may_read(caller.clearance, label):
        raise RowRefused(f"{caller.id} is not cleared for {label}.")
