"""Agents and debates as models of OpenAI's chat completions: any program that can chat can talk to
them."""

import hashlib
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from starlette.responses import JSONResponse, Response

from portico.interfaces.http.agent_run_use_cases import Runs
from portico.interfaces.http.chat_bodies import ChatIn, preset_named
from portico.interfaces.http.chat_chunks import ChatChunks, failed, failure_told
from portico.interfaces.http.chat_reply import ChatReply
from portico.interfaces.http.debate_chat import debate_reply
from portico.interfaces.http.debate_use_cases import Debates
from portico.interfaces.http.line import line_of
from portico.interfaces.http.openai_errors import failure_response, said
from portico.interfaces.http.sse import MEDIA_TYPE
from portico.interfaces.http.talk_stream import Listening, TalkStream, collected
from portico.interfaces.http.use_cases import Use

RUN: Final = "Portico-Run"
"""The header that says which run answers."""
_CHUNKS: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

_Key = Annotated[str | None, Header(min_length=1, max_length=255, pattern=r"^[\x21-\x7e]+$")]
_Repeats = Annotated[str | None, Header(alias="x-stainless-retry-count", max_length=20)]

router = APIRouter(prefix="/v1", tags=["chat"])


@router.post(
    "/chat/completions",
    name="complete_chat",
    response_class=JSONResponse,
    responses={
        **said(404, 429),
        200: {"description": "An answer; with `stream` in chunks.", "content": _CHUNKS},
        502: {"description": "The agent's run failed."},
    },
)
async def complete_chat(  # noqa: PLR0913 # FastAPI's way to be handed them
    request: Request,
    use: Use,
    listener: Listening,
    body: ChatIn,
    *,
    runs: Runs,
    debates: Debates,
    idempotency_key: _Key = None,
    repeats: _Repeats = None,
) -> Response:
    """Ask an agent something. Its tools are shown as `reasoning_content`; where people have to
    approve one, the answer says so and goes on when they have. Or ask several voices at once: what
    each of them says is shown so, and the answer tells how likely it is and who dissents."""
    key = None if idempotency_key is None else _digest(idempotency_key)
    again = repeats not in {None, "0"}
    if (preset := preset_named(body.model)) is not None:
        wish = body.debate_wish(preset, key)
        debate = await debates.ask_in_chat(listener.caller, wish, again=again)
        return await debate_reply(debates, listener, debate, body, line_of(request.scope))
    question = body.question(again=again, key=key)
    taken = await runs.take_question(listener.caller, question)
    reply = ChatReply(taken=taken, base_url=use.base_url)
    chunks = ChatChunks(reply, body.model, body.with_usage)
    told = runs.follow_run(listener.caller, taken.run)
    patience = runs.chat_patience.total_seconds()
    if body.stream:
        stream = TalkStream(listener, told, chunks, patience=patience)
        stream.headers[RUN] = str(taken.run)
        return stream
    error = await collected(told, chunks, patience=patience, line=line_of(request.scope))
    if error is not None:
        raise error
    if (ended := failed(reply)) is not None:
        return failure_response(ended.error_code or "agent_run_failed", failure_told(ended))
    return JSONResponse(chunks.whole(), headers={RUN: str(taken.run)})


def _digest(key: str) -> str:
    return f"sent-{hashlib.sha256(key.encode()).hexdigest()}"
