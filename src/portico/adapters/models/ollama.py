"""Ollama by its own protocol: its context length can be set only there."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Annotated, Final, TypeVar

import httpx2
from pydantic import BaseModel, Field, ValidationError
from pydantic import JsonValue as WireJson

from portico.adapters.models.connections import (
    Answered,
    CallIds,
    Connection,
    late,
    message_in,
    overflow,
    refusal,
    too_long,
    torn,
    why,
)
from portico.agents.core.errors import ModelBroke, ModelOverflow, ModelTruncated, ModelUnavailable
from portico.agents.core.model_calls import (
    Reading,
    ReportedTokens,
    Sent,
    more_room,
    reading,
    wanted_room,
)
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
    ToolCall,
    ToolCallChunk,
    ToolMessage,
    Usage,
    UserMessage,
)
from portico.agents.core.tool_calls import read_arguments
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonObject
from portico.sandbox.core.errors import AddressRefused

_FINISHES: Final = {"stop": Finish.STOP, "length": Finish.LENGTH}


class _Function(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, WireJson] = Field(default_factory=dict)


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Words(BaseModel):
    content: str = ""
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class Chunk(BaseModel):
    model: str = ""
    message: _Words = Field(default_factory=_Words)
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str | None = None

    @property
    def finish(self) -> Finish:
        return _FINISHES.get(self.done_reason or "stop", Finish.OTHER)


class Shown(BaseModel):
    """What `/api/show` says of a model."""

    capabilities: list[str] | None = None
    """Not told by servers before 0.6.4."""
    model_info: dict[str, WireJson] = Field(default_factory=dict)
    template: str = ""
    remote_host: str | None = None
    """Where a model of a cloud really runs."""

    @property
    def window(self) -> int | None:
        """What it was trained for; how much of that it is given is for whoever asks."""
        found = (
            value for name, value in self.model_info.items() if name.endswith(".context_length")
        )
        return next((value for value in found if isinstance(value, int) and value > 0), None)

    def can(self, what: str) -> bool | None:
        """None if nobody says."""
        if self.capabilities is not None:
            return what in self.capabilities
        if what == "tools" and self.template:
            return ".Tools" in self.template
        return None


class Tag(BaseModel):
    name: Annotated[str, Field(min_length=1)]


class Tags(BaseModel):
    models: list[Tag] = Field(default_factory=list)


class Version(BaseModel):
    version: str = ""

    @property
    def counts_cached(self) -> bool:
        """Before 0.4 what it still knew of the last prompt was not counted as read."""
        parts = self.version.split(".")
        try:
            return not parts[0] or (int(parts[0]), int(parts[1])) >= (0, 4)
        except (IndexError, ValueError):
            return True


def chat(ask: ModelAsk, *, room: int, thinks: bool) -> Mapping[str, object]:
    options: dict[str, object] = {"num_ctx": room, "num_predict": ask.max_output_tokens}
    if ask.temperature is not None:
        options["temperature"] = ask.temperature
    body: dict[str, object] = {
        "model": ask.model.name,
        "messages": [*_spoken(ask.instructions, ask.messages)],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": options,
    }
    if ask.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in ask.tools
        ]
    if ask.schema is not None:
        body["format"] = ask.schema
    return body | ({"think": False} if thinks else {})


def _spoken(instructions: str, messages: Sequence[Message]) -> Iterator[JsonObject]:
    if instructions:
        yield {"role": "system", "content": instructions}
    for message in messages:
        match message:
            case UserMessage(text):
                yield {"role": "user", "content": text}
            case AssistantMessage(text, calls):
                wanted: list[JsonObject] = [
                    {"function": {"name": call.name, "arguments": call.arguments}} for call in calls
                ]
                yield {"role": "assistant", "content": text} | (
                    {"tool_calls": wanted} if wanted else {}
                )
            case ToolMessage():
                yield {"role": "tool", "content": message.text, "tool_name": message.name}


# What an Ollama server says of itself and of a model, remembered for a while.

_GOOD_FOR: Final = timedelta(minutes=5)
_PATIENCE: Final = 10.0

Wire = TypeVar("Wire", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    limit: int | None = None
    """Tokens that the model can have at most, by itself and by what the settings say."""
    thinks: bool = False
    counts_cached: bool = True


@dataclass(frozen=True, slots=True)
class OllamaDetails:
    _known: dict[tuple[str, str], tuple[float, Facts]] = field(default_factory=dict)

    async def of(self, there: Connection, model: str) -> Facts:
        """Whatever it does not say is taken as unknown: to ask the model itself will tell."""
        place, now = (there.provider.url, model), asyncio.get_running_loop().time()
        at, known = self._known.get(place, (0.0, None))
        if known is not None and now - at < _GOOD_FOR.total_seconds():
            return known
        shown = await show(there, model)
        version = await _answer(there, "GET", "/api/version", Version)
        window = None if shown is None else shown.window
        facts = Facts(
            limit=min(filter(None, (window, there.provider.window)), default=None),
            thinks=shown is not None and shown.can("thinking") is True,
            counts_cached=version is None or version.counts_cached,
        )
        if shown is not None:
            self._known[place] = (now, facts)
        return facts


async def show(there: Connection, model: str) -> Shown | None:
    return await _answer(there, "POST", "/api/show", Shown, {"model": model})


async def _answer(
    there: Connection, method: str, path: str, wire: type[Wire], body: dict[str, str] | None = None
) -> Wire | None:
    try:
        answer = await there.client.request(
            method,
            f"{there.provider.url}{path}",
            json=body,
            headers=there.authorization,
            timeout=_PATIENCE,
        )
        if answer.status_code != httpx2.codes.OK:
            return None
        return wire.model_validate_json(answer.content)
    except (httpx2.HTTPError, AddressRefused, ValidationError):
        return None


@dataclass(slots=True)
class OllamaAnswer:
    """What has come in so far."""

    ids: CallIds
    started: float
    first: float | None = None
    last: Chunk | None = None
    text: str = ""
    thought: str = ""
    calls: list[ToolCall] = field(default_factory=list)

    def pieces(self, chunk: Chunk) -> list[ResponseChunk]:
        words, made = chunk.message, list[ResponseChunk]()
        if words.thinking:
            self.thought += words.thinking
            made.append(ReasoningChunk(words.thinking))
        if words.content:
            self.text += words.content
            made.append(TextChunk(words.content))
        for wanted in words.tool_calls or ():
            written = json.dumps(wanted.function.arguments)
            arguments = read_arguments(written)
            if arguments is None:
                arguments = {UNREADABLE: written}
            call = ToolCall(self.ids.given(wanted.id), wanted.function.name, arguments)
            self.calls.append(call)
            made.append(ToolCallChunk(call))
        if made and self.first is None:
            self.first = now()
        if chunk.done:
            self.last = chunk
        return made

    def reply(self, last: Chunk, notes: tuple[str, ...]) -> Reply:
        read, written = last.prompt_eval_count or 0, last.eval_count or 0
        return Reply(
            text=self.text,
            calls=tuple(self.calls),
            thought=self.thought,
            usage=Usage(input=read, output=written, reported=bool(read and written)),
            finish=Finish.CALLS if self.calls else last.finish,
            model=last.model,
            first_piece=None
            if self.first is None
            else timedelta(seconds=self.first - self.started),
            took=timedelta(seconds=now() - self.started),
            notes=notes,
        )


async def lines_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Only `\\n` ends one: what else some take for a line's end may stand in the words."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    yield rest


async def next_chunk(lines: AsyncIterator[bytes], model: str, until: float) -> Chunk | None:
    """Raises `ModelBroke`, `ModelOverflow`, `TimeoutError`."""
    async with asyncio.timeout_at(until):
        line = await anext(lines, None)
    while line is not None and not line.strip():
        async with asyncio.timeout_at(until):
            line = await anext(lines, None)
    if line is None:
        return None
    try:
        chunk = Chunk.model_validate_json(line)
    except ValidationError as error:
        raise ModelBroke(model, "a line of it is not what Ollama says.") from error
    if chunk.error is not None:
        raise (
            overflow(model, chunk.error)
            if too_long(chunk.error)
            else ModelBroke(model, "its server gave up in the middle of it.")
        )
    return chunk


def now() -> float:
    return asyncio.get_running_loop().time()


NOT_COUNTED: Final = (
    "Its server does not say how much of the prompt it has read, so nobody can tell whether it was "
    "all of it."
)
_CONNECT: Final = 10.0
_PLAIN: Final = 10
"""A text is plain if it has ten letters for each byte that is beyond ASCII."""


@dataclass(frozen=True, slots=True)
class OllamaModels:
    details: OllamaDetails
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy
    _rooms: dict[tuple[str, str], int] = field(default_factory=dict)
    """What a model was given last, by its server and name: with less it would be loaded anew."""

    async def ask(self, there: Connection, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        """Raises what `Models.ask` does."""
        until = asyncio.get_running_loop().time() + ask.timeout.total_seconds()
        facts = await self.details.of(there, ask.model.name)
        room: int | None = self._room(there, ask, facts)
        begun = False
        while room is not None:
            round_, room = _Round(facts, room, until), None
            try:
                async with aclosing(self._pieces(there, ask, round_)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
            except ModelOverflow:
                # It may only have been given too little for what it counts otherwise than we do.
                room = more_room(
                    round_.room, _roughly(ask), ask.max_output_tokens, limit=facts.limit
                )
                if room is None or begun:
                    raise
                self._rooms[_place(there, ask)] = room

    def _room(self, there: Connection, ask: ModelAsk, facts: Facts) -> int:
        """Raises `ModelOverflow`."""
        sent = _roughly(ask)
        if facts.limit is not None and sent.fewest > facts.limit:
            raise ModelOverflow(
                str(ask.model),
                f"about {sent.all:,} tokens, and it has room for {facts.limit:,}.",
                fix="Say it in fewer words, or choose a model with a larger window.",
            )
        wanted = max(
            wanted_room(sent, ask.max_output_tokens, limit=facts.limit),
            min(ask.window or 0, facts.limit or ask.window or 0),
        )
        room = max(wanted, self._rooms.get(_place(there, ask), 0))
        self._rooms[_place(there, ask)] = room
        return room

    async def _pieces(
        self, there: Connection, ask: ModelAsk, round_: "_Round"
    ) -> AsyncGenerator[ResponseChunk, None]:
        answer = OllamaAnswer(CallIds.after(ask.messages, self.entropy), now())
        model = str(ask.model)
        try:
            async with self._asked(there, ask, round_) as lines:
                while (chunk := await next_chunk(lines, model, round_.until)) is not None:
                    for piece in answer.pieces(chunk):
                        yield piece
                    if chunk.done:
                        break
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise torn(there.provider, model, error, begun=answer.first is not None) from error
        except AddressRefused as error:
            raise ModelUnavailable(model, f"{why(error)}.", fix=error.fix) from error
        except TimeoutError as error:
            raise late(model, ask.timeout) from error
        last = answer.last
        if last is None:
            raise ModelBroke(model, "it ended without saying that it had.")
        yield answer.reply(last, self._notes(there, ask, round_, last))

    @asynccontextmanager
    async def _asked(
        self, there: Connection, ask: ModelAsk, round_: "_Round"
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Its answer, line by line. Raises what `Models.ask` does, and `httpx2.HTTPError`."""
        request = there.client.build_request(
            "POST",
            f"{there.provider.url}/api/chat",
            json=chat(ask, room=round_.room, thinks=round_.facts.thinks),
            headers=there.authorization,
            timeout=httpx2.Timeout(ask.timeout.total_seconds(), connect=_CONNECT),
        )
        async with asyncio.timeout_at(round_.until):
            response = await there.client.send(request, stream=True)
        try:
            if response.status_code != httpx2.codes.OK:
                async with asyncio.timeout_at(round_.until):
                    await response.aread()
                raise self._refusal(there, ask, response)
            yield lines_of(response.aiter_bytes())
        finally:
            await response.aclose()

    def _refusal(self, there: Connection, ask: ModelAsk, response: httpx2.Response) -> Exception:
        said, model = _said(response), str(ask.model)
        if too_long(said):
            return overflow(model, said)
        answered = Answered(
            status=response.status_code,
            said=said,
            headers={name.lower(): value for name, value in response.headers.items()},
            at=self.clock.now(),
        )
        return refusal(there.provider, model, answered)

    def _notes(
        self, there: Connection, ask: ModelAsk, round_: "_Round", last: Chunk
    ) -> tuple[str, ...]:
        """Raises `ModelTruncated`."""
        sent = _roughly(ask)
        if sent.at_most > round_.room:
            sent = replace(sent, largest=self._largest(ask))
        told = ReportedTokens(
            read=last.prompt_eval_count,
            written=last.eval_count or 0,
            room=round_.room,
            counts_cached=round_.facts.counts_cached,
        )
        match reading(sent, told):
            case Reading.WHOLE:
                return ()
            case Reading.UNKNOWN:
                return (NOT_COUNTED,)
            case Reading.CUT:
                limit = round_.facts.limit
                larger = more_room(round_.room, sent, ask.max_output_tokens, limit=limit)
                self._rooms[_place(there, ask)] = larger or round_.room
                raise ModelTruncated(
                    str(ask.model),
                    sent.all,
                    last.prompt_eval_count or 0,
                    fix="Ask again: it will be given more room."
                    if larger
                    else "Say it in fewer words, choose a model with a larger window, or bring "
                    "Ollama up to date: newer ones say so before they answer.",
                )

    def _largest(self, ask: ModelAsk) -> int:
        shown = "".join(
            f"{tool.name}{tool.description}{json.dumps(tool.schema)}" for tool in ask.tools
        )
        return max(
            (self.tokenizer.count(text) for text in [ask.instructions + shown, *_texts(ask)]),
            default=0,
        )


@dataclass(frozen=True, slots=True)
class _Round:
    facts: Facts
    room: int
    until: float


def _said(response: httpx2.Response) -> str:
    try:
        return message_in(response.json())
    except ValueError:
        return response.text[:500]


def _texts(ask: ModelAsk) -> list[str]:
    """Of each message, its calls included."""
    return [
        message.text + json.dumps([call.arguments for call in message.calls])
        if isinstance(message, AssistantMessage)
        else message.text
        for message in ask.messages
    ]


def _roughly(ask: ModelAsk) -> Sent:
    """As if it were one piece."""
    texts = [ask.instructions, *_texts(ask)]
    letters = sum(map(len, texts))
    others = sum(len(text.encode(errors="replace")) for text in texts) - letters
    return Sent(
        all=ask.prompt_tokens,
        largest=ask.prompt_tokens,
        plain=others * _PLAIN <= letters,
    )


def _place(there: Connection, ask: ModelAsk) -> tuple[str, str]:
    return there.provider.url, ask.model.name
