"""Answer what one is asked as a guest of a debate."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.debate.core.asking import VoiceReply
from portico.debate.core.canonical import canonical
from portico.debate.core.debate import DebateId
from portico.debate.core.errors import BadDebate, DebateOver, NothingAsked
from portico.debate.core.guest import GuestAnswer, Seat
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.reply_text import cleaned
from portico.debate.join_debate import WakeDebate
from portico.debate.places import at_debate
from portico.debate.ports import Seats, Tasks
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAsGuest:
    seats: Seats
    tasks: Tasks
    wake: WakeDebate

    async def __call__(self, caller: Principal, which: DebateId, answer: GuestAnswer) -> Seat:
        """The seat as it is then. The first answer counts. Raises `NotPermitted`,
        `DebateNotFound`, `NotSeated`, `DebateOver`, `NothingAsked`, `BadDebate`."""
        permit(caller, Scope.DEBATES_JOIN)
        caller = at_debate(caller, which)
        label = await self.seats.secrecy(caller, which)
        await self.tasks.read(caller, label, untrusted=True)
        seat = await self.seats.seat(caller, which)
        if seat.over:
            raise DebateOver(str(which))
        if seat.key is None:
            raise NothingAsked(str(which))
        _check(answer, seat)
        reply = VoiceReply(text=_as_text(answer), prompt_tokens=0, output_tokens=0)
        await self.seats.answer(caller, which, seat.key, reply)
        after = await self.seats.seat(caller, which)
        await self.wake(caller, after)
        return replace(after, taken=True)


def _check(answer: GuestAnswer, seat: Seat) -> None:
    """What could not be counted is told now, while it can be said otherwise. Raises `BadDebate`."""
    if not cleaned(answer.answer).strip():
        raise BadDebate("The answer is empty.", "Say what you think is right.")
    if answer.confidence is not None and not 0 <= answer.confidence <= 1:
        raise BadDebate("A confidence is between 0 and 1.", "Leave it out, or give one like 0.7.")
    choices = _choices(seat)
    if choices and not _is_one(answer.answer, choices):
        said = " ".join(answer.answer.split())[:80]
        raise BadDebate(
            f"{said!r} is none of the choices.", f"Answer with one of: {', '.join(choices)}."
        )


def _choices(seat: Seat) -> list[str]:
    fields = (seat.schema or {}).get("properties")
    match fields:
        case {"answer": {"enum": [*choices]}}:
            return [str(each) for each in choices]
        case _:
            return []


def _is_one(answer: str, choices: Sequence[str]) -> bool:
    kind = QuestionKind.YES_NO if tuple(choices) == ("yes", "no") else QuestionKind.CHOICE
    question = Question(text="", kind=kind, choices=tuple(choices))
    return canonical(question, answer) is not None


def _as_text(answer: GuestAnswer) -> str:
    body: dict[str, JsonValue] = {
        "answer": cleaned(answer.answer),
        "rationale": cleaned(answer.rationale),
        "evidence": [cleaned(each) for each in answer.evidence],
        "confidence": answer.confidence,
        "veto": None if answer.veto is None else cleaned(answer.veto),
        "changed_because": None
        if answer.changed_because is None
        else cleaned(answer.changed_because),
    }
    said: JsonObject = {name: value for name, value in body.items() if value is not None}
    return json.dumps(said, ensure_ascii=False)
