"""What a run asks people for, as it is drawn in its chat: the same request as in the inbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.agents.core.happening import ToolWaits
from portico.agents.core.trace import WholeTrace
from portico.faces.web.wording import as_json
from portico.gateway.core.plan.waiting_topics import step_asked
from portico.guard.core.approval import AnswerKind, Approval
from portico.guard.core.danger import DANGER_WORDS, Mark
from portico.kernel.json import JsonObject, JsonValue

_LONGEST: Final = 1_500


@dataclass(frozen=True, slots=True)
class Given:
    """One argument."""

    name: str
    value: str
    danger: str
    """Why it is to be looked at first; empty for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    id: str
    step: str
    """The call of the run that waits: `call-3-0`."""
    tool: str
    question: str = ""
    why: str = ""
    given: tuple[Given, ...] = ()
    written: str = ""
    """The arguments as JSON, to be changed."""
    lasting: bool = False
    """Whether a yes may hold for longer than once."""
    tainted: bool = False
    expires_at: datetime | None = None
    answerable: bool = False


def ask_of(approval: Approval, *, answerable: bool) -> Ask:
    waiter = approval.waiter
    return Ask(
        id=str(approval.id),
        step="" if waiter is None else step_asked(waiter.topic),
        tool=approval.tool,
        question=approval.question,
        why=f"{approval.rule}: {approval.reason}",
        given=tuple(given_of(approval.arguments, approval.marks)),
        written=as_json(approval.arguments),
        lasting=AnswerKind.RUN in approval.answers,
        tainted=approval.tainted,
        expires_at=approval.expires_at,
        answerable=answerable,
    )


def ask_of_others(trace: WholeTrace, waits: ToolWaits) -> Ask:
    """For whoever may not answer: that it waits, and for what."""
    turns = [each for each in trace.turns if each.number == waits.turn]
    places = [at for each in turns for at, call in enumerate(each.calls) if call.id == waits.call]
    step = f"call-{waits.turn}-{places[0]}" if places else ""
    return Ask(id=str(waits.approval), step=step, tool=waits.tool, expires_at=waits.expires_at)


def given_of(arguments: JsonObject, marks: Sequence[Mark]) -> Sequence[Given]:
    """The dangerous ones first."""
    found = [Given(name, _text(value), _danger(name, marks)) for name, value in arguments.items()]
    return sorted(found, key=lambda each: not each.danger)


def _danger(name: str, marks: Sequence[Mark]) -> str:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    whys = [
        DANGER_WORDS.get(mark.why, str(mark.why))
        for mark in marks
        if mark.pointer == pointer or mark.pointer.startswith(f"{pointer}/")
    ]
    return ", ".join(dict.fromkeys(whys))


def _text(value: JsonValue) -> str:
    text = value if isinstance(value, str) else as_json(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} letters)"
