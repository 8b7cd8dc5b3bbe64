"""A chat as it is drawn: turns, calls, approvals, times, and the list of chats."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.events import ToolCallAwaitingApproval
from portico.agents.core.model_requests import (
    AssistantMessage,
    Finish,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from portico.agents.core.tool_calls import CALL
from portico.agents.core.traces import (
    AgentRunStatus,
    RunTrace,
    ToolUse,
    TracePlace,
    TurnTrace,
    UserInput,
    WholeTrace,
)
from portico.guard.core.approvals import AnswerKind, Approval
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.interfaces.console.formatting import as_json, short
from portico.interfaces.console.screens.approval_view import (
    MOST_JSON,
    Argument,
    grants_of,
    seen,
    seen_json,
    sentence,
    table,
)
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.workflows.core.plan_progress import step_asked

LONGEST: Final = 12_000
"""Letters of one text that are drawn in a chat; the rest is a link away."""
RESULT: Final = 1_500
"""Letters of what a tool gave, and of what it was given."""
ITEMS: Final = 30
ROOM: Final = 24_000
"""Bytes of text in one page of a chat, so that none is larger than 50 KB."""
STATUSES: Final[Mapping[AgentRunStatus, tuple[str, str]]] = {
    AgentRunStatus.RUNNING: ("working", "run"),
    AgentRunStatus.WAITING: ("waits for people", "warn"),
    AgentRunStatus.COMPLETED: ("answered", "ok"),
    AgentRunStatus.STOPPED: ("stopped", ""),
    AgentRunStatus.EXHAUSTED: ("limit reached", "warn"),
    AgentRunStatus.FAILED: ("failed", "bad"),
    AgentRunStatus.CANCELLED: ("cancelled", ""),
}
_FINISHES: Final[Mapping[Finish, str]] = {
    Finish.LENGTH: "It had more to say than it had room for.",
    Finish.FILTERED: "Its server kept the rest back.",
}


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    rest: int
    """Letters that are not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """What a person said."""

    key: str
    number: int
    said: Text
    at: datetime | None
    waits: bool
    """The agent has not taken it in yet."""
    changeable: bool
    """The run was started with it: with another one, it is another run."""

    kind = "mine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One use of a tool."""

    key: str
    step: str
    tool: str
    state: str
    tone: str
    took: timedelta | None
    arguments: JsonObject | None
    """None where they are too long to be drawn."""
    gave: Text | None
    code: str | None
    early: bool
    approval: ApprovalId | None
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTurn:
    key: str
    number: int
    said: Text
    thought: Text
    cards: tuple[Card, ...]
    notes: tuple[str, ...]
    model: str
    tokens: int
    money: Decimal
    took: timedelta
    speed: float | None

    kind = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What was said before the run, by the account of the program that started it."""

    key: str
    who: str
    said: Text

    kind = "before"


Item = Mine | ThreadTurn | Before


@dataclass(frozen=True, slots=True)
class RunSection:
    """Some of what was said in one run, in its order."""

    run: str
    items: tuple[Item, ...]
    start: int
    """How many came before these."""
    size: int
    """About as many bytes as it takes."""


def clipped(text: str, most: int = LONGEST) -> Text:
    return Text(text[:most], max(len(text) - most, 0))


def items_of(trace: WholeTrace, waiting: Collection[str] = ()) -> Sequence[Item]:
    """`waiting`: the steps for which somebody has to approve something."""
    run = str(trace.run.run)
    found: list[Item] = [
        _before(f"{run}-before-{number}", message)
        for number, message in enumerate(trace.run.history)
    ]
    heard = 0
    for turn in sorted(trace.turns, key=lambda each: each.number):
        found += [
            _mine(said, turn.inputs_seen)
            for said in trace.said
            if heard < said.number <= turn.inputs_seen
        ]
        heard = max(heard, turn.inputs_seen)
        found.append(turn_of(trace, turn, waiting))
    over = trace.run.status.over
    found += [
        _mine(said, said.number if over or said.number == 1 else 0)
        for said in trace.said
        if said.number > heard
    ]
    return found


def stretch_of(
    run: str, items: Sequence[Item], *, until: int | None = None, room: int = ROOM
) -> RunSection:
    """The last of them before `until`: as many as there is room for."""
    end = len(items) if until is None else max(0, min(until, len(items)))
    start, size = end, 0
    while start > 0 and end - start < ITEMS and size < room:
        start -= 1
        size += _size(items[start])
    return RunSection(run, tuple(items[start:end]), start, size)


def turn_of(trace: WholeTrace, turn: TurnTrace, waiting: Collection[str] = ()) -> ThreadTurn:
    uses = {use.position: use for use in trace.uses if use.turn == turn.number}
    over = trace.run.status.over
    cards = [
        card_of(turn, place, call, uses.get(place), over=over, waiting=waiting)
        for place, call in enumerate(turn.calls)
    ]
    finish = _FINISHES.get(turn.finish)
    return ThreadTurn(
        key=turn_key(str(turn.run), turn.number),
        number=turn.number,
        said=clipped(turn.text),
        thought=clipped(turn.thought, LONGEST // 2),
        cards=tuple(cards),
        notes=(*turn.notes, *([] if finish is None else [finish])),
        model=turn.model,
        tokens=turn.usage.input + turn.usage.output,
        money=turn.money,
        took=turn.took,
        speed=turn.tokens_a_second,
    )


def card_of(
    turn: TurnTrace,
    place: int,
    call: ToolCall,
    use: ToolUse | None,
    *,
    over: bool,
    waiting: Collection[str],
) -> Card:
    step = f"call-{turn.number}-{place}"
    state, tone = _state(use, over=over, waits=step in waiting)
    arguments = call.arguments if use is None else use.arguments
    return Card(
        key=f"{turn.run}-{step}",
        step=step,
        tool=tool_of(call) if use is None else use.tool,
        state=state,
        tone=tone,
        took=None if use is None else use.took,
        arguments=arguments if len(str(arguments)) <= RESULT else None,
        gave=None if use is None else clipped(use.text, RESULT),
        code=None if use is None else use.code,
        early=use is not None and use.early,
        approval=None if use is None else use.approval,
        position=place,
    )


def tool_of(call: ToolCall) -> str:
    """The tool that is meant: models are shown `server__tool`, or one that calls all others."""
    named = call.arguments.get("tool")
    if call.name == CALL and isinstance(named, str):
        return named
    return call.name.replace("__", ".", 1)


def turn_key(run: str, number: int) -> str:
    return f"{run}-turn-{number}"


def _state(use: ToolUse | None, *, over: bool, waits: bool) -> tuple[str, str]:
    if use is not None:
        return ("failed", "bad") if use.failed else ("done", "ok")
    if waits:
        return ("needs approval", "warn")
    return ("not made", "") if over else ("running", "run")


def _mine(said: UserInput, heard: int) -> Mine:
    return Mine(
        key=f"{said.run}-said-{said.number}",
        number=said.number,
        said=clipped(said.text),
        at=said.at,
        waits=said.number > heard,
        changeable=said.number == 1,
    )


def _before(key: str, message: Message) -> Before:
    match message:
        case UserMessage():
            return Before(key=key, who="you", said=clipped(message.text))
        case AssistantMessage():
            return Before(key=key, who="agent", said=clipped(message.text))
        case ToolMessage():
            return Before(key=key, who=message.name, said=clipped(message.text, RESULT))


def _size(item: Item) -> int:
    match item:
        case ThreadTurn():
            gave = sum(_bytes(each.gave.text) for each in item.cards if each.gave is not None)
            asked = sum(_bytes(str(each.arguments)) for each in item.cards)
            return _bytes(item.said.text) + _bytes(item.thought.text) + gave + asked + 400
        case Mine() | Before():
            return _bytes(item.said.text) + 200


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPrompt:
    id: str
    step: str
    """The call of the run that waits: `call-3-0`."""
    tool: str
    question: str = ""
    why: str = ""
    given: Sequence[Argument] = ()
    written: str = ""
    """The arguments as JSON, to be changed; empty if they are too long for a form."""
    hides: bool = False
    """Part of the arguments is not shown, and would be lost by editing them."""
    grants: Mapping[str, str] = field(default_factory=dict)
    """By answer, what a yes lets through that holds for longer than once; empty where none may."""
    tainted: bool = False
    expires_at: datetime | None = None
    answerable: bool = False


def ask_of(approval: Approval, *, answerable: bool) -> ApprovalPrompt:
    waiter, written = approval.waiter, seen_json(approval.arguments)
    lasting = [kind for kind in (AnswerKind.RUN, AnswerKind.ALWAYS) if kind in approval.answers]
    return ApprovalPrompt(
        id=str(approval.id),
        step="" if waiter is None else step_asked(waiter.topic),
        tool=seen(approval.tool),
        question=seen(approval.question),
        why=f"{seen(approval.rule)}: {sentence(approval.reason)}",
        given=given_of(approval.arguments, approval.marks),
        written=written if len(written) <= MOST_JSON else "",
        hides=any(mark.why is Danger.HIDDEN for mark in approval.marks),
        grants={str(kind): grants_of(approval, kind) for kind in lasting},
        tainted=approval.tainted,
        expires_at=approval.expires_at,
        answerable=answerable,
    )


def ask_of_others(trace: WholeTrace, waits: ToolCallAwaitingApproval) -> ApprovalPrompt:
    """For whoever may not answer: that it waits, and for what."""
    turns = [each for each in trace.turns if each.number == waits.turn]
    places = [at for each in turns for at, call in enumerate(each.calls) if call.id == waits.call]
    step = f"call-{waits.turn}-{places[0]}" if places else ""
    return ApprovalPrompt(
        id=str(waits.approval), step=step, tool=waits.tool, expires_at=waits.expires_at
    )


def given_of(arguments: JsonObject, marks: Sequence[ArgumentWarning]) -> Sequence[Argument]:
    """As the inbox shows them, the dangerous ones first."""
    return sorted(table(arguments, marks), key=lambda each: not each.risks)


DEBATES: Final = (
    "You are asked for your own answer to a question. Others are asked as well",
    "You bring the answers of several into one. Text between << and >> marks",
    "You compare answers. You do not know whose they are. Text between << and >>",
    "You plan how a task is looked into. Text between << and >> marks",
    "You bring the answers to several questions into one. Text between << and",
)
"""How what an agent is asked in a debate begins. A trace does not say what its run was for; a test
holds these against what debates really say."""
_ASKED: Final = 80
_ANSWER: Final = 120
_SIGNS: Final = re.compile(r"[*`#|>~]+|-{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    run: str
    title: str
    agent: str
    answer: str
    state: str
    tone: str
    label: str
    at: datetime
    tokens: int
    money: Decimal


@dataclass(frozen=True, slots=True)
class Chats:
    found: tuple[Chat, ...]
    hidden: tuple[str, ...]
    """Runs that go on in one that is shown: they may come in the next page."""
    before: str | None
    """Where the next page begins."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    title: str
    text: str


