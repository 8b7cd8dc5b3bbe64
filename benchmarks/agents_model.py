"""The model of `just bench agents`: a server of OpenAI's protocol that plays scripts.

It says each piece when its script says so, and keeps account of every question: whose run, which
turn, when it came and when the answer was out. In the fewest words that the protocol has, so that
what is measured is whoever asks it.

    python -m benchmarks.agents_model PORT [LEDGER]
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.agents_scripts import Json, Place, Script, Timed, Turn, place_of, played, seen_in

MODEL: Final = "scripted"
WINDOW: Final = 128_000
_ENDS: Final = b"\r\n\r\n"
_CHUNKED: Final = b"Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n"
_LARGEST: Final = 2**24


@dataclass(slots=True, kw_only=True)
class Asked:
    """One question, by the clock that all processes of a machine share."""

    script: str
    run: str
    turn: int
    came: float
    said: float | None = None
    """When the first piece was out."""
    over: float | None = None
    """When the last one was; None where the asker hung up before."""


@dataclass(slots=True)
class Stage:
    scripts: dict[str, Script] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    ledger: int | None = None
    """A file that has a line for each question and each answer, should we be killed."""

    def note(self, what: str, asked: Asked) -> None:
        if self.ledger is not None:
            line = {"what": what, "run": asked.run, "turn": asked.turn, "at": time.monotonic()}
            os.write(self.ledger, json.dumps(line).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Connection:
    """One client, a request after the other."""

    stage: Stage
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def attend(self) -> None:
        try:
            while head := await self._head():
                await self._answer(head)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writer.close()

    async def _head(self) -> bytes:
        try:
            return await self.reader.readuntil(_ENDS)
        except asyncio.IncompleteReadError:
            return b""

    async def _answer(self, head: bytes) -> None:
        came = time.monotonic()
        method, path, _ = head.decode("latin-1").split(" ", 2)
        body = await self.reader.readexactly(_length(head))
        sent = json.loads(body) if body else {}
        match method, path.partition("?")[0]:
            case "POST", "/v1/chat/completions":
                await self._chat(sent, len(body), came)
            case "GET", "/v1/models":
                listed = {"id": MODEL, "object": "model", "max_model_len": WINDOW}
                self._say(200, {"object": "list", "data": [listed]})
            case "PUT", "/scripts":
                script = Script.from_json(sent)
                self.stage.scripts[script.name] = script
                self._say(200, {})
            case "GET", "/asked":
                self._say(200, {"asked": [asdict(each) for each in self.stage.asked]})
            case "DELETE", "/asked":
                self.stage.asked.clear()
                self._say(200, {})
            case _:
                self._say(404, _error(f"There is no {method} {path} here."))
        await self.writer.drain()

    async def _chat(self, sent: Json, size: int, came: float) -> None:
        place = place_of(sent["messages"])
        script = self.stage.scripts.get(place.script) if place else None
        if place is None or script is None or place.turn > len(script.turns):
            self._say(400, _error("There is no script for this, or it has no such turn."))
            return
        asked = Asked(script=script.name, run=place.run, turn=place.turn, came=came)
        self.stage.asked.append(asked)
        self.stage.note("asked", asked)
        tools = [each["function"]["name"] for each in sent.get("tools", ())]
        turn = script.turns[place.turn - 1]
        usage = {"prompt_tokens": size // 4, "completion_tokens": turn.pieces}
        usage["total_tokens"] = sum(usage.values())
        pieces = played(turn, place, tools, _words(script, place, turn))
        if sent.get("stream"):
            await self._stream(asked, turn, pieces, usage)
        else:
            await self._whole(asked, turn, pieces, usage)

    async def _stream(self, asked: Asked, turn: Turn, pieces: Iterable[Timed], usage: Json) -> None:
        self.writer.write(b"HTTP/1.1 200 OK\r\n" + _CHUNKED + b"\r\n")
        async for delta in _in_time(pieces, asked.came):
            self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            await self.writer.drain()
            asked.said = asked.said or time.monotonic()
        await _until(asked.came + turn.seconds)
        reason = "tool_calls" if turn.calls else "stop"
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self._event({"choices": [], "usage": usage})
        self._chunk(b"data: [DONE]\n\n")
        asked.over = time.monotonic()
        self.stage.note("answered", asked)
        self.writer.write(b"0\r\n\r\n")

    async def _whole(self, asked: Asked, turn: Turn, pieces: Iterable[Timed], usage: Json) -> None:
        text = ""
        calls: dict[int, Json] = {}
        for _, delta in pieces:
            text += delta.get("content") or ""
            for part in delta.get("tool_calls", ()):
                call = calls.setdefault(part["index"], part)
                if call is not part:
                    call["function"]["arguments"] += part["function"]["arguments"]
        await _until(asked.came + turn.seconds)
        message = {"role": "assistant", "content": text, "tool_calls": list(calls.values()) or None}
        reason = "tool_calls" if calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        asked.said = asked.over = time.monotonic()
        self.stage.note("answered", asked)
        self._say(200, {**_head_of("chat.completion"), "choices": [choice], "usage": usage})

    def _event(self, facts: Json) -> None:
        whole = {**_head_of("chat.completion.chunk"), **facts}
        self._chunk(b"data: " + json.dumps(whole).encode() + b"\n\n")

    def _chunk(self, content: bytes) -> None:
        self.writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    def _say(self, status: int, facts: Json) -> None:
        content = json.dumps(facts).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)


def _words(script: Script, place: Place, turn: Turn) -> str:
    if place.turn == len(script.turns):
        return script.answer(place.run, seen_in(script, place.heard))
    return " ".join(f"word{number}" for number in range(turn.pieces))


async def _in_time(pieces: Iterable[Timed], came: float) -> AsyncIterator[Json]:
    for at, delta in pieces:
        await _until(came + at)
        yield delta


async def _until(at: float) -> None:
    if (left := at - time.monotonic()) > 0:
        await asyncio.sleep(left)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _head_of(kind: str) -> Json:
    return {"id": "said", "object": kind, "created": int(time.time()), "model": MODEL}


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


async def main(arguments: Sequence[str]) -> None:
    stage = Stage()
    if len(arguments) > 1:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        stage.ledger = os.open(Path(arguments[1]), flags, 0o600)

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Connection(stage, reader, writer).attend()

    server = await asyncio.start_server(attend, "127.0.0.1", int(arguments[0]), limit=_LARGEST)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
