"""A chat as it is drawn: who said what, and what was done with tools in between."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.model_requests import (
    Finish,
    Message,
    ModelSaid,
    ToolCall,
    ToolGave,
    UserSaid,
)
from portico.agents.core.tool_calls import CALL
from portico.agents.core.traces import AgentRunStatus, PersonSaid, ToolUse, TurnTrace, WholeTrace
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject

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
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
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


Item = Mine | Turn | Before


@dataclass(frozen=True, slots=True)
class Stretch:
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
            _mine(said, turn.heard) for said in trace.said if heard < said.number <= turn.heard
        ]
        heard = max(heard, turn.heard)
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
) -> Stretch:
    """The last of them before `until`: as many as there is room for."""
    end = len(items) if until is None else max(0, min(until, len(items)))
    start, size = end, 0
    while start > 0 and end - start < ITEMS and size < room:
        start -= 1
        size += _size(items[start])
    return Stretch(run, tuple(items[start:end]), start, size)


def turn_of(trace: WholeTrace, turn: TurnTrace, waiting: Collection[str] = ()) -> Turn:
    uses = {use.place: use for use in trace.uses if use.turn == turn.number}
    over = trace.run.status.over
    cards = [
        card_of(turn, place, call, uses.get(place), over=over, waiting=waiting)
        for place, call in enumerate(turn.calls)
    ]
    finish = _FINISHES.get(turn.finish)
    return Turn(
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
        place=place,
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


def _mine(said: PersonSaid, heard: int) -> Mine:
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
        case UserSaid():
            return Before(key=key, who="you", said=clipped(message.text))
        case ModelSaid():
            return Before(key=key, who="agent", said=clipped(message.text))
        case ToolGave():
            return Before(key=key, who=message.name, said=clipped(message.text, RESULT))


def _size(item: Item) -> int:
    match item:
        case Turn():
            gave = sum(_bytes(each.gave.text) for each in item.cards if each.gave is not None)
            asked = sum(_bytes(str(each.arguments)) for each in item.cards)
            return _bytes(item.said.text) + _bytes(item.thought.text) + gave + asked + 400
        case Mine() | Before():
            return _bytes(item.said.text) + 200


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
