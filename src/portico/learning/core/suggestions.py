"""Suggestions: a plan with its rationale, and what came of it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Final

from portico.gateway.core.calls import ResultId, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.surface import DESCRIBE, RUN_WORKFLOW, SEARCH
from portico.kernel.effect import Effect
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.learning.core.intents import SHIPPED, Calibration, Outcome
from portico.learning.core.likely_tools import (
    Choice,
    DependencyPath,
    Filled,
    From,
    Likely,
    MissingArgument,
    Origin,
    Tools,
    choose,
    fill,
    likely,
    paths,
)
from portico.learning.core.observed_calls import Origin as CallOrigin
from portico.learning.core.observed_calls import ReadRequest, Source
from portico.learning.core.past_plans import (
    Near,
    PastPlanId,
    PastStep,
    StoredArgument,
    SuggestionRequest,
    ToolStatistics,
    Unknown,
    Votes,
)
from portico.workflows.core.plan import INPUTS, Expressions, Plan, Reference, Step, references
from portico.workflows.core.plan_learning import LONGEST_INTENT, SuggestionId
from portico.workflows.core.plan_values import arguments, as_arguments, step_document


@dataclass(frozen=True, slots=True)
class SuggestedStep:
    id: str
    tool: str
    effect: Effect
    confidence: float
    """That its tool belongs to the plan."""
    why: str
    arguments: Mapping[str, Origin]
    missing: Sequence[str]
    """What it has to be told, and nothing gives."""

    @property
    def known(self) -> bool:
        """All that it has to be told is, without waiting for anything."""
        waits = any(origin.kind is From.STEP for origin in self.arguments.values())
        return not self.missing and not waits


@dataclass(frozen=True, slots=True)
class Alternative:
    step: str
    tool: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    plan: Plan | None
    """Without a value where one is missing."""
    confidence: float
    raw: float
    """As it was before calibration; what becomes of the suggestion teaches by it."""
    backing: float = 1.0
    """As much of its confidence as the runs behind it allow."""
    steps: Sequence[SuggestedStep] = ()
    paths: Sequence[DependencyPath] = ()
    alternatives: Sequence[Alternative] = ()
    missing: Sequence[MissingArgument] = ()
    rationale: str = ""
    past: Sequence[str] = ()
    """The past plans that it leans on."""

    @property
    def ready(self) -> Sequence[SuggestedStep]:
        """The reads that could be made at once: before anything is changed, all they need known."""
        reads = takewhile(lambda step: step.effect.is_read_only, self.steps)
        return [step for step in reads if step.known]

    @property
    def writes(self) -> Sequence[str]:
        """Steps that may change something: never done before somebody says so."""
        return [step.id for step in self.steps if not step.effect.is_read_only]


_TOO_LITTLE: Final = 0.1
"""Less than one in ten would be what is wanted."""


class Mode(StrEnum):
    EXPLICIT_REQUIRED = "explicit_required"
    """Say the plan, or more exactly what is wanted."""
    SUGGESTION = "suggestion"
    RAN_AHEAD = "ran_ahead"
    """And its first reads are under way."""


def mode_of(suggested: Suggested, threshold: float) -> Mode:
    if suggested.plan is None or suggested.confidence < _TOO_LITTLE:
        return Mode.EXPLICIT_REQUIRED
    sure = suggested.confidence >= threshold and bool(suggested.ready)
    return Mode.RAN_AHEAD if sure else Mode.SUGGESTION


# A suggestion as it is kept: for an hour with its plan, which is its caller's alone and sealed
# elsewhere, and afterwards for what became of it.

LIFE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSuggestion:
    id: SuggestionId
    principal: PrincipalId
    label: Label
    """Of the task that it was made in, once it had taken in what it was made from."""
    mode: Mode
    raw: float
    """What the calibration is taught by."""
    backing: float
    """The same: as much of it as counted."""
    confidence: float
    past: tuple[PastPlanId, ...]
    """What it leans on."""
    plan: ResultId
    made_at: datetime
    expires_at: datetime
    run: RunId | None = None
    outcome: Outcome | None = None
    settled_at: datetime | None = None

    def outcome_at(self, now: datetime) -> Outcome | None:
        """What became of it; None while something still may."""
        if self.outcome is None and self.expires_at <= now:
            return Outcome.UNCLAIMED
        return self.outcome


class SuggestionNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "suggestion_not_found"
    title = "No such suggestion"
    fix = 'Ask again for what you want: `run_workflow` with `intent`, or `portico plan "…"`.'

    def __init__(self, suggestion: str) -> None:
        super().__init__(f"There is no suggestion {suggestion} of yours, or its hour is over.")
        self.suggestion = suggestion


class NothingSuggested(PorticoError):
    kind = Kind.NOT_FOUND
    code = "nothing_suggested"
    title = "A run that nothing suggested"
    fix = "Say it of a run that began from a suggestion, or of the suggestion itself (sug_…)."

    def __init__(self, run: str) -> None:
        super().__init__(f"{run} is no run of yours that a suggestion led to.")
        self.run = run


_WORTH: Final = 0.05
_NEAREST: Final = 3
_MUCH: Final = 0.7


def rationale(choice: Choice, asked: SuggestionRequest) -> str:
    steps = f"{len(choice.tools)} step{'s' if len(choice.tools) > 1 else ''}"
    if choice.like is not None:
        times = _times(max(1, round(choice.runs)))
        nearest = max(asked.near, key=lambda each: each.similarity)
        return f"{steps}, as in what went well {times} before, for {_alike(nearest)}."
    past = "no past plan near it had just these tools" if asked.near else "there is no past plan"
    return f"{steps}, put together from what search finds for the intent; {past}."


def nothing_sure(asked: SuggestionRequest, *, fits: bool) -> str:
    """Why there is no plan, and what comes nearest."""
    why = (
        "What fits this is too unsure to be a plan"
        if fits
        else "No tool fits this well, and nothing like it was done before"
    )
    hits = asked.whole
    nearest = sorted(hits, key=lambda tool: -hits[tool])[:_NEAREST]
    near = f" Nearest: {', '.join(nearest)}." if nearest else ""
    return f"{why}.{near} Say more exactly what should be done, or write the plan."


def reasons(choice: Choice, asked: SuggestionRequest, learnt: ToolStatistics) -> Mapping[str, str]:
    """By tool."""
    votes = Votes.of(asked.near).for_tools()
    return {
        tool: ", ".join(_reasons(tool, choice, asked, learnt, votes)) or "little speaks for it"
        for tool in choice.tools
    }


def _reasons(
    tool: str,
    choice: Choice,
    asked: SuggestionRequest,
    learnt: ToolStatistics,
    votes: Mapping[str, float],
) -> Iterator[str]:
    if asked.whole.get(tool, 0.0) >= _WORTH:
        yield f"found for the intent ({asked.whole[tool]:.2f})"
    part = asked.part_of(tool)
    if len(asked.searched) > 1 and part is not None and asked.best_part(tool) >= _WORTH:
        yield f"found for its part {part + 1} ({asked.best_part(tool):.2f})"
    if votes.get(tool, 0.0) >= _WORTH:
        yield f"in near past plans ({votes[tool]:.2f})"
    needing = [(learnt.need(each, tool), each) for each in choice.tools if each != tool]
    share, consumer = max(needing, default=(0.0, ""))
    if share >= _WORTH:
        yield f"came before {consumer} in other plans ({share:.2f})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _alike(near: Near) -> str:
    """How near exactly is told of one's own words alone: of others' it would tell them, by
    trying."""
    much = "much the same" if near.similarity >= _MUCH else "something like it"
    return f"{much} ({near.similarity:.2f} alike)" if near.plan.own else much


NOTHING: Final = Suggested(plan=None, confidence=0.0, raw=-30.0)
_ALTERNATIVES: Final = 3
"""Of each step."""
_LEAST: Final = 0.02
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]+")


def suggest(
    asked: SuggestionRequest,
    learnt: ToolStatistics,
    offered: Tools,
    *,
    communities: Mapping[str, int] | None = None,
    calibration: Calibration = SHIPPED,
) -> Suggested:
    tools = likely(asked, learnt, offered)
    choice = choose(asked, tools, learnt, offered)
    if choice is None:
        return NOTHING
    parts = asked.part_texts(choice.tools)
    filled = fill(_steps(choice), asked.intent, learnt, offered, parts)
    sure = {each.tool: each.probability for each in tools}
    whys = reasons(choice, asked, learnt)
    steps = [
        SuggestedStep(
            id=each.id,
            tool=each.tool,
            effect=offered[each.tool].effect,
            confidence=sure.get(each.tool, 0.0),
            why=whys[each.tool],
            arguments=each.origins,
            missing=[one.parameter for one in each.missing],
        )
        for each in filled
    ]
    return Suggested(
        plan=Plan(steps=tuple(_planned(filled, offered))),
        confidence=calibration.confidence(choice.raw, choice.backing),
        raw=choice.raw,
        backing=choice.backing,
        steps=steps,
        paths=paths(choice.tools, learnt),
        alternatives=[*_alternatives(steps, tools, asked, communities or {}, offered)],
        missing=[one for each in filled for one in each.missing],
        rationale=rationale(choice, asked),
        past=[each.plan.id for each in asked.near],
    )


def _steps(choice: Choice) -> Sequence[PastStep]:
    """Called after their tools: what a past plan called them was somebody's."""
    if choice.like is None:
        return [PastStep(name, tool) for name, tool in _named(choice.tools)]
    names = {
        step.id: name
        for step, (name, _) in zip(choice.like.steps, _named(choice.tools), strict=True)
    }
    return [
        PastStep(
            names[step.id],
            step.tool,
            {name: _renamed(kept, names) for name, kept in step.arguments.items()},
            tuple(names[other] for other in step.after if other in names),
        )
        for step in choice.like.steps
    ]