def chats_of(runs: Sequence[RunTrace], hidden: Collection[str], limit: int) -> Chats:
    """Of runs, newest first. One that was continued is shown as the one that continues it."""
    gone, seen = set(hidden), set()
    found: list[Chat] = []
    for run in runs:
        seen.add(str(run.run))
        if run.continues is not None:
            gone.add(str(run.continues))
        if str(run.run) not in gone and not of_debate(run.asked):
            found.append(_chat(run))
    last = str(TracePlace.of(runs[-1])) if len(runs) >= limit else None
    return Chats(tuple(found), tuple(sorted(gone - seen)), last)


def of_debate(asked: str) -> bool:
    return asked.startswith(tuple(each[:_ASKED] for each in DEBATES))


def suggestions(tools: Sequence[str]) -> Sequence[Suggestion]:
    """What to begin with, by what the agent can use."""
    first = Suggestion("What can you do?", "What can you help me with, and what can you not?")
    found = [
        Suggestion(_spoken(each), f"Use {each} for me. Ask me first for what you need to know.")
        for each in tools[:3]
    ]
    none = Suggestion("Explain something", "Explain to me in three sentences: ")
    return [first, *(found or [none])]


def _spoken(tool: str) -> str:
    words = tool.partition(".")[2].replace("_", " ").replace("-", " ").strip()
    return (words[:1].upper() + words[1:])[:60] or tool[:60]


