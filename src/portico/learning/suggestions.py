"""Suggest workflows and tools, and take feedback."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

import numpy as np

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import EmbedderUnavailable, InvalidToolRef, ResultNotFound
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.ports import Embedder, Results
from portico.gateway.search import RankTools
from portico.gateway.search_index import Finder
from portico.guard.core.principals import Scope
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Contexts, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, join, meet
from portico.kernel.principal import Principal
from portico.learning.core.dataflow_fields import parameters_of
from portico.learning.core.intents import (
    LATEST,
    LOWEST,
    SHIPPED,
    Calibration,
    Judged,
    Offered,
    Outcome,
    in_general,
    sub_steps,
    threshold,
    without_values,
)
from portico.learning.core.observed_calls import ReadRequest
from portico.learning.core.past_plans import (
    Floats,
    Near,
    PastPlan,
    PastPlanId,
    PastPlans,
    Searched,
    StoredPlan,
    SuggestionRequest,
    ToolStatistics,
    listed_values,
    restored,
    words_of,
)
from portico.learning.core.suggestions import (
    LIFE,
    NOTHING,
    FirstReads,
    InvalidIntent,
    KnownRead,
    Mode,
    StoredSuggestion,
    Suggested,
    Suggestion,
    SuggestionNotFound,
    askable,
    mode_of,
    nothing_sure,
    suggest,
)
from portico.learning.observation import MOST_FLOWS, Names, ObservedFlows, known_flows
from portico.learning.tool_graph import Graphs
from portico.workflows.core.plan import Expressions, Plan
from portico.workflows.core.plan_documents import plan_document, read_plan
from portico.workflows.core.plan_learning import LONGEST_INTENT, AcceptedSuggestion, SuggestionId

# The tools of a shelf as suggestions look at them, each only when it comes into question.


class OfferedTools(Mapping[str, Offered]):
    def __init__(self, shelf: CatalogSnapshot) -> None:
        self._shelf = shelf
        self._made: dict[str, Offered] = {}

    def __getitem__(self, tool: str) -> Offered:
        found = self._made.get(tool)
        if found is None:
            found = self._made[tool] = _offered(self._live(tool))
        return found

    def __iter__(self) -> Iterator[str]:
        return map(str, self._shelf.tools)

    def __len__(self) -> int:
        return len(self._shelf.tools)

    def _live(self, tool: str) -> CallableTool:
        """Raises `KeyError`."""
        try:
            return self._shelf.tools[ToolRef.parse(tool)]
        except InvalidToolRef as error:
            raise KeyError(tool) from error


def _offered(tool: CallableTool) -> Offered:
    schema = tool.definition.input_schema
    return Offered(
        tool=str(tool.ref),
        effect=tool.effect,
        parameters=parameters_of(schema),
        listed=listed_values(str(tool.ref), schema),
    )


# What a suggestion asks of the lane in which calls are made ahead of time.


class These(Protocol):
    """Makes reads before they are asked for, and says which of them are under way."""

    async def __call__(
        self, caller: Principal, wanted: Sequence[ReadRequest], /
    ) -> Sequence[ReadRequest]: ...


# Make the first reads of a suggested plan ahead of time, through all the gates of that lane.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFirst:
    these: These
    expressions: Expressions

    async def __call__(
        self, caller: Principal, shelf: CatalogSnapshot, found: Suggested, plan: Plan
    ) -> Sequence[str]:
        """The steps that are under way."""

        def reads(ref: ToolRef) -> KnownRead | None:
            tool = shelf.tools.get(ref)
            if tool is None or not tool.effect.is_read_only:
                return None
            return KnownRead(ToolPlace(shelf.servers[ref.server].id, ref.name), tool.pin)

        said = {
            step.id: {name for name, origin in step.arguments.items() if origin.kind == "intent"}
            for step in found.steps
        }
        first = FirstReads(plan=plan, reads=reads, said=said, expressions=self.expressions)()
        begun = await self.these(caller, [*first.values()])
        return [name for name, wanted in first.items() if wanted in begun]


class PastPlanStore(Protocol):
    """The plans of a space that went well. What is above a caller's clearance is not there."""

    async def learn(self, caller: Principal, plan: StoredPlan) -> None:
        """Its runs are added to those of the one with the same id."""
        ...

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[StoredPlan]:
        """The lately used first, no more than `of_another` of anybody else; without the words of
        others."""
        ...

    async def judge(
        self,
        caller: Principal,
        plans: Sequence[PastPlanId],
        outcome: Outcome,
        *,
        before: Outcome | None,
    ) -> None:
        """One more such outcome of each, and one less of what it was `before`."""
        ...


