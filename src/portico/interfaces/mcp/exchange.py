"""One POST and its answer: a JSON object if it comes soon and alone, else a stream that ends
with it."""

import asyncio
from typing import Any, Final

from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import ErrorData
from pydantic_core import to_json
from starlette.types import Receive, Send

from portico.interfaces.mcp.conversation import Conversation, Hearing, Note

_SOON: Final = 15.0
"""Seconds without a word after which a stream is begun, or kept from being taken for dead."""
_PING: Final = b": ping\r\n\r\n"
_JSON: Final = [(b"content-type", b"application/json")]
_STREAM: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-transform"),
    (b"x-accel-buffering", b"no"),
]

Message = dict[str, Any]


class Exchange:
    """Waits with its caller. Should the caller go, that is how it says that it wants no more."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._stirred = asyncio.Event()
        self._streaming = False
        self._gone = False

    async def follow(self, conversation: Conversation, hearing: Hearing) -> bool:
        """Until the call is over, or asks something. Whether the caller is still there then; if
        not, the call has been ended."""
        conversation.heard_by(self._stirred.set, hearing)
        leaving = asyncio.create_task(self._until_gone())
        try:
            while not (conversation.over or conversation.questions):
                await self._stir()
                if self._gone:
                    conversation.end()
                    return False
                await self._pass_on(conversation)
            await self._pass_on(conversation)
        except asyncio.CancelledError:
            conversation.end()
            raise
        finally:
            leaving.cancel()
        return True

    async def answer(self, message: Message) -> None:
        """The last word: a result or an error."""
        if self._streaming:
            await self._body(_event(message), more=False)
            return
        body = to_json(message)
        length = (b"content-length", str(len(body)).encode())
        headers = [*_JSON, length]
        await self._send(
            {"type": "http.response.start", "status": _status(message), "headers": headers}
        )
        await self._body(body, more=False)

    async def _stir(self) -> None:
        silence = asyncio.get_running_loop().call_later(_SOON, self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            silence.cancel()
        self._stirred.clear()

    async def _pass_on(self, conversation: Conversation) -> None:
        said = b"".join(map(_note, conversation.notes))
        conversation.notes.clear()
        if not said and (conversation.over or conversation.questions):
            return
        if not self._streaming:
            self._streaming = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await self._body(said or _PING, more=True)

    async def _body(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._stirred.set()


def result_message(request_id: str | int, result: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_message(request_id: str | int, error: ErrorData) -> Message:
    told = error.model_dump(exclude_none=True)
    return {"jsonrpc": "2.0", "id": request_id, "error": told}


def _status(message: Message) -> int:
    error = message.get("error")
    return 200 if error is None else ERROR_CODE_HTTP_STATUS.get(error["code"], 200)


def _note(note: Note) -> bytes:
    method, params = note
    return _event({"jsonrpc": "2.0", "method": method, "params": params})


def _event(message: Message) -> bytes:
    return b"event: message\r\ndata: " + to_json(message) + b"\r\n\r\n"
