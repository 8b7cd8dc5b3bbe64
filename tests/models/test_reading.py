"""What a server says it has read is held against what was sent to it."""

import json
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.adapters.embeddings.serving import serving
from tests.models.doors import asked, opened

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]

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