def _plain(text: str) -> str:
    """How it begins, without the signs of markdown."""
    return " ".join(_SIGNS.sub(" ", text[: 4 * _ANSWER]).split())[:_ANSWER]


def _chat(run: RunTrace) -> Chat:
    state, tone = STATUSES[run.status]
    return Chat(
        run=str(run.run),
        title=run.asked or "(nothing was said)",
        agent=run.agent_name,
        answer=_plain(run.answer or run.error or ""),
        state=state,
        tone=tone,
        label=str(run.label),
        at=run.ended_at or run.started_at,
        tokens=run.usage.input + run.usage.output,
        money=run.money,
    )


# Long idle times, such as waiting for people, are drawn short.

WIDTH: Final = 1000.0
_GAP: Final = 36.0
"""How wide a time is drawn in which nothing was done."""
_IDLE: Final = timedelta(seconds=2)
_LEAST: Final = 4.0
_MOST: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    name: str
    depth: int
    tone: str
    x: float
    width: float
    took: timedelta
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    x: float
    width: float
    took: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    bars: tuple[Bar, ...]
    pauses: tuple[Pause, ...]
    took: timedelta
    """All of it, as clocks go."""
    busy: timedelta
    left_out: int
    """Bars for which there was no room."""


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    depth: int
    tone: str
    start: datetime
    end: datetime
    note: str = ""


