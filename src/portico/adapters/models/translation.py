"""Our messages as pydantic-ai's, and its answers as ours. Loaded when a model is first asked."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from portico.adapters.models.provider import ProviderKind
from portico.agents.core.model_requests import (
    UNREADABLE,
    Finish,
    Message,
    ModelAsk,
    ModelSaid,
    ToolCall,
    ToolGave,
    Usage,
    UserSaid,
)
from portico.agents.core.tool_calls import read_arguments
from portico.kernel.json import JsonObject, JsonValue

_FINISHES: Final = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "tool_call": Finish.CALLS,
}
assert "failed" in ERROR_OUTCOMES  # noqa: S101 # what tells a model's server that a tool failed


class NoArguments(ValueError):
    """What a call was to be given is no JSON object."""


def parameters(ask: ModelAsk) -> ModelRequestParameters:
    form = ask.schema
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.schema),
                strict=False,
            )
            for tool in ask.tools
        ],
        output_mode="text" if form is None else "native",
        output_object=None
        if form is None
        else OutputObjectDefinition(json_schema=dict(form), name="answer"),
        allow_text_output=form is None,
        instruction_parts=[InstructionPart(content=ask.instructions)] if ask.instructions else None,
    )


def settings(ask: ModelAsk) -> ModelSettings:
    """One question is one try: whoever asks decides about more."""
    made = ModelSettings(
        max_tokens=ask.most_output, max_retries=0, timeout=ask.timeout.total_seconds()
    )
    if ask.temperature is not None:
        made["temperature"] = ask.temperature
    return made


def history(messages: Sequence[Message], kind: ProviderKind) -> list[ModelMessage]:
    """What people and tools said between two words of the model is one request."""
    made: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = []
    for message in messages:
        match message:
            case UserSaid(text):
                waiting.append(UserPromptPart(content=text))
            case ToolGave():
                waiting.append(_given(message))
            case ModelSaid():
                if waiting:
                    made.append(ModelRequest(parts=waiting))
                    waiting = []
                made.append(_said(message, kind))
    made.append(ModelRequest(parts=waiting))
    return made


def _given(gave: ToolGave) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=gave.name,
        content=gave.text,
        tool_call_id=gave.call,
        outcome="failed" if gave.failed else "success",
    )


def _said(said: ModelSaid, kind: ProviderKind) -> ModelResponse:
    """As its own server gave it, where that is known and still what was said."""
    match said.kept:
        case {"by": str(by), "response": response} if by == kind:
            back = _kept_response(response)
            if back is not None and _same(back, said):
                return back
    parts: list[ModelResponsePart] = [TextPart(content=said.text)] if said.text else []
    parts += [
        ToolCallPart(tool_name=call.name, args=json.dumps(call.arguments), tool_call_id=call.id)
        for call in said.calls
    ]
    return ModelResponse(parts=parts)


def _kept_response(response: object) -> ModelResponse | None:
    try:
        [back] = ModelMessagesTypeAdapter.validate_python([response])
    except ValidationError:  # of another version of the library
        return None
    return back if isinstance(back, ModelResponse) else None


def _same(back: ModelResponse, said: ModelSaid) -> bool:
    calls = [part.tool_call_id for part in back.parts if isinstance(part, ToolCallPart)]
    return text_of(back.parts) == said.text and calls == [call.id for call in said.calls]


def kept_of(response: ModelResponse, kind: ProviderKind) -> JsonValue:
    """What the server wants back with it: thoughts that it has signed, and the like."""
    if not any(_signed(part) for part in response.parts):
        return None
    [told] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return {"by": kind.value, "response": told}


def _signed(part: ModelResponsePart) -> bool:
    match part:
        case ThinkingPart():
            return bool(part.signature or part.provider_details)
        case TextPart() | ToolCallPart():
            return bool(part.provider_details)
        case _:
            return False


def text_of(parts: Iterable[ModelResponsePart]) -> str:
    return "".join(part.content for part in parts if isinstance(part, TextPart))


def thought_of(parts: Iterable[ModelResponsePart]) -> str:
    return "".join(part.content for part in parts if isinstance(part, ThinkingPart))


def with_ids(response: ModelResponse, ids: Sequence[str]) -> ModelResponse:
    """Its calls by the ids that we know them by."""
    given = iter(ids)
    parts = [
        replace(part, tool_call_id=next(given)) if isinstance(part, ToolCallPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def calls_of(parts: Iterable[ModelResponsePart]) -> Iterator[ToolCall]:
    for part in parts:
        if isinstance(part, ToolCallPart):
            try:
                arguments = arguments_of(part.args)
            except NoArguments:
                arguments = {UNREADABLE: str(part.args)}
            yield ToolCall(part.tool_call_id, part.tool_name, arguments)


def arguments_of(args: object) -> JsonObject:
    """Raises `NoArguments`."""
    if args is None or args == "":
        return {}
    found = read_arguments(args if isinstance(args, str) else json.dumps(args))
    if found is None:
        raise NoArguments
    return found


def usage_of(response: ModelResponse) -> Usage:
    told = response.usage
    reported = not told.unmeasured_requests and bool(told.input_tokens or told.output_tokens)
    return Usage(
        input=told.input_tokens,
        output=told.output_tokens,
        cached=told.cache_read_tokens,
        reported=reported,
    )


def finish_of(response: ModelResponse) -> Finish:
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        return Finish.CALLS
    return _FINISHES.get(response.finish_reason or "", Finish.OTHER)
