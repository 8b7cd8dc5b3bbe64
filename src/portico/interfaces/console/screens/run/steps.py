"""One step of a run: input and where it comes from, output, attempts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.agents.core.traces import ToolUse, TurnTrace, WholeTrace
from portico.engine.core.errors import StepNotFound
from portico.engine.core.runs import Step, StepState
from portico.gateway.core.calls import ResultId, claim_of
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ResultNotFound
from portico.interfaces.console.formatting import as_json
from portico.interfaces.console.page import PageContext
from portico.interfaces.console.screens.approval_view import Badge, RequestView, asked, effect_badge
from portico.interfaces.console.screens.run.run_view import PLACE, RunDetails
from portico.interfaces.console.screens.run.tasks import Sort, State, Task, turn_of, use_of
from portico.interfaces.console.screens.run.timeline import seconds_words
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.tool_graph import Hop
from portico.workflows.core.plan import (
    RESERVED,
    Reference,
    Template,
    Unreadable,
    read_reference,
    read_template,
)
from portico.workflows.core.plan_report import owner

_MOST_LINES: Final = 200
_LONGEST: Final = 600
"""Characters of one text."""


class LineagePartStyle(StrEnum):
    PLAIN = "plain"
    NAME = "name"
    TEXT = "text"
    VALUE = "value"
    FROM = "from"


@dataclass(frozen=True, slots=True)
class LineagePart:
    text: str
    look: LineagePartStyle = LineagePartStyle.PLAIN
    step: str | None = None
    """The step that it comes from, if it is one of the plan."""


Line = Sequence[LineagePart]


@dataclass(frozen=True, slots=True)
class Lines:
    lines: Sequence[Line]
    cut: bool = False
    """Whether there is more than is shown."""


def lined(value: JsonValue) -> Lines:
    lines: list[list[LineagePart]] = [[]]
    for piece in _pieces(value, 0):
        if piece is None:
            if len(lines) == _MOST_LINES:
                return Lines(lines, cut=True)
            lines.append([])
        else:
            lines[-1].append(piece)
    return Lines(lines)


def steps_in(value: JsonValue) -> Sequence[str]:
    """The steps that something refers to, each once."""
    found = (piece.step for piece in _pieces(value, 0) if piece is not None)
    return [*dict.fromkeys(step for step in found if step is not None)]


def _pieces(value: JsonValue, depth: int) -> Iterator[LineagePart | None]:
    """None is the end of a line."""
    if isinstance(value, Mapping):
        yield from _mapped(value, depth)
    elif isinstance(value, str):
        yield LineagePart(_quoted(value), LineagePartStyle.TEXT)
    elif isinstance(value, Sequence) and value:
        yield from _items(value, depth)
    else:
        yield LineagePart(json.dumps(value, ensure_ascii=False), LineagePartStyle.VALUE)


def _mapped(value: JsonObject, depth: int) -> Iterator[LineagePart | None]:
    source, text = value.get("$from"), value.get("$text")
    if isinstance(source, str) and not value.keys() - {"$from", "default"}:
        yield from _reference(source, value)
    elif isinstance(text, str) and len(value) == 1:
        yield from _template(text)
    elif value:
        yield from _members(value, depth)
    else:
        yield LineagePart("{}", LineagePartStyle.VALUE)


def _members(value: JsonObject, depth: int) -> Iterator[LineagePart | None]:
    yield LineagePart("{")
    for number, (name, item) in enumerate(value.items(), 1):
        yield None
        yield LineagePart("  " * (depth + 1))
        yield LineagePart(json.dumps(name, ensure_ascii=False), LineagePartStyle.NAME)
        yield LineagePart(": ")
        yield from _pieces(item, depth + 1)
        if number < len(value):
            yield LineagePart(",")
    yield None
    yield LineagePart("  " * depth + "}")


def _items(value: Sequence[JsonValue], depth: int) -> Iterator[LineagePart | None]:
    """On one line where they are few and simple."""
    simple = not any(isinstance(item, Mapping | list | tuple) for item in value)
    flat = simple and sum(len(str(item)) for item in value) < 40
    yield LineagePart("[")
    for number, item in enumerate(value, 1):
        if not flat:
            yield None
            yield LineagePart("  " * (depth + 1))
        yield from _pieces(item, depth + 1)
        if number < len(value):
            yield LineagePart(", " if flat else ",")
    if not flat:
        yield None
        yield LineagePart("  " * depth)
    yield LineagePart("]")


def _reference(text: str, more: JsonObject) -> Iterator[LineagePart]:
    try:
        reference = read_reference(text)
    except Unreadable:
        yield LineagePart(f"← {text[:_LONGEST]}", LineagePartStyle.FROM)
        return
    yield LineagePart(f"← {reference}", LineagePartStyle.FROM, _step(reference))
    if "default" in more:
        default = json.dumps(more["default"], ensure_ascii=False)[:_LONGEST]
        yield LineagePart(f" or {default}", LineagePartStyle.VALUE)


def _template(text: str) -> Iterator[LineagePart]:
    try:
        template = read_template(text)
    except Unreadable:
        template = Template((text,))
    yield LineagePart('"', LineagePartStyle.TEXT)
    for part in template.parts:
        if isinstance(part, Reference):
            yield LineagePart(f"← {part}", LineagePartStyle.FROM, _step(part))
        else:
            yield LineagePart(_quoted(part)[1:-1], LineagePartStyle.TEXT)
    yield LineagePart('"', LineagePartStyle.TEXT)


def _step(reference: Reference) -> str | None:
    return None if reference.step in RESERVED else reference.step


def _quoted(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return json.dumps(short, ensure_ascii=False)


_CUT: Final = 2_000
"""Characters of what it gave that are shown at once."""
_MOST_ITEMS: Final = 50
_TONES: Final = {Sort.RAN: "done", Sort.FAILED: "failed", Sort.WAITED: "waited"}


@dataclass(frozen=True, slots=True)
class Attempt:
    text: str
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
class StepOutput:
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
    details: Sequence[Fact] = ()
    """What its plan says of it besides."""
    called: Lines | None = None
    """What it was called with in the end."""
    gave: StepOutput | None = None
    error: Mishap | None = None
    items: Sequence[Item] = ()
    asked: RequestView | None = None
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


def gave_of(text: str, *, size: int | None, whole: bool) -> StepOutput:
    """What a tool answered, without the form that it is kept in."""
    told = _answer_text(text)
    return StepOutput(told[:_CUT], len(told) > _CUT, size or len(text), whole)


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


_CALLING: Final = frozenset({"workflow", "program"})
_LATEST: Final = 100
"""Calls of a tool among which the one of a step is looked for."""
_WITHIN: Final = timedelta(days=1)
_PAGE: Final = 20_000


@dataclass(frozen=True, slots=True)
class OutputPage:
    text: str
    page: int
    pages: int


async def step_view(
    desk: PageContext, looked: RunDetails, task: Task, plan: JsonObject
) -> StepView:
    """`plan`: as its run was started with it, if whoever looks may know."""
    seen = looked.seen
    view = StepView(
        task=task,
        mark=mark_of(task),
        attempts=attempts_of(task),
        after=[each.name for each in seen.tasks if task.name in each.needs][:20],
        items=items_of(task, looked.journal),
        asked=await _asked(desk, task),
        private=seen.kind in _CALLING and not seen.mine,
    )
    if task.state is State.UNCERTAIN:
        view = replace(view, uncertain=uncertain_calls(task, looked.journal))
    if seen.kind in _CALLING:
        view = await _with_values(desk, looked, view, plan)
    elif seen.trace is not None:
        view = _with_trace(view, seen.trace)
    else:
        row = next((row for row in looked.journal if row.name == task.name), None)
        if row is not None and row.output is not None:
            view = replace(view, gave=gave_of(as_json(row.output), size=None, whole=True))
    return await _with_tool(desk, looked, view)


async def _asked(desk: PageContext, task: Task) -> RequestView | None:
    if task.approval is None:
        return None
    with suppress(PorticoError):
        found = await desk.services.gateway.approvals.show_approval(
            desk.at(PLACE), ApprovalId.parse(task.approval)
        )
        return asked(found, desk.caller, desk.now)
    return None


async def _with_values(
    desk: PageContext, looked: RunDetails, view: StepView, plan: JsonObject
) -> StepView:
    task = view.task
    given, lineage, facts = given_of(step_of_plan(plan, task.name))
    view = replace(view, given=given, lineage=lineage, details=facts)
    kept = await _page(desk, task.handle, 1) if looked.seen.mine else None
    if task.state is State.DONE and kept is not None:
        return replace(view, gave=gave_of(kept, size=task.size, whole=True))
    return replace(view, error=mishap_of(task, kept))


async def _page(desk: PageContext, handle: str | None, number: int) -> str | None:
    if handle is None:
        return None
    with suppress(PorticoError):
        read = desk.services.gateway.read_result
        return (await read(desk.at(PLACE), ResultId.parse(handle), page=number)).text
    return None


def _with_trace(view: StepView, trace: WholeTrace) -> StepView:
    number, place = turn_of(view.task.name), use_of(view.task.name)
    turn = next((each for each in trace.turns if each.number == number), None)
    if turn is not None:
        return replace(
            view,
            details=facts_of_turn(turn),
            said=turn.text or None,
            thought=turn.thought or None,
        )
    use = next((each for each in trace.uses if (each.turn, each.position) == place), None)
    if use is None:
        return view
    view = replace(view, details=facts_of_use(use), given=lined(use.arguments))
    return replace(view, gave=gave_of(use.text, size=None, whole=True))


async def _with_tool(desk: PageContext, looked: RunDetails, view: StepView) -> StepView:
    """What is known of its tool; nothing of one that is gone, or not for whoever looks."""
    task, gateway, caller = view.task, desk.services.gateway, desk.at(PLACE)
    if not task.server or turn_of(task.name) is not None:
        return view
    with suppress(PorticoError):
        ref = ToolRef.parse(task.tool)
        tool = (await gateway.show_tool(caller, ref)).tool
        view = replace(view, effect=effect_badge(tool.effect))
        view = replace(view, server=await _doing(desk, ref))
        view = replace(view, called=await _called(desk, looked, task, ref, tool.effect))
        view = replace(view, evidence=await _evidence(desk, looked, task, ref))
    return view


async def _doing(desk: PageContext, ref: ToolRef) -> str | None:
    figures = await desk.services.gateway.show_figures(
        desk.at(PLACE), server=ref.server, within=_WITHIN
    )
    its = next((each for each in figures if each.name in {ref.name, str(ref)}), None)
    if its is None:
        return None
    return f"p95 {seconds_words(its.p95.total_seconds())} · {its.calls} calls today"


async def _called(
    desk: PageContext, looked: RunDetails, task: Task, ref: ToolRef, effect: Effect
) -> Lines | None:
    """What it was called with, of one that may have changed something: those are written down."""
    run = looked.run
    if effect.is_read_only or run is None or not task.spans or task.approval is not None:
        return None
    claim = claim_of(run.id, task.name, run.leg)
    ids = {claim.id, *claim.earlier}
    latest = await desk.services.gateway.list_calls(
        desk.at(PLACE), ref=ref, before=task.ended, limit=_LATEST
    )
    call = next((each for each in latest if each.id in ids), None)
    return None if call is None else lined(call.arguments)


async def _evidence(
    desk: PageContext, looked: RunDetails, task: Task, ref: ToolRef
) -> Sequence[Evidence]:
    if not task.needs:
        return ()
    tools = [each.tool for each in looked.seen.tasks if each.name in task.needs]
    near = await desk.services.gateway.graph.neighbours(desk.at(PLACE), ref, 50)
    return evidence_of(near.before, tools)


async def output_page(desk: PageContext, looked: RunDetails, step: str, number: int) -> OutputPage:
    """All that it gave; of a step that keeps it sealed, to whoever started the run.
    Raises `ResultNotFound`, `StepNotFound`."""
    task = looked.seen.task(step)
    if task is None:
        raise StepNotFound(step[:100])
    if looked.seen.kind in _CALLING:
        if task.handle is None:
            raise ResultNotFound(step[:100])
        read = desk.services.gateway.read_result
        found = await read(desk.at(PLACE), ResultId.parse(task.handle), page=number)
        text = shown_whole(found.text) if found.pages == 1 else found.text
        return OutputPage(text, found.page, found.pages)
    if looked.seen.trace is not None:
        place = use_of(step)
        uses = looked.seen.trace.uses
        texts = [each.text for each in uses if (each.turn, each.position) == place]
    else:
        texts = [as_json(row.output) for row in looked.journal if row.name == step]
    pages = [texts[0][at : at + _PAGE] for at in range(0, len(texts[0]), _PAGE)] if texts else []
    number = min(max(number, 1), max(len(pages), 1))
    return OutputPage(pages[number - 1] if pages else "", number, max(len(pages), 1))
