"""The parts of an answer as pydantic-ai gives them, turned into pieces while they come in."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from portico.adapters.models.incoming import CallIds, IncomingCall
from portico.adapters.models.provider import ProviderKind
from portico.adapters.models.translation import (
    NoArguments,
    arguments_of,
    calls_of,
    finish_of,
    kept_of,
    text_of,
    thought_of,
    usage_of,
    with_ids,
)
from portico.agents.core.model_requests import (
    ArgumentsPiece,
    CallPiece,
    Finish,
    Piece,
    Reply,
    TextPiece,
    ThoughtPiece,
    ToolCall,
)

CUT_OFF: Final = "Its last call was cut off for want of room, and is left out."


@dataclass(slots=True)
class Incoming:
    ids: CallIds
    most: int
    """Letters of arguments that are taken in: a server that sends more does not hold to the number
    of tokens that it was asked for."""
    _taken: int = 0
    _calls: dict[int, IncomingCall] = field(default_factory=dict)
    """By their place among the parts of the answer."""

    def pieces(self, event: ModelResponseStreamEvent) -> Iterator[Piece]:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield TextPiece(text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                yield ThoughtPiece(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield TextPiece(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                yield ThoughtPiece(text)
            case PartStartEvent() | PartDeltaEvent() | PartEndEvent():
                yield from self._call(event)
            case _:
                return

    def _call(self, event: PartStartEvent | PartDeltaEvent | PartEndEvent) -> Iterator[Piece]:
        """Raises `UnexpectedModelBehavior`."""
        match event:
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                call = self._calls[index] = IncomingCall(self.ids.given(part.tool_call_id))
                yield from self._added(call, part.tool_name, self._text(part.args))
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                name, text = delta.tool_name_delta or "", self._text(delta.args_delta)
                yield from self._added(self._calls[index], name, text)
            case PartEndEvent(index=index, part=ToolCallPart() as part):
                piece = _at_last(self._calls[index], part)
                if piece is not None:
                    yield piece
            case _:
                return

    def _added(self, call: IncomingCall, name: str, text: str) -> Iterator[Piece]:
        """The call, if it is whole with this; else what is new of it."""
        piece = call.add(name=name, text=text)
        if piece is not None:
            yield piece
        elif text:
            yield ArgumentsPiece(call.id, text)

    def _text(self, args: object) -> str:
        """Arguments that come as an object are whole when their part ends. Raises
        `UnexpectedModelBehavior`."""
        text = args if isinstance(args, str) else ""
        self._taken += len(text)
        if self._taken > self.most:
            raise UnexpectedModelBehavior("It writes more than it was asked for.")
        return text

    def reply(self, response: ModelResponse, kind: ProviderKind) -> Reply:
        """Raises `UnexpectedModelBehavior`."""
        calls = [call for _, call in sorted(self._calls.items())]
        if response.finish_reason is None:
            raise UnexpectedModelBehavior("It does not say why it ended.")
        if any(call.changed for call in calls):
            raise UnexpectedModelBehavior("A call went on after it had ended.")
        ours, whole = with_ids(response, [call.id for call in calls]), True
        if response.finish_reason == "length":
            told = {call.id for call in calls if call.told is not None}
            whole = len(told) == len(calls)
            ours = _with_calls(ours, told)
        return Reply(
            text=text_of(ours.parts),
            calls=tuple(calls_of(ours.parts)),
            thought=thought_of(ours.parts),
            usage=usage_of(ours),
            finish=finish_of(ours) if whole else Finish.LENGTH,
            model=ours.model_name or "",
            took=timedelta(0),
            kept=kept_of(ours, kind) if whole else None,
            notes=() if whole else (CUT_OFF,),
        )


def _at_last(call: IncomingCall, part: ToolCallPart) -> Piece | None:
    """An empty object, or one that came at once; of what is none the end of the answer tells."""
    if call.told is not None:
        return None
    try:
        arguments = arguments_of(part.args)
    except NoArguments:
        return None
    call.told = call.text
    return CallPiece(ToolCall(call.id, part.tool_name, arguments))


def _with_calls(response: ModelResponse, ids: set[str]) -> ModelResponse:
    parts = [
        part
        for part in response.parts
        if not isinstance(part, ToolCallPart) or part.tool_call_id in ids
    ]
    return replace(response, parts=parts)
