"""One step as the inspector tells it: what it was given and from where, what it gave, how often it
was tried, and why it is there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.agents.core.traces import ToolUse, TurnTrace
from portico.engine.core.runs import Step, StepState
from portico.interfaces.console.screens.approvals.request_view import Asked
from portico.interfaces.console.screens.approvals.standing import Badge
from portico.interfaces.console.screens.run.lineage import Lines, lined, steps_in
from portico.interfaces.console.screens.run.tasks import Sort, Task
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.graph.path import Hop
from portico.workflows.core.plan_report import owner

_CUT: Final = 2_000
"""Characters of what it gave that are shown at once."""
_MOST_ITEMS: Final = 50
_TONES: Final = {Sort.RAN: "done", Sort.FAILED: "failed", Sort.WAITED: "waited"}


@dataclass(frozen=True, slots=True)
class Attempt:
    words: str
    """`done`, `failed` or `waited`."""
    at: datetime
    took: timedelta | None
    """None while it goes on."""


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Item:
    """One of a step that is done once an item."""

    name: str
    state: str
    took: timedelta | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was learnt of one tool after another."""

    earlier: str
    share: float
    times: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Gave:
    text: str
    cut: bool
    size: int
    whole: bool = False
    """Whether the whole of it can be looked at."""


@dataclass(frozen=True, slots=True)
class Mishap:
    message: str
    code: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    task: Task
    mark: str
    """Another when there is something else to tell."""
    effect: Badge | None = None
    server: str | None = None
    """How it is reached, and how it has been doing."""
    attempts: Sequence[Attempt] = ()
    given: Lines | None = None
    lineage: Sequence[str] = ()
    """The steps whose results it takes."""
    facts: Sequence[Fact] = ()
    """What its plan says of it besides."""
    called: Lines | None = None
    """What it was called with in the end."""
    gave: Gave | None = None
    error: Mishap | None = None
    items: Sequence[Item] = ()
    asked: Asked | None = None
    evidence: Sequence[Evidence] = ()
    after: Sequence[str] = ()
    """What waits for it."""
    uncertain: Sequence[str] = ()
    """The calls of which somebody has to say what became of them."""
    said: str | None = None
    """By a model."""
    thought: str | None = None
    private: bool = False
    """Whether its values are for somebody else alone."""


def attempts_of(task: Task) -> Sequence[Attempt]:
    return [
        Attempt(
            _TONES[span.sort] if span.end or span.sort is Sort.WAITED else "running",
            span.start,
            None if span.end is None else span.end - span.start,
        )
        for span in task.spans[:_MOST_ITEMS]
    ]


def mark_of(task: Task) -> str:
    """Changes with whatever the inspector would tell otherwise."""
    ended = "" if task.ended is None else f"{task.ended.timestamp():.3f}"
    items = "" if task.items is None else f"{task.items.over}"
    return f"{task.state}.{task.tries}.{len(task.spans)}.{ended}.{items}.{task.approval or ''}"


def step_of_plan(plan: JsonObject, name: str) -> JsonObject:
    """As it stands in the plan that the run was started with; nothing where that is not known."""
    whole = plan.get("plan")
    steps = whole.get("steps") if isinstance(whole, Mapping) else None
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        return {}
    found = (each for each in steps if isinstance(each, Mapping) and each.get("id") == name)
    return next(found, {})


def given_of(step: JsonObject) -> tuple[Lines | None, Sequence[str], Sequence[Fact]]:
    """Its arguments, the steps that they come from, and what else its plan says."""
    if not step:
        return None, (), ()
    arguments = step.get("arguments", {})
    each = step.get("for_each")
    sources = steps_in([arguments, each])
    return lined(arguments), sources, [*_facts(step)]


