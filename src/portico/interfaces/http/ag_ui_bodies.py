"""What an AG-UI client sends: its talk so far, or answers to what a run of ours waits for."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from ag_ui.core import (
    AssistantMessage as AgUiAssistantMessage,
)
from ag_ui.core import (
    DeveloperMessage,
    ResumeEntry,
    RunAgentInput,
    SystemMessage,
    TextPart,
)
from ag_ui.core import Message as Said
from ag_ui.core import (
    UserMessage as AgUiUserMessage,
)
from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from portico.agents.core.conversations import LeftOff, Question, question_key, with_wishes
from portico.agents.core.model_requests import Message, ModelSaid, UserSaid
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via
from portico.interfaces.http.chat_bodies import NoQuestion
from portico.interfaces.http.words import OneLine, Switch
from portico.kernel.errors import Flaw, Kind, PorticoError
from portico.kernel.ids import ApprovalId, BadId, RunId

ANSWER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string", "maxLength": 500},
    },
    "required": ["approved"],
}
"""As other servers of AG-UI ask it, so that a client needs one form for all of them."""
_OURS: Final = re.compile(r"^(run_[0-7][0-9a-hjkmnp-tv-z]{25})\.")


class AnswerIn(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    approved: Switch
    edited_args: dict[str, JsonValue] | None = None
    reason: Annotated[OneLine, StringConstraints(max_length=500)] | None = None


class BadResume(PorticoError):
    """Nothing is taken for a yes that does not say so."""

    kind = Kind.INVALID
    code = "bad_resume"
    title = "Not an answer to an interrupt"
    fix = "Answer each interrupt by its id, as its responseSchema says."

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        told = "; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws)
        super().__init__(f"What is sent to go on with is no answer: {told}")
        self.flaws = tuple(flaws)


def interrupt_id(run: RunId, approval: ApprovalId) -> str:
    return f"{run}.{approval}"


def answers(resume: Sequence[ResumeEntry]) -> tuple[RunId, list[tuple[ApprovalId, Reply]]]:
    """The run that is answered, and what. Raises `BadResume`."""
    found = [(*_named(entry, number), _reply(entry, number)) for number, entry in enumerate(resume)]
    [run, *others] = dict.fromkeys(run for run, _, _ in found)
    if others:
        raise BadResume([Flaw("resume", "answers to more than one run")])
    return run, [(approval, reply) for _, approval, reply in found]


def _named(entry: ResumeEntry, number: int) -> tuple[RunId, ApprovalId]:
    run, _, approval = entry.interrupt_id.partition(".")
    try:
        return RunId.parse(run), ApprovalId.parse(approval)
    except BadId as error:
        raise BadResume([Flaw(f"resume.{number}.interruptId", "is none of ours")]) from error


def _reply(entry: ResumeEntry, number: int) -> Reply:
    if entry.status == "cancelled":
        return Reply(kind=AnswerKind.REJECT, via=Via.REST, reason="dismissed")
    try:
        said = AnswerIn.model_validate(entry.payload)
    except ValidationError as error:
        where = [".".join(str(part) for part in each["loc"]) for each in error.errors()]
        told = f"is not as its responseSchema says: {', '.join(filter(None, where)) or 'all of it'}"
        raise BadResume([Flaw(f"resume.{number}.payload", told)]) from error
    return Reply(
        kind=AnswerKind.ONCE if said.approved else AnswerKind.REJECT,
        via=Via.REST,
        reason=said.reason,
        arguments=said.edited_args if said.approved else None,
    )


def question_of(agent: str, asked: RunAgentInput) -> Question:
    """What was said since a run of ours last spoke is what is asked now. Raises `NoQuestion`."""
    said = [*_said(asked)]
    ours = [number for number, (_, run) in enumerate(said) if run is not None]
    begin = ours[-1] + 1 if ours else len(said) - 1
    words = [each.text for each, _ in said[max(begin, 0) :] if isinstance(each, UserSaid)]
    if not said or not isinstance(said[-1][0], UserSaid) or not any(words):
        raise NoQuestion
    before = [each for each, _ in said[:begin] if each.text]
    now = UserSaid("\n\n".join(text for text in words if text))
    *history, question = with_wishes([*_wishes(asked)], [*before, now])
    run = said[ours[-1]][1] if ours else None
    return Question(
        agent=agent,
        message=question.text,
        history=tuple(history),
        left_off=None if run is None else LeftOff(run),
        key=question_key(f"{agent}\n{asked.thread_id}\n{asked.run_id}", [question]),
        keyed=True,
    )


def _said(asked: RunAgentInput) -> Iterator[tuple[Message, RunId | None]]:
    for each in asked.messages:
        if isinstance(each, AgUiUserMessage):
            yield UserSaid(_text(each)), None
        elif isinstance(each, AgUiAssistantMessage) and each.content:
            ours = _OURS.match(each.id)
            yield ModelSaid(each.content), None if ours is None else RunId.parse(ours[1])


def _wishes(asked: RunAgentInput) -> Iterator[str]:
    for each in asked.messages:
        if isinstance(each, SystemMessage | DeveloperMessage) and each.content:
            yield each.content
    for about in asked.context or []:
        yield f"{about.description}: {about.value}"


def _text(message: AgUiUserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(each.text for each in message.content if isinstance(each, TextPart))


def left_away(asked: RunAgentInput) -> Iterator[str]:
    """What an agent of ours cannot do for a client: said, and not passed over."""
    if asked.tools:
        yield "The agent has tools of its own, and calls none of its client's."
    if asked.state:
        yield "The agent keeps no state that it shares with its client."
    if any(_holds_more(each) for each in asked.messages):
        yield "The agent reads text: what else is in a message was left away."


def _holds_more(message: Said) -> bool:
    if not isinstance(message, AgUiUserMessage) or isinstance(message.content, str):
        return False
    return any(not isinstance(part, TextPart) for part in message.content)