class Suggestions(Protocol):
    """Each only for whoever it was made for."""

    async def keep(self, caller: Principal, suggestion: StoredSuggestion) -> None: ...

    async def get(self, caller: Principal, suggestion: SuggestionId) -> StoredSuggestion:
        """Raises `SuggestionNotFound`."""
        ...

    async def of_run(self, caller: Principal, run: RunId) -> StoredSuggestion:
        """Raises `NothingSuggested`."""
        ...

    async def latest(self, caller: Principal, most: int) -> Sequence[StoredSuggestion]:
        """The latest first."""
        ...

    async def words_on(
        self, caller: Principal, plans: Sequence[PastPlanId]
    ) -> Mapping[PastPlanId, Outcome]:
        """The latest that the caller said of anything that leant on them; until the transaction
        ends, they say nothing else."""
        ...

    async def settle(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        at: datetime,
        run: RunId | None = None,
    ) -> StoredSuggestion:
        """As it is then. The latest word counts, and of several runs the first. Raises
        `SuggestionNotFound`."""
        ...


# What is known for an intent: what search finds, what went well before for much the same words, and
# what became what. Nothing of it is above the caller's clearance.

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
    snapshot: CatalogSnapshot
    asked: SuggestionRequest
    learned: ToolStatistics
    offered: Mapping[str, Offered]
    communities: Mapping[str, int]
    past: Mapping[str, StoredPlan]
    """By id, those that were looked through."""

    @property
    def fits(self) -> bool:
        """Whether search finds anything that does, or something was for much the same before."""
        found = any(each.fits for each in self.asked.searched)
        return found or any(each.similarity >= _MUCH_THE_SAME for each in self.asked.near)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherEvidence:
    catalogues: Catalogs
    look_up: RankTools
    past: PastPlanStore
    graphs: Graphs
    flows: ObservedFlows
    embedder: Embedder

    async def __call__(self, caller: Principal, intent: str, task: Label) -> Evidence:
        """`task`: what has been read in the caller's task. Counts do not say what they come from,
        so that only those count which this covers. A past plan says so: the task rises to those
        that are looked at, and for that they have to be for much the same."""
        finder = await self.catalogues.finder(caller)
        kept = {str(plan.id): plan for plan in await self.past.latest(caller, _PLANS, _OF_ANOTHER)}
        # Of many plans it takes its time, and others go on meanwhile.
        plans = await asyncio.to_thread(_known, kept, finder.snapshot, caller.id)
        covered = {plan.id: plan for plan in plans if task.covers(kept[plan.id].label)}
        found = await self._nearest(intent, plans, kept)
        near = [it for it in found if it.plan.id in covered or it.similarity >= _MUCH_THE_SAME]
        near = [*_of_several(near, {plan.id: kept[plan.id].principal for plan in plans})]
        within = replace(caller, clearance=meet(caller.clearance, task))
        graph = await self.graphs.of(within)
        flows = known_flows(await self.flows.counted(caller, MOST_FLOWS), finder.snapshot)
        learnt = await asyncio.to_thread(
            ToolStatistics.of, [*covered.values()], edges=graph.tasks, flows=flows
        )
        return Evidence(
            snapshot=finder.snapshot,
            asked=SuggestionRequest(
                intent=intent,
                searched=await self._searched(finder, intent),
                near=near[:_NEAREST],
            ),
            learned=learnt,
            offered=OfferedTools(finder.snapshot),
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
        self, intent: str, plans: Sequence[PastPlan], kept: Mapping[str, StoredPlan]
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


def _known(
    kept: Mapping[str, StoredPlan], shelf: CatalogSnapshot, who: PrincipalId
) -> Sequence[PastPlan]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    suggestions: Suggestions
    past: PastPlanStore
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        run: RunId | None = None,
    ) -> StoredSuggestion:
        """As it is now. Of what one principal says of a past plan, however often, the latest word
        counts, and once. Raises `SuggestionNotFound`."""
        async with self.unit_of_work(caller):
            past = (await self.suggestions.get(caller, suggestion)).past
            said = await self.suggestions.words_on(caller, past)
            for before in {said.get(plan) for plan in past} - {outcome}:
                plans = [plan for plan in past if said.get(plan) is before]
                await self.past.judge(caller, plans, outcome, before=before)
            return await self.suggestions.settle(caller, suggestion, outcome, self.clock.now(), run)


# Say what a suggestion was worth: only this moves how sure the next one has to be.