def waterfall(trace: WholeTrace, now: datetime) -> Waterfall:
    run = trace.run
    spans = sorted(_spans(trace, now), key=lambda each: (each.start, each.depth))
    end = max([run.ended_at or now, *(each.end for each in spans)])
    scale = Scale.of(run.started_at, end, [(each.start, each.end) for each in spans])
    whole = _Span(run.agent_name, 0, "run", run.started_at, end)
    shown = [whole, *spans][:_MOST]
    return Waterfall(
        bars=tuple(_bar(scale, each) for each in shown),
        pauses=scale.pauses,
        took=end - run.started_at,
        busy=scale.busy,
        left_out=len(spans) + 1 - len(shown),
    )


def _spans(trace: WholeTrace, now: datetime) -> Iterable[_Span]:
    over = trace.run.status.over
    made = {(use.turn, use.position) for use in trace.uses}
    for turn in trace.turns:
        end = turn.started_at + turn.took
        tokens = f"{short(turn.usage.input + turn.usage.output)} tok"
        note = tokens if turn.attempts < 2 else f"{tokens}, asked {turn.attempts} times"
        yield _Span(f"turn {turn.number}", 1, "turn", turn.started_at, end, note)
        for place, call in enumerate(turn.calls):
            if not over and (turn.number, place) not in made:
                yield _Span(tool_of(call), 2, "on", end, max(end, now), "not over")
    for use in trace.uses:
        tone = "bad" if use.failed else "ok"
        note = "ran ahead" if use.early else ""
        yield _Span(use.tool, 2, tone, use.started_at, use.started_at + use.took, note)


def _bar(scale: "Scale", span: _Span) -> Bar:
    start, end = scale.place(span.start), scale.place(span.end)
    width = max(end - start, _LEAST)
    return Bar(
        name=span.name,
        depth=span.depth,
        tone=span.tone,
        x=round(min(start, WIDTH - width), 1),
        width=round(width, 1),
        took=span.end - span.start,
        note=span.note,
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """From moments to places, with the idle times drawn short."""

    knots: tuple[tuple[datetime, float], ...]
    pauses: tuple[Pause, ...]
    busy: timedelta

    @classmethod
    def of(
        cls, start: datetime, end: datetime, busy: Sequence[tuple[datetime, datetime]]
    ) -> "Scale":
        gaps = [gap for gap in _gaps(start, end, busy) if gap[1] - gap[0] > _IDLE]
        idle = sum((to - since for since, to in gaps), start=timedelta(0))
        seconds = max((end - start - idle).total_seconds(), 0.001)
        room = max(WIDTH - _GAP * len(gaps), WIDTH / 4)
        gap_width = (WIDTH - room) / len(gaps) if gaps else 0.0
        knots, pauses, x, at = [(start, 0.0)], [], 0.0, start
        for since, to in gaps:
            x += (since - at).total_seconds() / seconds * room
            knots += [(since, x), (to, x + gap_width)]
            pauses.append(Pause(round(x, 1), round(gap_width, 1), to - since))
            x, at = x + gap_width, to
        knots.append((end, WIDTH))
        return cls(tuple(knots), tuple(pauses), end - start - idle)

    def place(self, moment: datetime) -> float:
        before, x = self.knots[0]
        if moment <= before:
            return x
        for after, y in self.knots[1:]:
            if moment <= after:
                span = (after - before).total_seconds()
                return x + (moment - before).total_seconds() / span * (y - x)
            before, x = after, y
        return x


def _gaps(
    start: datetime, end: datetime, busy: Sequence[tuple[datetime, datetime]]
) -> Iterable[tuple[datetime, datetime]]:
    reached = start
    for since, to in sorted(busy):
        if since > reached:
            yield reached, since
        reached = max(reached, to)
    if end > reached:
        yield reached, end


_NAME: Final = re.compile(r"(said|turn|thought|before|gave|given)-(\d{1,6})(?:-(\d{1,6}))?")


def whole_text(trace: WholeTrace, name: str) -> str | None:
    """None where there is no such text."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    what, number, place = found[1], int(found[2]), int(found[3] or 0)
    texts = {
        "said": {each.number: each.text for each in trace.said},
        "turn": {each.number: each.text for each in trace.turns},
        "thought": {each.number: each.thought for each in trace.turns},
        "before": {at: each.text for at, each in enumerate(trace.run.history)},
    }
    if what in texts:
        return texts[what].get(number)
    uses = {(each.turn, each.position): each for each in trace.uses}
    use = uses.get((number, place))
    if use is None:
        return None
    return use.text if what == "gave" else as_json(use.arguments)