def _renamed(kept: StoredArgument, names: Mapping[str, str]) -> StoredArgument:
    if not isinstance(kept, Reference):
        return kept
    return Reference(names[kept.step], kept.path) if kept.step in names else Unknown()


def _named(tools: Sequence[str]) -> Iterator[tuple[str, str]]:
    times: dict[str, int] = {}
    for tool in tools:
        name = f"{_NO_ID.sub('_', tool.rpartition('.')[2])[:50]}"
        name = name if name[:1].isalpha() else f"s_{name}"
        times[name] = times.get(name, 0) + 1
        yield (name if times[name] == 1 else f"{name}-{times[name]}"), tool


def _planned(filled: Sequence[Filled], offered: Tools) -> Iterator[Step]:
    """What may change something waits for all before it, and what comes after waits for that."""
    before: list[str] = []
    last_write: str | None = None
    for each in filled:
        reads = offered[each.tool].effect.is_read_only
        waits = ([last_write] if last_write else []) if reads else before
        after = tuple(dict.fromkeys((*each.after, *waits)))
        yield Step(id=each.id, tool=ToolRef.parse(each.tool), arguments=each.arguments, after=after)
        before = [*before, each.id]
        last_write = last_write if reads else each.id


def _alternatives(
    steps: Sequence[SuggestedStep],
    tools: Sequence[Likely],
    asked: SuggestionRequest,
    communities: Mapping[str, int],
    offered: Tools,
) -> Iterator[Alternative]:
    """What answers the same part of the intent, or belongs to the same tools that are used
    together; where it is known what belongs together, both. No read does what a write does."""
    there = {step.tool for step in steps}
    for step in steps:
        part, group = asked.part_of(step.tool), communities.get(step.tool)
        beside = [
            each
            for each in tools
            if each.tool not in there
            and offered[each.tool].effect.is_read_only == step.effect.is_read_only
            and each.probability >= _LEAST
            and (group is None or communities.get(each.tool) == group)
            and (part is None or asked.part_of(each.tool) == part)
        ]
        for each in beside[:_ALTERNATIVES] if part is not None or group is not None else ():
            yield Alternative(step.id, each.tool, f"for the same ({each.probability:.2f})")


