"""What happens in a run of an agent, in the events of AG-UI 1.0: each thing that is begun is ended,
and nothing comes after the end."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from portico.agents.core.conversations import Spoken
from portico.agents.core.events import (
    Happening,
    Heard,
    Noted,
    RunEnded,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    ToolWaits,
    TurnBegan,
    TurnEnded,
)
from portico.agents.core.traces import AgentRunStatus
from portico.interfaces.http.ag_ui_bodies import ANSWER_SCHEMA, interrupt_id
from portico.kernel.ids import ApprovalId, RunId

_NO_MORE: Final = "Nothing more is told of this run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
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
    talk: Talk
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
    _waiting: dict[str, ToolWaits] = field(default_factory=dict)
    _usage: dict[str, TokenUsage] = field(default_factory=dict)
    _unheard: set[ApprovalId] = field(default_factory=set)
    over: bool = False

    def __post_init__(self) -> None:
        self._unheard = set(self.talk.past)

    @property
    def waits(self) -> bool:
        return bool(self._waiting) and not self._unheard and not self.over

    def begun(self) -> Iterator[BaseEvent]:
        yield RunStartedEvent(
            thread_id=self.talk.thread,
            run_id=self.talk.name,
            protocol_version=PROTOCOL_VERSION,
            metadata={"portico": {"run": str(self.talk.run)}},
        )
        for note in self.talk.notes:
            yield _custom("noted", {"code": "left_away", "message": note})

    def hear(self, happening: Happening) -> Iterator[BaseEvent]:
        if self.over:
            return
        events = [*self._events(happening)]
        if not self._unheard:
            yield from events
        elif isinstance(happening, ToolWaits):
            self._unheard.discard(happening.approval)
            if not self._unheard:
                self._begin_anew()
        elif isinstance(happening, RunEnded):
            yield from events[-1:]

    def _begin_anew(self) -> None:
        """What was open has been ended where it was told; what was answered waits no more."""
        self._message = self._reasoning = self._step = None
        self._usage = {}
        answered = self.talk.past - set(self.talk.left)
        for call, waits in [*self._waiting.items()]:
            if waits.approval in answered:
                del self._waiting[call]

    def _events(self, happening: Happening) -> Iterator[BaseEvent]:
        match happening:
            case TextAdded() | ThoughtAdded():
                yield from self._said(happening)
            case ToolBegan() | ToolWaits() | ToolEnded():
                yield from self._tool(happening)
            case TurnBegan(turn=turn):
                yield from self._begin(turn)
            case TurnEnded():
                self._count(happening)
            case Noted(code=code, message=message):
                yield _custom("noted", {"code": code, "message": _utf8(message)})
            case Heard(number=number, text=text):
                yield _custom("heard", {"number": number, "text": _utf8(text)})
            case RunEnded():
                yield from self._end(happening)

    def _begin(self, turn: int) -> Iterator[BaseEvent]:
        """Once, and not after its words: what is only said live may be late."""
        if turn > max(self._text.turn, self._began):
            yield from self._close()
            self._began, self._step, self._turn = turn, f"turn-{turn}", ""
            yield StepStartedEvent(step_name=self._step)

    def _said(self, piece: TextAdded | ThoughtAdded) -> Iterator[BaseEvent]:
        if isinstance(piece, ThoughtAdded):
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

    def _speak(self, piece: TextAdded, fresh: str) -> Iterator[BaseEvent]:
        if not fresh:
            return
        yield from self._close_reasoning()
        if self._message is None:
            self._message = self._id(piece.turn)
            yield TextMessageStartEvent(message_id=self._message, role="assistant")
        self._turn += fresh
        yield TextMessageContentEvent(message_id=self._message, delta=_utf8(fresh))

    def _think(self, piece: ThoughtAdded) -> Iterator[BaseEvent]:
        fresh = self._thought.fresh
        if not fresh:
            return
        yield from self._close_message()
        if self._reasoning is None:
            self._reasoning = self._id(piece.turn)
            yield ReasoningStartEvent(message_id=self._reasoning)
            yield ReasoningMessageStartEvent(message_id=self._reasoning)
        yield ReasoningMessageContentEvent(message_id=self._reasoning, delta=_utf8(fresh))

    def _tool(self, happening: ToolBegan | ToolWaits | ToolEnded) -> Iterator[BaseEvent]:
        call = self._call(happening.call)
        match happening:
            case ToolBegan(tool=tool, arguments=arguments):
                yield from self._close_words()
                yield ToolCallStartEvent(tool_call_id=call, tool_call_name=tool)
                yield ToolCallArgsEvent(tool_call_id=call, delta=_json(arguments))
                yield ToolCallEndEvent(tool_call_id=call)
            case ToolWaits():
                self._waiting[happening.call] = happening
            case ToolEnded(text=text, failed=failed):
                self._waiting.pop(happening.call, None)
                yield from self._close_words()
                yield ToolCallResultEvent(
                    message_id=f"{call}.result",
                    tool_call_id=call,
                    content=_utf8(text),
                    role="tool",
                    metadata={"portico": {"failed": failed}},
                )

    def _end(self, ended: RunEnded) -> Iterator[BaseEvent]:
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

    def _unsaid(self, ended: RunEnded) -> Iterator[BaseEvent]:
        """An answer that was not followed live, all of it."""
        if ended.answer and ended.answer.strip() != self._turn.strip():
            yield from self._close_words()
            piece = TextAdded(turn=self._text.turn, attempt=1, offset=0, text=ended.answer)
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

    def _interrupt(self, waits: ToolWaits) -> Interrupt:
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

    def _count(self, ended: TurnEnded) -> None:
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
