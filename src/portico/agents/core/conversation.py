"""What has been said in a run so far, in the order in which a model has to read it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.message import Message, ModelSaid, ToolGave, UserSaid
from portico.agents.core.trace import PersonSaid, ToolUse, TurnTrace, WholeTrace

NOT_MADE: Final = "There is no result of this call: the run had ended before."
NOT_KEPT: Final = "[Portico] What was said before this is not kept any more."


@dataclass(frozen=True, slots=True)
class Line:
    """A message, and which model it is from, if it is from one."""

    message: Message
    model: str | None = None


def lines_of(
    said: Sequence[PersonSaid], turns: Sequence[TurnTrace], uses: Iterable[ToolUse]
) -> Sequence[Line]:
    """Each turn after what it had heard; each call with what it came to."""
    by_turn: dict[int, dict[int, ToolUse]] = {}
    for use in uses:
        by_turn.setdefault(use.turn, {})[use.place] = use
    lines: list[Line] = []
    heard = 0
    for turn in sorted(turns, key=lambda each: each.number):
        lines += _heard(said, heard, turn.heard)
        heard = max(heard, turn.heard)
        lines.append(Line(ModelSaid(turn.text, turn.calls, turn.kept), turn.model))
        lines += _results(turn, by_turn.get(turn.number, {}))
    return lines + _heard(said, heard, len(said))


def lines_of_trace(trace: WholeTrace) -> Sequence[Line]:
    before = [Line(message) for message in trace.run.history]
    return [*before, *lines_of(trace.said, trace.turns, trace.uses)]


def for_model(lines: Iterable[Line], model: str) -> Sequence[Message]:
    """What one server wants back with its own words is not another's to see."""
    return [
        ModelSaid(line.message.text, line.message.calls)
        if isinstance(line.message, ModelSaid) and line.model != model
        else line.message
        for line in lines
    ]


def words_of(lines: Sequence[Line]) -> str:
    """What people said last: what tools are looked for by."""
    said = [line.message.text for line in lines if isinstance(line.message, UserSaid)]
    return said[-1] if said else ""


def _heard(said: Sequence[PersonSaid], after: int, upto: int) -> list[Line]:
    return [Line(UserSaid(each.text)) for each in said if after < each.number <= upto]


def _results(turn: TurnTrace, uses: dict[int, ToolUse]) -> list[Line]:
    return [
        Line(
            ToolGave(call.id, call.name, uses[place].text, uses[place].failed)
            if place in uses
            else ToolGave(call.id, call.name, NOT_MADE, failed=True)
        )
        for place, call in enumerate(turn.calls)
    ]