# What a suggested plan lacks becomes an input of it: whoever runs it says the rest, and only that.

_KEPT: Final = ("type", "description", "enum")
"""Of a parameter's schema; whatever refers elsewhere has no meaning here."""

Missing = tuple[str, str]
"""A step, and its parameter."""


def askable(plan: Plan, missing: Sequence[Missing], schema_of: Callable[[str], JsonObject]) -> Plan:
    """`schema_of`: the schemas of the parameters of a step's tool, by name."""
    names = {each: input_name(*each) for each in missing}
    if not names:
        return plan
    inputs: dict[str, JsonValue] = {
        name: _schema(schema_of(step).get(parameter)) for (step, parameter), name in names.items()
    }
    return replace(
        plan,
        steps=tuple(_asking(step, names) for step in plan.steps),
        inputs={**plan.inputs, **inputs},
        required=(*plan.required, *inputs),
    )


def input_name(step: str, parameter: str) -> str:
    """One that a path may name as it is."""
    return re.sub(r"[^A-Za-z0-9_]", "_", f"{step}_{parameter}")


def _asking(step: Step, names: Mapping[Missing, str]) -> Step:
    given = {
        parameter: Reference(INPUTS, name)
        for (its, parameter), name in names.items()
        if its == step.id
    }
    return replace(step, arguments={**step.arguments, **given})


