"""Somebody says what they want: a plan for it is put together, and if it is sure enough, what it
reads first is being read by the time that it is run."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.catalog_snapshot import LiveTool
from portico.gateway.core.calls import KeptResult, ResultId
from portico.gateway.ports import Results
from portico.guard.core.principals import Scope
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Contexts
from portico.guard.principals import permit
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.learning.core.suggest.askable import askable
from portico.learning.core.suggest.calibration import SHIPPED, Calibration, Judged
from portico.learning.core.suggest.kept_plan import PastPlanId
from portico.learning.core.suggest.kept_suggestion import LIFE, KeptSuggestion
from portico.learning.core.suggest.mode import Mode, mode_of
from portico.learning.core.suggest.rationale import nothing_sure
from portico.learning.core.suggest.suggest import NOTHING, suggest
from portico.learning.core.suggest.suggested import Suggested
from portico.learning.core.suggest.suggestion import BadIntent, Suggestion
from portico.learning.core.suggest.threshold import LATEST, LOWEST, Outcome, threshold
from portico.learning.suggest.gather_evidence import Evidence, GatherEvidence
from portico.learning.suggest.read_first import ReadFirst
from portico.learning.suggest_ports import Suggestions
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import plan_document
from portico.workflows.core.plan_learning import LONGEST_INTENT, SuggestionId

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
        nobody before it is asked for. Raises `NotPermitted`, `BadIntent`."""
        permit(caller, Scope.TOOLS_READ)
        words = intent.strip()
        if not 0 < len(words) <= LONGEST_INTENT:
            raise BadIntent(len(words))
        self.say(caller, words)
        history = await self._history(caller)
        task = (await self.contexts.get(caller)).label
        evidence = await self.gather(caller, words, task)
        found = await asyncio.to_thread(
            suggest,
            evidence.asked,
            evidence.learnt,
            evidence.offered,
            communities=evidence.communities,
            calibration=history.calibration,
        )
        label = join([task, *(evidence.past[each].label for each in found.past)])
        if label != task:  # whoever is shown what more secret work has taught has taken it in
            await self.contexts.rise(caller, label, untrusted=False)
        made = _Made(words, evidence, found, history, label)
        mode = mode_of(found, history.threshold) if evidence.fits else Mode.EXPLICIT_REQUIRED
        if found.plan is None or mode is Mode.EXPLICIT_REQUIRED:
            return made.unsure()
        return await self._kept(caller, made, found.plan, mode)

    async def _kept(self, caller: Principal, made: "_Made", plan: Plan, mode: Mode) -> Suggestion:
        ahead = list[str]()
        if mode is Mode.RAN_AHEAD and caller.may(Scope.TOOLS_CALL):
            ahead += await self.read_first(caller, made.evidence.shelf, made.found, plan)
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
    ) -> KeptSuggestion | None:
        """None where nothing can be sealed, for its plan says what the caller said; or where too
        many are kept already."""
        if made.history.full:
            return None
        now = self.clock.now()
        kept = KeptSuggestion(
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
        result = KeptResult(content=content, label=made.label, untrusted=False)
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
        tools = {step.id: self.evidence.shelf.tools[step.tool] for step in plan.steps}
        missing = [(each.step, each.parameter) for each in self.found.missing]
        return askable(plan, missing, lambda step: _parameters(tools[step]))


def _parameters(tool: LiveTool) -> JsonObject:
    properties = tool.definition.input_schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}