def _facts(step: JsonObject) -> Sequence[Fact]:
    found: list[Fact] = []
    match step.get("for_each"):
        case {"in": {"$from": str(source)}}:
            found.append(Fact("For each of", f"← {source}"))
        case Mapping():
            found.append(Fact("For each of", "a list in the plan"))
        case _:
            pass
    names = {"when": "Only when", "timeout": "Given up after", "tries": "Tries at most"}
    for field, words in names.items():
        if (value := step.get(field)) is not None:
            unit = " s" if field == "timeout" else ""
            found.append(Fact(words, f"{value}{unit}"))
    match step.get("on_error"):
        case "skip":
            found.append(Fact("If it fails", "go on without it"))
        case {"fallback": str(other)}:
            found.append(Fact("If it fails", f"{other} instead"))
        case _:
            pass
    return found


def gave_of(text: str, *, size: int | None, whole: bool) -> Gave:
    """What a tool answered, without the form that it is kept in."""
    told = _answer_text(text)
    return Gave(told[:_CUT], len(told) > _CUT, size or len(text), whole)


def shown_whole(text: str) -> str:
    return _answer_text(text)


def _answer_text(text: str) -> str:
    """Of a kept document, what it says: its structured form, or its words."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, Mapping):
        return _pretty(found)
    content, value, words = (found.get(name) for name in ("content", "json", "text"))
    kept = isinstance(content, list)
    if kept and isinstance(value, (Mapping, list)):
        return _pretty(value)
    if kept and isinstance(words, str) and words:
        return words
    printed = found.get("words")
    return printed if isinstance(printed, str) else _pretty(found)


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def mishap_of(task: Task, kept: str | None) -> Mishap | None:
    """`kept`: its own words, with how it is mended, for whoever started the run."""
    if task.why is None or task.state not in {"failed", "skipped"}:
        return None
    fix = None
    if kept:
        try:
            found = json.loads(kept)
        except ValueError:
            found = None
        fix = found.get("fix") if isinstance(found, Mapping) else None
    return Mishap(task.why, task.code, fix if isinstance(fix, str) else None)


def items_of(task: Task, journal: Sequence[Step]) -> Sequence[Item]:
    """Of a step that is done once an item: those that are over, the failed ones first."""
    if task.items is None:
        return ()
    rows = [
        row
        for row in journal
        if row.name.startswith(f"{task.name}[") and row.name.endswith("]") and "/" not in row.name
    ]
    rows.sort(key=lambda row: (row.state is not StepState.FAILED, row.number))
    return [
        Item(
            row.name,
            str(row.state),
            None if row.finished_at is None else row.finished_at - row.started_at,
        )
        for row in rows[:_MOST_ITEMS]
    ]


def uncertain_calls(task: Task, journal: Sequence[Step]) -> Sequence[str]:
    """The calls of this step that wait for somebody's word; itself where there is none to be told
    apart."""
    waits = "signal:~uncertain:"
    found = [
        row.name.removeprefix(waits).rpartition(":")[0]
        for row in journal
        if row.state is StepState.OPEN and row.name.startswith(waits)
    ]
    own = [call for call in found if owner(call) == task.name or call == task.name]
    return own or [task.name]


def evidence_of(hops: Sequence[Hop], tools: Sequence[str]) -> Sequence[Evidence]:
    """Of the tools whose steps come before it."""
    wanted = set(tools)
    return [
        Evidence(str(hop.earlier), hop.confidence, hop.times, hop.tasks)
        for hop in hops
        if str(hop.earlier) in wanted
    ]


def facts_of_turn(turn: TurnTrace) -> Sequence[Fact]:
    speed = turn.tokens_a_second
    facts = [
        Fact("Model", turn.model),
        Fact("Tokens", f"{turn.usage.input} in, {turn.usage.output} out"),
        Fact("Cost", f"${turn.money:f}"),
        Fact("Ended because", str(turn.finish).replace("_", " ")),
    ]
    return facts if speed is None else [*facts, Fact("Speed", f"{speed:.0f} tokens a second")]


def facts_of_use(use: ToolUse) -> Sequence[Fact]:
    early = [Fact("Ran ahead", "begun while the model was still speaking")] if use.early else []
    return [Fact("Turn", str(use.turn)), *early]
