"""An answer of Ollama while it comes in, line by line."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import ValidationError

from portico.adapters.models.failures import overflow, too_long
from portico.adapters.models.incoming import CallIds
from portico.adapters.models.ollama_wire import Chunk
from portico.agents.core.errors import ModelBroke
from portico.agents.core.model_requests import (
    UNREADABLE,
    CallPiece,
    Finish,
    Piece,
    Reply,
    TextPiece,
    ThoughtPiece,
    ToolCall,
    Usage,
)
from portico.agents.core.tool_calls import read_arguments


@dataclass(slots=True)
class OllamaAnswer:
    """What has come in so far."""

    ids: CallIds
    began: float
    first: float | None = None
    last: Chunk | None = None
    text: str = ""
    thought: str = ""
    calls: list[ToolCall] = field(default_factory=list)

    def pieces(self, chunk: Chunk) -> list[Piece]:
        words, made = chunk.message, list[Piece]()
        if words.thinking:
            self.thought += words.thinking
            made.append(ThoughtPiece(words.thinking))
        if words.content:
            self.text += words.content
            made.append(TextPiece(words.content))
        for wanted in words.tool_calls or ():
            written = json.dumps(wanted.function.arguments)
            arguments = read_arguments(written)
            if arguments is None:
                arguments = {UNREADABLE: written}
            call = ToolCall(self.ids.given(wanted.id), wanted.function.name, arguments)
            self.calls.append(call)
            made.append(CallPiece(call))
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
            first_piece=None if self.first is None else timedelta(seconds=self.first - self.began),
            took=timedelta(seconds=now() - self.began),
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
