"""AG-UI 1.0: run an agent, stream its events, approvals as interrupts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    DeveloperMessage,
    Interrupt,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SystemMessage,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core import AssistantMessage as AgUiAssistantMessage
from ag_ui.core import Message as Said
from ag_ui.core import UserMessage as AgUiUserMessage
from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from portico.agents.core.conversations import (
    Question,
    ResumePoint,
    Spoken,
    question_key,
    with_wishes,
)
from portico.agents.core.events import (
    AgentEvent,
    AgentStreamItem,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    RunNotice,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import AssistantMessage, Message, UserMessage
from portico.agents.core.traces import AgentRunStatus
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import Name, OneLine, Switch
from portico.interfaces.http.streaming import (
    MEDIA_TYPE,
    Listener,
    Listening,
    RunEventStream,
    one_line,
)
from portico.interfaces.http.use_cases import AgentRunUseCases, Runs
from portico.interfaces.http.v1.shapes import NoQuestion
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.ids import ApprovalId, InvalidId, RunId

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


class InvalidResume(PorticoError):
    """Nothing is taken for a yes that does not say so."""

    kind = Kind.INVALID
    code = "bad_resume"
    type_name = "BadResume"
    title = "Not an answer to an interrupt"
    fix = "Answer each interrupt by its id, as its responseSchema says."

    def __init__(self, flaws: Sequence[FieldError]) -> None:
        told = "; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws)
        super().__init__(f"What is sent to go on with is no answer: {told}")
        self.field_errors = tuple(flaws)


def interrupt_id(run: RunId, approval: ApprovalId) -> str:
    return f"{run}.{approval}"


def answers(resume: Sequence[ResumeEntry]) -> tuple[RunId, list[tuple[ApprovalId, Reply]]]:
    """The run that is answered, and what. Raises `InvalidResume`."""
    found = [(*_named(entry, number), _reply(entry, number)) for number, entry in enumerate(resume)]
    [run, *others] = dict.fromkeys(run for run, _, _ in found)
    if others:
        raise InvalidResume([FieldError("resume", "answers to more than one run")])
    return run, [(approval, reply) for _, approval, reply in found]


def _named(entry: ResumeEntry, number: int) -> tuple[RunId, ApprovalId]:
    run, _, approval = entry.interrupt_id.partition(".")
    try:
        return RunId.parse(run), ApprovalId.parse(approval)
    except InvalidId as error:
        raise InvalidResume(
            [FieldError(f"resume.{number}.interruptId", "is none of ours")]
        ) from error


def _reply(entry: ResumeEntry, number: int) -> Reply:
    if entry.status == "cancelled":
        return Reply(kind=AnswerKind.REJECT, via=Via.REST, reason="dismissed")
    try:
        said = AnswerIn.model_validate(entry.payload)
    except ValidationError as error:
        where = [".".join(str(part) for part in each["loc"]) for each in error.errors()]
        told = f"is not as its responseSchema says: {', '.join(filter(None, where)) or 'all of it'}"
        raise InvalidResume([FieldError(f"resume.{number}.payload", told)]) from error
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
    words = [each.text for each, _ in said[max(begin, 0) :] if isinstance(each, UserMessage)]
    if not said or not isinstance(said[-1][0], UserMessage) or not any(words):
        raise NoQuestion
    before = [each for each, _ in said[:begin] if each.text]
    now = UserMessage("\n\n".join(text for text in words if text))
    *history, question = with_wishes([*_wishes(asked)], [*before, now])
    run = said[ours[-1]][1] if ours else None
    return Question(
        agent=agent,
        message=question.text,
        history=tuple(history),
        left_off=None if run is None else ResumePoint(run),
        key=question_key(f"{agent}\n{asked.thread_id}\n{asked.run_id}", [question]),
        keyed=True,
    )


def _said(asked: RunAgentInput) -> Iterator[tuple[Message, RunId | None]]:
    for each in asked.messages:
        if isinstance(each, AgUiUserMessage):
            yield UserMessage(_text(each)), None
        elif isinstance(each, AgUiAssistantMessage) and each.content:
            ours = _OURS.match(each.id)
            yield AssistantMessage(each.content), None if ours is None else RunId.parse(ours[1])


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


_NO_MORE: Final = "Nothing more is told of this run."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgUiRun:
    """One AG-UI run: a leg of a run of ours, or all of it."""

    thread: str
    name: str
    """As the client calls it."""
    run: RunId
    past: frozenset[ApprovalId] = frozenset()
    """Up to where it waited for these it has been told already."""
    left: Mapping[ApprovalId, str] = field(default_factory=dict)
    """Which of these this client may not answer, and why."""
    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class AgUiEvents:
    talk: AgUiRun
    _text: Spoken = field(default_factory=Spoken)
    _thought: Spoken = field(default_factory=Spoken)
    _message: str | None = None
    """The id of the message that is open."""
    _reasoning: str | None = None
    _step: str | None = None
    _began: int = 0
    _parts: int = 0
    _turn: str = ""
    """What was said in this turn."""
    _waiting: dict[str, ToolCallAwaitingApproval] = field(default_factory=dict)
    _usage: dict[str, TokenUsage] = field(default_factory=dict)
    _unheard: set[ApprovalId] = field(default_factory=set)
    over: bool = False

    def __post_init__(self) -> None:
        self._unheard = set(self.talk.past)

    @property
    def waits(self) -> bool:
        return bool(self._waiting) and not self._unheard and not self.over

    def started(self) -> Iterator[BaseEvent]:
        yield RunStartedEvent(
            thread_id=self.talk.thread,
            run_id=self.talk.name,
            protocol_version=PROTOCOL_VERSION,
            metadata={"portico": {"run": str(self.talk.run)}},
        )
        for note in self.talk.notes:
            yield _custom("noted", {"code": "left_away", "message": note})

    def receive(self, happening: AgentEvent) -> Iterator[BaseEvent]:
        if self.over:
            return
        events = [*self._events(happening)]
        if not self._unheard:
            yield from events
        elif isinstance(happening, ToolCallAwaitingApproval):
            self._unheard.discard(happening.approval)
            if not self._unheard:
                self._begin_anew()
        elif isinstance(happening, RunFinished):
            yield from events[-1:]

    def _begin_anew(self) -> None:
        """What was open has been ended where it was told; what was answered waits no more."""
        self._message = self._reasoning = self._step = None
        self._usage = {}
        answered = self.talk.past - set(self.talk.left)
        for call, waits in [*self._waiting.items()]:
            if waits.approval in answered:
                del self._waiting[call]

    def _events(self, happening: AgentEvent) -> Iterator[BaseEvent]:
        match happening:
            case TextDelta() | ReasoningDelta():
                yield from self._said(happening)
            case ToolCallStarted() | ToolCallAwaitingApproval() | ToolCallFinished():
                yield from self._tool(happening)
            case TurnStarted(turn=turn):
                yield from self._begin(turn)
            case TurnFinished():
                self._count(happening)
            case RunNotice(code=code, message=message):
                yield _custom("noted", {"code": code, "message": _utf8(message)})
            case InputReceived(number=number, text=text):
                yield _custom("heard", {"number": number, "text": _utf8(text)})
            case RunFinished():
                yield from self._end(happening)

    def _begin(self, turn: int) -> Iterator[BaseEvent]:
        """Once, and not after its words: what is only said live may be late."""
        if turn > max(self._text.turn, self._began):
            yield from self._close()
            self._began, self._step, self._turn = turn, f"turn-{turn}", ""
            yield StepStartedEvent(step_name=self._step)

    def _said(self, piece: TextDelta | ReasoningDelta) -> Iterator[BaseEvent]:
        if isinstance(piece, ReasoningDelta):
            self._thought = self._thought.after(piece)
            yield from self._think(piece)
            return
        self._turn = "" if piece.turn > self._text.turn else self._turn
        self._text = self._text.after(piece)
        if self._text.anew:
            void = self._message
            yield from self._close_message()
            self._turn = ""
            yield _custom("void", {"messageId": void})
        yield from self._speak(piece, self._text.fresh)

    def _speak(self, piece: TextDelta, fresh: str) -> Iterator[BaseEvent]:
        if not fresh:
            return
        yield from self._close_reasoning()
        if self._message is None:
            self._message = self._id(piece.turn)
            yield TextMessageStartEvent(message_id=self._message, role="assistant")
        self._turn += fresh
        yield TextMessageContentEvent(message_id=self._message, delta=_utf8(fresh))

    def _think(self, piece: ReasoningDelta) -> Iterator[BaseEvent]:
        fresh = self._thought.fresh
        if not fresh:
            return
        yield from self._close_message()
        if self._reasoning is None:
            self._reasoning = self._id(piece.turn)
            yield ReasoningStartEvent(message_id=self._reasoning)
            yield ReasoningMessageStartEvent(message_id=self._reasoning)
        yield ReasoningMessageContentEvent(message_id=self._reasoning, delta=_utf8(fresh))

    def _tool(
        self, happening: ToolCallStarted | ToolCallAwaitingApproval | ToolCallFinished
    ) -> Iterator[BaseEvent]:
        call = self._call(happening.call)
        match happening:
            case ToolCallStarted(tool=tool, arguments=arguments):
                yield from self._close_words()
                yield ToolCallStartEvent(tool_call_id=call, tool_call_name=tool)
                yield ToolCallArgsEvent(tool_call_id=call, delta=_json(arguments))
                yield ToolCallEndEvent(tool_call_id=call)
            case ToolCallAwaitingApproval():
                self._waiting[happening.call] = happening
            case ToolCallFinished(text=text, failed=failed):
                self._waiting.pop(happening.call, None)
                yield from self._close_words()
                yield ToolCallResultEvent(
                    message_id=f"{call}.result",
                    tool_call_id=call,
                    content=_utf8(text),
                    role="tool",
                    metadata={"portico": {"failed": failed}},
                )

    def _end(self, ended: RunFinished) -> Iterator[BaseEvent]:
        yield from self._unsaid(ended)
        yield from self._close()
        self.over = True
        match ended.status:
            case AgentRunStatus.COMPLETED:
                yield self._finished(
                    RunFinishedSuccessOutcome(), result={"answer": _utf8(ended.answer)}
                )
            case AgentRunStatus.STOPPED | AgentRunStatus.CANCELLED:
                yield self._finished(RunFinishedCancelledOutcome())
            case _:
                told = " ".join(each for each in (ended.error, ended.fix) if each)
                yield self.error(_utf8(told) or _NO_MORE, ended.error_code)

    def _unsaid(self, ended: RunFinished) -> Iterator[BaseEvent]:
        """An answer that was not followed live, all of it."""
        if ended.answer and ended.answer.strip() != self._turn.strip():
            yield from self._close_words()
            piece = TextDelta(turn=self._text.turn, attempt=1, offset=0, text=ended.answer)
            yield from self._speak(piece, ended.answer)

    def interrupted(self) -> Iterator[BaseEvent]:
        yield from self._close()
        self.over = True
        asked = [self._interrupt(each) for each in self._waiting.values()]
        yield self._finished(RunFinishedInterruptOutcome(interrupts=asked))

    def broken_off(self) -> Iterator[BaseEvent]:
        if not self.over:
            yield self.error(_NO_MORE, None)

    def error(self, message: str, code: str | None) -> RunErrorEvent:
        self.over = True
        return RunErrorEvent(message=message, code=code, usage=self._used())

    def _interrupt(self, waits: ToolCallAwaitingApproval) -> Interrupt:
        may_not = self.talk.left.get(waits.approval)
        message = f"May the agent use {waits.tool}?"
        return Interrupt(
            id=interrupt_id(self.talk.run, waits.approval),
            reason="tool_call",
            message=message if may_not is None else f"{message} {may_not}",
            tool_call_id=self._call(waits.call),
            response_schema=ANSWER_SCHEMA,
            expires_at=None if waits.expires_at is None else waits.expires_at.isoformat(),
            metadata={"portico": {"approval": str(waits.approval), "tool": waits.tool}},
        )

    def _finished(self, outcome: RunFinishedOutcome, result: object = None) -> RunFinishedEvent:
        return RunFinishedEvent(
            thread_id=self.talk.thread,
            run_id=self.talk.name,
            outcome=outcome,
            result=result,
            usage=self._used(),
        )

    def _count(self, ended: TurnFinished) -> None:
        before = self._usage.get(ended.model, TokenUsage(input_tokens=0, output_tokens=0))
        given = (before.input_tokens or 0) + ended.usage.input
        gave = (before.output_tokens or 0) + ended.usage.output
        provider, _, model = ended.model.partition(":")
        self._usage[ended.model] = TokenUsage(
            provider=provider,
            model=model,
            input_tokens=given,
            output_tokens=gave,
            total_tokens=given + gave,
        )

    def _used(self) -> list[TokenUsage] | None:
        return [*self._usage.values()] or None

    def _close(self) -> Iterator[BaseEvent]:
        yield from self._close_words()
        if self._step is not None:
            yield StepFinishedEvent(step_name=self._step)
            self._step = None

    def _close_words(self) -> Iterator[BaseEvent]:
        yield from self._close_message()
        yield from self._close_reasoning()

    def _close_message(self) -> Iterator[BaseEvent]:
        if self._message is not None:
            yield TextMessageEndEvent(message_id=self._message)
            self._message = None

    def _close_reasoning(self) -> Iterator[BaseEvent]:
        if self._reasoning is not None:
            yield ReasoningMessageEndEvent(message_id=self._reasoning)
            yield ReasoningEndEvent(message_id=self._reasoning)
            self._reasoning = None

    def _id(self, turn: int) -> str:
        """Of a message: it begins with our run, by which a talk is found again."""
        self._parts += 1
        return f"{self.talk.run}.{turn}.{self._parts}"

    def _call(self, call: str) -> str:
        return f"{self.talk.run}.{call}"


def _custom(name: str, value: Mapping[str, Any]) -> CustomEvent:
    return CustomEvent(name=f"portico.{name}", value=dict(value))


def _json(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, default=dict)


def _utf8(text: str) -> str:
    """Half of a surrogate pair cannot be sent."""
    return text.encode(errors="replace").decode()


_SETTLES: Final = 0.5
"""Seconds after which a run that waits is taken to wait: what has been answered long since is told
a moment after what was asked, and what is asked at once is asked together."""


@dataclass(frozen=True, slots=True)
class AgUiStreamEncoder:
    events: AgUiEvents

    @property
    def waits(self) -> bool:
        return self.events.waits

    def started(self) -> bytes:
        return _sent(self.events.started())

    def told(self, told: AgentStreamItem) -> bytes:
        return _sent(self.events.receive(told.event))

    def gave_up(self) -> bytes:
        return _sent(self.events.interrupted())

    def broke(self, error: PorticoError) -> bytes:
        return _sent([self.events.error(_told(error), error.code)])

    def ended(self) -> bytes:
        return _sent(self.events.broken_off())


async def answered(
    runs: AgentRunUseCases, listener: Listener, agent: str, body: dict[str, JsonValue]
) -> Response:
    """Raises `RequestValidationError`, and what starting a run raises; of what is wrong with an
    answer a client hears as it expects, in the stream."""
    asked = _decoded(body)
    try:
        talk = await _talk(runs, listener, agent, asked)
    except PorticoError as error:
        if not asked.resume:
            raise
        return Response(_sent(_refusal(asked, error)), media_type=MEDIA_TYPE)
    told = runs.follow_run(listener.caller, talk.run)
    return RunEventStream(
        listener, told, AgUiStreamEncoder(AgUiEvents(talk=talk)), patience=_SETTLES
    )


async def _talk(
    runs: AgentRunUseCases, listener: Listener, agent: str, asked: RunAgentInput
) -> AgUiRun:
    notes = tuple(left_away(asked))
    if not asked.resume:
        taken = await runs.take_question(listener.caller, question_of(agent, asked))
        return AgUiRun(thread=asked.thread_id, name=asked.run_id, run=taken.run, notes=notes)
    run, replies = answers(asked.resume)
    left = await runs.answer_interrupts(listener.caller, run, agent, replies)
    return AgUiRun(
        thread=asked.thread_id,
        name=asked.run_id,
        run=run,
        past=frozenset(approval for approval, _ in replies),
        left={approval: _told(error) for approval, error in left.items()},
        notes=notes,
    )


def _decoded(body: dict[str, JsonValue]) -> RunAgentInput:
    if not _can_be_kept(body):
        told = {"type": "value_error", "loc": ("body",), "msg": "must be text, without NUL"}
        raise RequestValidationError([told])
    try:
        return RunAgentInput.model_validate(body)
    except ValidationError as error:
        found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(found) from error


def _can_be_kept(value: JsonValue) -> bool:
    """Neither NUL nor half of a surrogate pair is text to those who keep it."""
    match value:
        case str():
            return "\0" not in value and value == value.encode(errors="replace").decode()
        case dict():
            return all(_can_be_kept(each) for each in (*value.keys(), *value.values()))
        case list():
            return all(_can_be_kept(each) for each in value)
        case _:
            return True


def _refusal(asked: RunAgentInput, error: PorticoError) -> Iterator[BaseEvent]:
    yield RunStartedEvent(
        thread_id=asked.thread_id, run_id=asked.run_id, protocol_version=PROTOCOL_VERSION
    )
    yield RunErrorEvent(message=_told(error), code=error.code)


def _told(error: PorticoError) -> str:
    return " ".join(part for part in (str(error), error.fix) if part)


def _sent(events: Iterable[BaseEvent]) -> bytes:
    told = (one_line(each.model_dump_json(by_alias=True)) for each in events)
    return b"".join(f"data: {each}\n\n".encode() for each in told)


_EVENTS: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

router = APIRouter(prefix="/agents", tags=["agents"])


@router.post(
    "/{name}/ag-ui",
    name="run_ag_ui",
    response_class=Response,
    responses={
        **documented(404, 429),
        200: {"description": "A stream of AG-UI 1.0 events.", "content": _EVENTS},
    },
)
async def run_ag_ui(
    runs: Runs, listener: Listening, name: Name, body: dict[str, JsonValue]
) -> Response:
    """`RunAgentInput` of AG-UI 1.0 in. Where people have to approve a tool the run ends with an
    interrupt; another one with `resume` answers it and goes on."""

    return await answered(runs, listener, name, body)