About = RunId | SuggestionId


def about(text: str) -> About:
    """Raises `InvalidId`."""
    is_run = text.startswith(f"{RunId.prefix}_")
    return RunId.parse(text) if is_run else SuggestionId.parse(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveFeedback:
    suggestions: Suggestions
    settle: Settle

    async def __call__(self, caller: Principal, of: About, outcome: Outcome) -> StoredSuggestion:
        """Running a suggestion is to accept it, unless something else is said here. Raises
        `NotPermitted`, `SuggestionNotFound`, `NothingSuggested`."""
        require_scope(caller, Scope.TOOLS_CALL)
        if isinstance(of, RunId):
            of = (await self.suggestions.of_run(caller, of)).id
        return await self.settle(caller, of, outcome)


# Somebody says what they want: a plan for it is put together, and if it is sure enough, what it
# reads first is being read by the time that it is run.

_LOOKED_AT: Final = 2 * LATEST
"""Suggestions of a caller that are looked through for what became of them."""
_KEPT: Final = 300
"""Of a caller, at a time; whatever else is suggested to them is told, and not kept."""


@dataclass(frozen=True, slots=True)
class History:
    """What a caller made of what was suggested to them."""

    threshold: float
    calibration: Calibration
    full: bool
    """There are as many that could still be run as are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestWorkflow:
    gather: GatherEvidence
    read_first: ReadFirst
    suggestions: Suggestions
    results: Results
    contexts: Contexts
    say: Callable[[Principal, str], None]
    """The caller's words, which tell what comes next."""
    clock: Clock
    entropy: Entropy
    calibration: Calibration = SHIPPED
    """Before anything has become of any suggestion."""

    async def __call__(self, caller: Principal, intent: str) -> Suggestion:
        """Nothing is run for it but reads that the caller may make, and what they give is told to
        nobody before it is asked for. Raises `NotPermitted`, `InvalidIntent`."""
        require_scope(caller, Scope.TOOLS_READ)
        words = intent.strip()
        if not 0 < len(words) <= LONGEST_INTENT:
            raise InvalidIntent(len(words))
        self.say(caller, words)
        history = await self._history(caller)
        task = (await self.contexts.get(caller)).label
        evidence = await self.gather(caller, words, task)
        found = await asyncio.to_thread(
            suggest,
            evidence.asked,
            evidence.learned,
            evidence.offered,
            communities=evidence.communities,
            calibration=history.calibration,
        )
        label = join([task, *(evidence.past[each].label for each in found.past)])
        if label != task:  # whoever is shown what more secret work has taught has taken it in
            await self.contexts.raise_taint(caller, label, untrusted=False)
        made = _Made(words, evidence, found, history, label)
        mode = mode_of(found, history.threshold) if evidence.fits else Mode.EXPLICIT_REQUIRED
        if found.plan is None or mode is Mode.EXPLICIT_REQUIRED:
            return made.unsure()
        return await self._kept(caller, made, found.plan, mode)

    async def _kept(self, caller: Principal, made: "_Made", plan: Plan, mode: Mode) -> Suggestion:
        ahead = list[str]()
        if mode is Mode.RAN_AHEAD and caller.may(Scope.TOOLS_CALL):
            ahead += await self.read_first(caller, made.evidence.snapshot, made.found, plan)
        mode = Mode.RAN_AHEAD if ahead else Mode.SUGGESTION
        document = plan_document(made.whole(plan))
        kept = await self._written(caller, made, document, mode)
        return Suggestion(
            id=None if kept is None else kept.id,
            mode=mode,
            threshold=made.history.threshold,
            suggested=made.found,
            plan=document,
            ahead=ahead,
            expires_at=None if kept is None else kept.expires_at,
        )

    async def _history(self, caller: Principal) -> History:
        """How sure a suggestion is says how often its like were accepted."""
        now = self.clock.now()
        latest = await self.suggestions.latest(caller, _LOOKED_AT)
        ended = [(each, each.outcome_at(now)) for each in latest]
        sure = [its for each, its in ended if its is not None and each.confidence >= LOWEST]
        taught = [
            Judged(each.raw, its is Outcome.ACCEPTED, each.backing)
            for each, its in ended
            if its is not None
        ]
        young = sum(now < each.expires_at for each in latest)
        return History(threshold(sure), self.calibration.fitted(taught), young >= _KEPT)

    async def _written(
        self, caller: Principal, made: "_Made", plan: JsonObject, mode: Mode
    ) -> StoredSuggestion | None:
        """None where nothing can be sealed, for its plan says what the caller said; or where too
        many are kept already."""
        if made.history.full:
            return None
        now = self.clock.now()
        kept = StoredSuggestion(
            id=SuggestionId.mint(now, self.entropy),
            principal=caller.id,
            label=made.label,
            mode=mode,
            raw=made.found.raw,
            backing=made.found.backing,
            confidence=made.found.confidence,
            past=tuple(map(PastPlanId.parse, made.leant_on)),
            plan=ResultId.mint(now, self.entropy),
            made_at=now,
            expires_at=now + LIFE,
        )
        content: JsonObject = {"plan": plan, "intent": made.intent}
        result = StoredResult(content=content, label=made.label, untrusted=False)
        try:
            await self.results.keep(caller, kept.plan, result, kept.expires_at)
        except VaultClosed:
            return None
        await self.suggestions.keep(caller, kept)
        return kept


@dataclass(frozen=True, slots=True)
class _Made:
    intent: str
    evidence: Evidence
    found: Suggested
    history: History
    label: Label

    def unsure(self) -> Suggestion:
        why = nothing_sure(self.evidence.asked, fits=self.evidence.fits)
        return Suggestion(
            id=None,
            mode=Mode.EXPLICIT_REQUIRED,
            threshold=self.history.threshold,
            suggested=replace(NOTHING, confidence=self.found.confidence, rationale=why),
            plan=None,
        )

    @property
    def leant_on(self) -> Sequence[str]:
        """The past plans that it is like; what is said of it is said of them."""
        tools = tuple(step.tool for step in self.found.steps)
        return [near.plan.id for near in self.evidence.asked.near if near.plan.tools == tools]

    def whole(self, plan: Plan) -> Plan:
        """With an input for whatever it lacks."""
        tools = {step.id: self.evidence.snapshot.tools[step.tool] for step in plan.steps}
        missing = [(each.step, each.parameter) for each in self.found.missing]
        return askable(plan, missing, lambda step: _parameters(tools[step]))


def _parameters(tool: CallableTool) -> JsonObject:
    properties = tool.definition.input_schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


# Run what was suggested, or something else instead: either says what the suggestion was worth.

_OPEN: Final = 3
"""Of the latest suggestions, that a plan may be made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSuggestion:
    suggestions: Suggestions
    results: Results
    contexts: Contexts
    settle: Settle
    expressions: Expressions
    clock: Clock

    async def __call__(self, caller: Principal, suggestion: SuggestionId) -> AcceptedSuggestion:
        """Raises `SuggestionNotFound`, also when its hour is over."""
        kept = await self._kept(caller, await self.suggestions.get(caller, suggestion))
        await self.contexts.raise_taint(caller, kept.label, untrusted=kept.untrusted)
        return _taken(kept)

    async def ran(self, caller: Principal, suggestion: SuggestionId, run: RunId) -> None:
        """As it was suggested."""
        found = await self.suggestions.get(caller, suggestion)
        if found.outcome is None:
            await self.settle(caller, suggestion, Outcome.ACCEPTED, run)

    async def ran_instead(self, caller: Principal, plan: Plan, run: RunId) -> None:
        """A plan of the caller's own. If it has the same tools as one that was suggested lately,
        it is that one, changed. That it could not be noted is no reason not to run it."""
        with suppress(PorticoError):
            for found in await self.suggestions.latest(caller, _OPEN):
                if found.outcome_at(self.clock.now()) is None:
                    taken = _taken(await self._kept(caller, found))
                    if (outcome := self._compared(taken, plan)) is not None:
                        await self.settle(caller, found.id, outcome, run)
                        return

    async def _kept(self, caller: Principal, found: StoredSuggestion) -> StoredResult:
        """Raises `SuggestionNotFound`."""
        try:
            return await self.results.get(caller, found.plan, self.clock.now())
        except ResultNotFound as error:
            raise SuggestionNotFound(str(found.id)) from error

    def _compared(self, taken: AcceptedSuggestion, plan: Plan) -> Outcome | None:
        suggested = read_plan(taken.plan, self.expressions)
        if plan_document(suggested) == plan_document(plan):
            return Outcome.ACCEPTED
        same = [step.tool for step in suggested.steps] == [step.tool for step in plan.steps]
        return Outcome.MODIFIED if same else None


def _taken(kept: StoredResult) -> AcceptedSuggestion:
    content = kept.content if isinstance(kept.content, Mapping) else {}
    plan = content.get("plan")
    return AcceptedSuggestion(plan if isinstance(plan, Mapping) else {}, str(content.get("intent")))
