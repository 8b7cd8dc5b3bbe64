"""Models of vendors, by pydantic-ai's model layer. Loaded when a model is first asked."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import ValidationError
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
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
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from portico.adapters.models.connections import (
    Answered,
    CallIds,
    Connection,
    IncomingCall,
    late,
    message_in,
    overflow,
    refusal,
    shown,
    torn,
)
from portico.adapters.models.provider import Provider, ProviderKind
from portico.agents.core.errors import ModelBroke, ModelRefused
from portico.agents.core.model_calls import Sent
from portico.agents.core.model_requests import (
    UNREADABLE,
    AssistantMessage,
    Finish,
    Message,
    ModelAsk,
    ReasoningChunk,
    Reply,
    ResponseChunk,
    TextChunk,
    ToolArgumentsChunk,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.agents.core.tool_calls import read_arguments
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
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
        max_tokens=ask.max_output_tokens, max_retries=0, timeout=ask.timeout.total_seconds()
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
            case UserMessage(text):
                waiting.append(UserPromptPart(content=text))
            case ToolMessage():
                waiting.append(_given(message))
            case AssistantMessage():
                if waiting:
                    made.append(ModelRequest(parts=waiting))
                    waiting = []
                made.append(_said(message, kind))
    made.append(ModelRequest(parts=waiting))
    return made


def _given(gave: ToolMessage) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=gave.name,
        content=gave.text,
        tool_call_id=gave.call,
        outcome="failed" if gave.failed else "success",
    )


def _said(said: AssistantMessage, kind: ProviderKind) -> ModelResponse:
    """As its own server gave it, where that is known and still what was said."""
    match said.provider_data:
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


def _same(back: ModelResponse, said: AssistantMessage) -> bool:
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


CUT_OFF: Final = "Its last call was cut off for want of room, and is left out."


@dataclass(slots=True)
class Incoming:
    ids: CallIds
    limit: int
    """Letters of arguments that are taken in: a server that sends more does not hold to the number
    of tokens that it was asked for."""
    _taken: int = 0
    _calls: dict[int, IncomingCall] = field(default_factory=dict)
    """By their place among the parts of the answer."""

    def pieces(self, event: ModelResponseStreamEvent) -> Iterator[ResponseChunk]:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield TextChunk(text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                yield ReasoningChunk(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield TextChunk(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                yield ReasoningChunk(text)
            case PartStartEvent() | PartDeltaEvent() | PartEndEvent():
                yield from self._call(event)
            case _:
                return

    def _call(
        self, event: PartStartEvent | PartDeltaEvent | PartEndEvent
    ) -> Iterator[ResponseChunk]:
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

    def _added(self, call: IncomingCall, name: str, text: str) -> Iterator[ResponseChunk]:
        """The call, if it is whole with this; else what is new of it."""
        piece = call.add(name=name, text=text)
        if piece is not None:
            yield piece
        elif text:
            yield ToolArgumentsChunk(call.id, text)

    def _text(self, args: object) -> str:
        """Arguments that come as an object are whole when their part ends. Raises
        `UnexpectedModelBehavior`."""
        text = args if isinstance(args, str) else ""
        self._taken += len(text)
        if self._taken > self.limit:
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
            stored=kept_of(ours, kind) if whole else None,
            notes=() if whole else (CUT_OFF,),
        )


def _at_last(call: IncomingCall, part: ToolCallPart) -> ResponseChunk | None:
    """An empty object, or one that came at once; of what is none the end of the answer tells."""
    if call.told is not None:
        return None
    try:
        arguments = arguments_of(part.args)
    except NoArguments:
        return None
    call.told = call.text
    return ToolCallChunk(ToolCall(call.id, part.tool_name, arguments))


def _with_calls(response: ModelResponse, ids: set[str]) -> ModelResponse:
    parts = [
        part
        for part in response.parts
        if not isinstance(part, ToolCallPart) or part.tool_call_id in ids
    ]
    return replace(response, parts=parts)


_NO_KEY: Final = "none"
"""The libraries want one; a server that needs none does not read it."""


def model_of(there: Connection, name: str) -> Model:
    """Nothing of the environment goes with it: only the key that is meant for this provider."""
    if there.provider.kind is ProviderKind.ANTHROPIC:
        anthropic = AsyncAnthropic(
            base_url=there.provider.url,
            api_key=there.key or _NO_KEY,
            http_client=there.client,
            max_retries=0,
        )
        anthropic.auth_token = None
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))
    openai = AsyncOpenAI(
        base_url=there.provider.url,
        api_key=there.key or _NO_KEY,
        http_client=there.client,
        max_retries=0,
    )
    openai.organization = openai.project = None
    match there.provider.kind:
        case ProviderKind.OPENAI:
            known = OpenAIProvider(openai_client=openai)
            return OpenAIChatModel(name, provider=known, profile=_whole)
        case ProviderKind.OPENROUTER:
            router = OpenRouterProvider(openai_client=openai)
            return OpenRouterModel(name, provider=router, profile=_whole)
        case ProviderKind.COMPATIBLE | ProviderKind.OLLAMA:
            other = OpenAICompatibleProvider(there.provider.name, openai_client=openai)
            return OpenAIChatModel(name, provider=other, profile=_plain)


def _whole(known: ModelProfile) -> ModelProfile:
    """An answer that does not say why it ended has broken off."""
    return merge_profile(
        known, OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    )


def _plain(known: ModelProfile) -> ModelProfile:
    """As most servers understand it, not as OpenAI has it by now."""
    return merge_profile(
        known,
        OpenAIModelProfile(
            openai_chat_streaming_requires_finish_reason=True,
            openai_chat_supports_max_completion_tokens=False,
            openai_supports_strict_tool_definition=False,
            supports_json_schema_output=True,
        ),
    )


# Models of vendors and of servers that speak as they do, by pydantic-ai's model layer alone.
#
# Importing this takes seconds, so it is done when a model is first asked.

_LETTERS: Final = 32
"""Of a token, at the very most, over a whole answer."""
_SOME: Final = 10_000


@dataclass(frozen=True, slots=True)
class LayerModels:
    clock: Clock
    entropy: Entropy

    async def ask(self, there: Connection, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        """Raises what `Models.ask` does."""
        time = asyncio.get_running_loop().time
        began, first = time(), None
        until = began + ask.timeout.total_seconds()
        try:
            async with aclosing(self._pieces(there, ask, until)) as pieces:
                async for piece in pieces:
                    first = first or time()
                    yield _timed(piece, began, first, time()) if isinstance(piece, Reply) else piece
        except (ModelAPIError, UnexpectedModelBehavior, UserError) as error:
            raise self._told(there.provider, ask, error, begun=first is not None) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise torn(there.provider, str(ask.model), error, begun=first is not None) from error
        except TimeoutError as error:
            raise late(str(ask.model), ask.timeout) from error

    async def _pieces(
        self, there: Connection, ask: ModelAsk, until: float
    ) -> AsyncGenerator[ResponseChunk, None]:
        kind = there.provider.kind
        ids = CallIds.after(ask.messages, self.entropy)
        incoming = Incoming(ids, ask.max_output_tokens * _LETTERS + _SOME)
        stream = model_of(there, ask.model.name).request_stream(
            history(ask.messages, kind), settings(ask), parameters(ask)
        )
        async with AsyncExitStack() as open_:
            async with asyncio.timeout_at(until):
                answer = await open_.enter_async_context(stream)
            async with aclosing(_events(answer, until)) as events:
                async for event in events:
                    for piece in incoming.pieces(event):
                        yield piece
            reply = incoming.reply(answer.get(), kind)
        yield _held_against(ask, reply)

    def _told(
        self, provider: Provider, ask: ModelAsk, error: Exception, *, begun: bool
    ) -> PorticoError:
        model = str(ask.model)
        match error:
            case ModelContextWindowExceededError():
                return overflow(model, _said_layer(error.body))
            case ModelQuotaExceededError():
                return ModelRefused(model, "it is not paid for.", fix="See its account.")
            case ModelHTTPError():
                answered = Answered(
                    status=error.status_code,
                    said=_said_layer(error.body),
                    headers=error.headers or {},
                    at=self.clock.now(),
                )
                return refusal(provider, model, answered)
            case ModelConnectionError():
                return torn(provider, model, error, begun=begun)
            case UserError():
                return ModelRefused(model, f"{shown(str(error))}.")
            case _:
                return ModelBroke(model, "what came is no answer, or ended in the middle of one.")


async def _events(
    answer: StreamedResponse, until: float
) -> AsyncGenerator[ModelResponseStreamEvent, None]:
    """Raises `TimeoutError`."""
    events = aiter(answer)
    while True:
        async with asyncio.timeout_at(until):
            event = await anext(events, None)
        if event is None:
            return
        yield event


def _held_against(ask: ModelAsk, reply: Reply) -> Reply:
    """Some servers leave out the middle of what is too long for them, and say nothing but the
    number of tokens that they have read. Others do not count what they knew already."""
    sent, read = Sent(all=ask.prompt_tokens, largest=ask.prompt_tokens), reply.usage.input
    if not reply.usage.reported or read >= sent.fewest:
        return reply
    note = (
        f"Its server says that it has read {read:,} tokens of about {sent.all:,}: it may not have "
        "read all of it."
    )
    return replace(reply, notes=(*reply.notes, note))


def _timed(reply: Reply, began: float, first: float, ended: float) -> Reply:
    return replace(
        reply,
        first_piece=timedelta(seconds=first - began),
        took=timedelta(seconds=ended - began),
    )


def _said_layer(body: object) -> str:
    match body:
        case str():
            return body
        case dict():
            return message_in(body) or message_in({"error": body})
        case _:
            return ""