def _schema(of: JsonValue) -> JsonObject:
    found = of if isinstance(of, dict) else {}
    return {key: found[key] for key in _KEPT if key in found}


class InvalidIntent(PorticoError):
    kind = Kind.INVALID
    code = "bad_intent"
    type_name = "BadIntent"
    title = "Not said what is wanted"
    fix = "Say in a sentence or two what should be done, with the values that it needs."

    def __init__(self, length: int) -> None:
        long = f"It has {length:,} characters; {LONGEST_INTENT:,} have to be enough."
        super().__init__(long if length else "It is empty.")
        self.length = length


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    id: SuggestionId | None
    """None if there is nothing to run, or if nothing can be kept here."""
    mode: Mode
    threshold: float
    """How sure it would have had to be for its first reads to be made."""
    suggested: Suggested
    plan: JsonObject | None
    """As `read_plan` reads it; what is missing is an input of it."""
    ahead: Sequence[str] = ()
    """Steps that are being read already. Nobody is told what they give before it is asked for."""
    expires_at: datetime | None = None

    @property
    def staged(self) -> Sequence[str]:
        """Steps that may change something: none of them is ever run before it is asked for."""
        return self.suggested.writes

    @property
    def needs(self) -> Mapping[str, Sequence[str]]:
        """Inputs that have to be given to run it, and which tools could give each."""
        return {
            input_name(each.step, each.parameter): each.could_give
            for each in self.suggested.missing
        }

    def as_json(self) -> JsonObject:
        told = self.suggested
        return {
            "suggestion": None if self.id is None else str(self.id),
            "mode": str(self.mode),
            "confidence": round(told.confidence, 4),
            "threshold": round(self.threshold, 4),
            "rationale": told.rationale,
            "plan": self.plan,
            "steps": [
                {
                    "id": step.id,
                    "tool": step.tool,
                    "effect": str(step.effect),
                    "confidence": round(step.confidence, 4),
                    "why": step.why,
                    "arguments": {
                        name: {"from": str(origin.kind), "what": origin.text}
                        for name, origin in step.arguments.items()
                    },
                }
                for step in told.steps
            ],
            "paths": [
                {
                    "hops": [
                        {
                            "from": hop.from_tool,
                            "to": hop.to_tool,
                            "confidence": round(hop.confidence, 4),
                        }
                        for hop in path.hops
                    ],
                    "direct": path.direct,
                    "words": str(path),
                }
                for path in told.paths
            ],
            "alternatives": [
                {"step": each.step, "tool": each.tool, "why": each.why}
                for each in told.alternatives
            ],
            "missing": [
                {
                    "step": each.step,
                    "parameter": each.parameter,
                    "input": input_name(each.step, each.parameter),
                    "could_give": list(each.could_give),
                }
                for each in told.missing
            ],
            "staged": list(self.staged),
            "ran_ahead": list(self.ahead),
            "expires_at": None if self.expires_at is None else self.expires_at.isoformat(),
        }


# The reads at the beginning of a suggested plan, as they can be made ahead: those of which
# everything is known, and then those that hang on nothing but what one of them gave.


