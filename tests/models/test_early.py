"""Calls are told at the character that closes them; what was read is held against what was sent."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from portico.agents.core.errors import ModelBroke
from portico.agents.core.model_requests import (
    UNREADABLE,
    Reply,
    ResponseChunk,
    ToolArgumentsChunk,
    ToolCallChunk,
    ToolShown,
)
from tests.adapters.embeddings.serving import serving
from tests.models.doors import Doors, asked, opened

pytestmark = [pytest.mark.process]
LOOK = ToolShown("look", "Look.", {"type": "object"})


class Speaker:
    """Says each of these pieces of arguments, and waits after the first call until it is let."""

    def __init__(self) -> None:
        self.pieces = ['{"at": ', '"re', 'eds}"', "}"]
        self.more = ""
        self.gone = threading.Event()
        self.let = threading.Event()

    async def chat(self, _request: Request) -> StreamingResponse:
        return StreamingResponse(self._lines(), media_type="text/event-stream")

    async def _lines(self) -> AsyncIterator[str]:
        try:
            yield _chunk(_call(0, id="c1", name="look", arguments=""))
            for piece in self.pieces:
                yield _chunk(_call(0, arguments=piece))
            await asyncio.to_thread(self.let.wait, 30)
            if self.more:
                yield _chunk(_call(0, arguments=self.more))
            yield _chunk(_call(1, id="c1", name="look", arguments='{"at": "sky"}'))
            yield _chunk({}, finish_reason="tool_calls")
            yield "data: [DONE]\n\n"
        finally:
            self.gone.set()


def _call(index: int, *, id: str = "", name: str = "", arguments: str) -> dict[str, Any]:  # noqa: A002 # as OpenAI names it
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "function": function}
    return {"tool_calls": [call | ({"id": id, "type": "function"} if id else {})]}


def _chunk(delta: dict[str, Any], **more: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": None} | more
    told = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps(told | {'choices': [choice]})}\n\n"


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


@pytest.fixture
def url(speaker: Speaker) -> Iterator[str]:
    with serving([Route("/v1/chat/completions", speaker.chat, methods=["POST"])]) as url:
        yield url


@pytest.fixture
async def doors(url: str) -> AsyncIterator[Doors]:
    async with opened({"plain": {"kind": "compatible", "url": f"{url}/v1"}}) as doors:
        yield doors


async def test_a_call_is_told_while_its_server_still_waits_to_go_on(
    doors: Doors, speaker: Speaker
) -> None:
    pieces: list[ResponseChunk] = []
    told_first = False
    async with aclosing(doors.models.ask(doors.caller, asked("plain:m", "x", tools=[LOOK]))) as it:
        async for piece in it:
            pieces.append(piece)
            if isinstance(piece, ToolCallChunk):
                told_first = told_first or not speaker.let.is_set()
                speaker.let.set()

    coming = [piece.text for piece in pieces if isinstance(piece, ToolArgumentsChunk)]
    first, second, reply = [each for each in pieces if not isinstance(each, ToolArgumentsChunk)]
    assert told_first
    assert coming == speaker.pieces[:-1]
    assert isinstance(first, ToolCallChunk)
    assert isinstance(second, ToolCallChunk)
    assert isinstance(reply, Reply)
    assert first.call.arguments == {"at": "reeds}"}
    assert reply.calls == (first.call, second.call)
    assert not reply.usage.reported


async def test_two_calls_with_one_id_become_two_calls(doors: Doors, speaker: Speaker) -> None:
    speaker.let.set()
    one, other = (await doors.reply(asked("plain:m", "x", tools=[LOOK]))).calls

    assert one.id == "c1"
    assert other.id not in {"c1", ""}


async def test_a_call_that_goes_on_after_it_was_told_breaks_the_answer(
    doors: Doors, speaker: Speaker
) -> None:
    speaker.more = ', "also": 1}'
    speaker.let.set()
    with pytest.raises(ModelBroke):
        await doors.pieces(asked("plain:m", "x", tools=[LOOK]))


async def test_an_empty_object_may_still_grow(doors: Doors, speaker: Speaker) -> None:
    speaker.pieces = ["{}"]
    speaker.let.set()
    pieces = await doors.pieces(asked("plain:m", "x", tools=[LOOK]))

    told = [piece.call.arguments for piece in pieces if isinstance(piece, ToolCallChunk)]
    assert told == [{}, {"at": "sky"}]


async def test_to_stop_reading_is_to_hang_up(doors: Doors, speaker: Speaker) -> None:
    async with aclosing(doors.models.ask(doors.caller, asked("plain:m", "x", tools=[LOOK]))) as it:
        async for _piece in it:
            break
    speaker.let.set()

    assert await asyncio.to_thread(speaker.gone.wait, 30)


@pytest.mark.parametrize(
    "written", ['{"at": NaN}', r'{"at": "\u0000"}', r'{"at": "\ud800"}', '{"at": ' + "[" * 3000]
)
async def test_arguments_that_nobody_could_keep_are_unreadable_and_told_of_at_the_end(
    doors: Doors, speaker: Speaker, written: str
) -> None:
    speaker.pieces = [written + "]" * written.count("[") + "}" * (written.count("[") > 0)]
    speaker.let.set()
    pieces = await doors.pieces(asked("plain:m", "x", tools=[LOOK]))

    reply = pieces[-1]
    assert isinstance(reply, Reply)
    assert [call.arguments for call in reply.calls] == [
        {UNREADABLE: speaker.pieces[0]},
        {"at": "sky"},
    ]
    told = [piece.call.arguments for piece in pieces if isinstance(piece, ToolCallChunk)]
    assert told == [{"at": "sky"}]


async def test_arguments_without_an_end_break_the_answer(doors: Doors, speaker: Speaker) -> None:
    speaker.pieces = ['{"at": "', *["reeds " * 1000] * 10]
    speaker.let.set()

    with pytest.raises(ModelBroke):
        await doors.pieces(asked("plain:m", "x", tools=[LOOK], most_output=100))


LONG = "heron " * 2_000


@pytest.mark.parametrize(("read", "notes"), [(300, 1), (4_000, 0)])
async def test_a_prompt_of_which_much_was_not_read_is_noted(read: int, notes: int) -> None:
    async def lines() -> AsyncIterator[str]:
        for choices in ([{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}], []):
            usage = {"prompt_tokens": read, "completion_tokens": 2, "total_tokens": read + 2}
            chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            whole = chunk | {"choices": choices, "usage": None if choices else usage}
            yield f"data: {json.dumps(whole)}\n\n"
        yield "data: [DONE]\n\n"

    async def chat(_request: Request) -> StreamingResponse:
        return StreamingResponse(lines(), media_type="text/event-stream")

    with serving([Route("/v1/chat/completions", chat, methods=["POST"])]) as url:
        async with opened({"plain": {"kind": "compatible", "url": f"{url}/v1"}}) as doors:
            reply = await doors.reply(asked("plain:m", LONG))

    assert len(reply.notes) == notes
    assert all("has read 300 tokens" in note for note in reply.notes)