@dataclass(frozen=True, slots=True)
class KnownRead:
    """A tool that only reads, as it stands on the caller's shelf."""

    place: ToolPlace
    pin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstReads:
    plan: Plan
    reads: Callable[[ToolRef], KnownRead | None]
    """None of a tool that may change something, or is not there."""
    said: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    """By step, the arguments that stand in the caller's words; the others are constants."""
    expressions: Expressions

    def __call__(self) -> Mapping[str, ReadRequest]:
        """By step, those that wait for nothing."""
        found = {
            step.id: self._wanted(step, known, {}, frozenset())
            for step, known in self._in_question()
            if not step.after and not _refers_to(step)
        }
        return {name: wanted for name, wanted in found.items() if wanted is not None}

    def _in_question(self) -> Iterator[tuple[Step, KnownRead]]:
        """In the plan's order, up to the first that could change something: what is read after
        that is read as it will be then."""
        for step in self.plan.steps:
            known = self.reads(step.tool)
            if known is None:
                return
            if step.for_each is None and step.when is None and step.fallback is None:
                yield step, known

    def _wanted(
        self, step: Step, known: KnownRead, there: JsonObject, result: AbstractSet[Source]
    ) -> ReadRequest | None:
        """None if what it refers to is not there."""
        given = self._given(step, there)
        if given is None:
            return None
        return ReadRequest(
            ref=step.tool,
            pin=known.pin,
            arguments=given,
            sources={name: self._source(step, name, result) for name in given},
            proven=True,
            then=lambda answer: self._after(step, known.place, answer),
        )

    def _given(self, step: Step, there: JsonObject) -> JsonObject | None:
        resolving = arguments(step, there, self.expressions)
        try:
            _ = [*resolving]  # it looks up what is referred to
        except PorticoError:
            return None
        return as_arguments(resolving.value())

    def _source(
        self, step: Step, argument: str, result: AbstractSet[Source]
    ) -> AbstractSet[Source]:
        if [*references(step.arguments[argument])]:
            return result
        said = argument in self.said.get(step.id, ())
        return frozenset({Source(CallOrigin.WORDS if said else CallOrigin.CONSTANT)})

    def _after(self, before: Step, place: ToolPlace, answer: ToolResult) -> Sequence[ReadRequest]:
        there: JsonObject = {before.id: step_document(answer)}
        result = frozenset({Source(CallOrigin.RESULT, place)})
        found = [
            self._wanted(step, known, there, result)
            for step, known in self._in_question()
            if _refers_to(step) == {before.id} and {*step.after} <= {before.id}
        ]
        return [wanted for wanted in found if wanted is not None]


def _refers_to(step: Step) -> AbstractSet[str]:
    return {reference.step for _, reference in references(dict(step.arguments))}


_MOST: Final = 5
"""Of paths and alternatives that are told."""


def words(suggestion: Suggestion) -> str:
    return "\n".join(_lines(suggestion))


def _lines(it: Suggestion) -> Iterator[str]:
    told = it.suggested
    if it.mode is Mode.EXPLICIT_REQUIRED or it.plan is None:
        yield f"No plan is sure enough to be suggested ({told.confidence:.2f}). {told.rationale}"
        yield (
            f"Find the tools with {SEARCH}, and call them or write a plan yourself: "
            f'{DESCRIBE}(["{RUN_WORKFLOW}"]) shows how.'
        )
        return
    yield f"Suggested ({told.confidence:.2f} sure). {told.rationale} Nothing was changed."
    yield json.dumps(it.plan, ensure_ascii=False, separators=(",", ":"))
    if it.ahead:
        yield f"Being read already: {', '.join(it.ahead)}."
    if it.staged:
        yield f"Done only once you run it: {', '.join(it.staged)}."
    for name, could_give in it.needs.items():
        by = f"; {', '.join(could_give)} could give it" if could_give else ""
        yield f"Missing: {name}, to be given by `inputs`{by}."
    yield from (f"Because: {path}" for path in told.paths[:_MOST])
    yield from (
        f"Instead of {each.step}: {each.tool} ({each.why})." for each in told.alternatives[:_MOST]
    )
    yield _how(it)


def _how(it: Suggestion) -> str:
    changed = f"changed, {RUN_WORKFLOW}(plan={{…}})"
    if it.id is None:
        return f"To run it, {changed.removeprefix('changed, ')}."
    needs = ", inputs={…}" if it.needs else ""
    return f'To run it as it is: {RUN_WORKFLOW}(suggestion="{it.id}"{needs}); {changed}.'
