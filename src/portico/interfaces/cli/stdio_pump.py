"""Carries messages of the protocol between a client's pipes and the running server.

Both eras: what stands in a request decides. In the handshake era the pump keeps the session for
its client, and opens another unseen when the server has restarted.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from portico.interfaces.cli.stdio_headers import Wanted, modern_headers, wanted_headers
from portico.interfaces.cli.stdio_link import Link, events
from portico.kernel.errors import PorticoError

_PATIENCE: Final = 10.0
"""Seconds that a request waits for a server that is not there, or not there again yet."""
_LAST: Final = 1.0
"""Seconds that answers may still take once nothing more is asked."""
_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_AT_ONCE: Final = 256
_BOTH: Final = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
_PARSE_ERROR: Final = -32700
_REFUSED: Final = -32010
_UNAVAILABLE: Final = -32013
_LISTS: Final = ("tools", "resources", "prompts")

Message = dict[str, Any]


class _NotThere(Exception):
    """Nothing was sent: there is nobody to send it to."""


class _SessionLost(Exception):
    """The server does not know the session any more."""


@dataclass(slots=True)
class Pump:
    link: Link
    path: str
    write: Callable[[bytes], None]
    say: Callable[[str], None]
    patience: float = _PATIENCE
    _group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _under_way: dict[object, "asyncio.Task[None]"] = field(default_factory=dict)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _greeting: Message | None = None
    """The client's `initialize`, to be said again to a server that has restarted."""
    _session: Mapping[str, str] = field(default_factory=dict)
    """Headers of the handshake era."""
    _greeting_again: asyncio.Lock = field(default_factory=asyncio.Lock)
    _hearing: "asyncio.Task[None] | None" = None
    _wanted_by: dict[str, Wanted] = field(default_factory=dict)

    async def run(self, lines: AsyncIterator[bytes]) -> None:
        """Until the input ends, or nobody reads the output."""
        with suppress(BrokenPipeError):
            try:
                async with self._group:
                    async for line in lines:
                        await self._take(line)
                    if self._under_way:
                        await asyncio.wait(self._under_way.values(), timeout=_LAST)
                    for task in [*self._under_way.values(), *filter(None, [self._hearing])]:
                        task.cancel()
            except* BrokenPipeError:
                pass
        await self._say_goodbye()

    async def _take(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            self._fail(None, _PARSE_ERROR, "What came is not one JSON text of at most 8 MB.")
            return
        for message in said if isinstance(said, list) else [said]:
            if isinstance(message, dict):
                await self._route(message)

    async def _route(self, message: Message) -> None:
        method, modern = message.get("method"), modern_headers(message, self._wanted_by)
        if method == "initialize" and "id" in message:
            await self._request(message, None)
        elif method is not None and "id" in message:
            await self._room.acquire()
            task = self._group.create_task(self._request(message, modern))
            self._under_way[message["id"]] = task
            task.add_done_callback(lambda _: self._done(message["id"], task))
        elif method == "notifications/cancelled" and not self._session:
            if (task_of := self._under_way.get(_cancelled(message))) is not None:
                task_of.cancel()  # in the later era that is said by hanging up
        elif self._session:
            with suppress(PorticoError, httpx2.TransportError, ValueError):
                await self._carried(message, None)
            if method == "notifications/initialized" and self._hearing is None:
                self._hearing = self._group.create_task(self._hear())

    def _done(self, name: object, task: "asyncio.Task[None]") -> None:
        self._room.release()
        if self._under_way.get(name) is task:
            del self._under_way[name]

    async def _request(self, message: Message, modern: Mapping[str, str] | None) -> None:
        name = message["id"]
        try:
            answered = await self._carried(message, modern)
        except PorticoError as error:
            self.say(f"{error} {error.fix or ''}".strip())
            self._fail(name, _UNAVAILABLE, f"{error} {error.fix or ''}".strip())
        except (httpx2.TransportError, ValueError):  # what came is no JSON, or only half of it
            self._fail(name, _UNAVAILABLE, "The connection broke off; it may have been done.")
        else:
            if not answered:
                self._fail(name, _UNAVAILABLE, "The answer broke off; it may have been done.")

    async def _carried(self, message: Message, modern: Mapping[str, str] | None) -> bool:
        """Whether it was answered. Raises `NotRunning`, `NotReached`."""
        until = asyncio.get_running_loop().time() + self.patience
        lost = None
        while True:
            try:
                if lost is not None:
                    await self._greet_again(lost)
                lost = self._session
                return await self._post(message, modern or self._session)
            except (_NotThere, _SessionLost) as error:
                lost = lost if isinstance(error, _SessionLost) else None
                if asyncio.get_running_loop().time() > until:
                    raise self.link.missing from error
            await asyncio.sleep(_PAUSE if lost is None else 0)

    async def _post(self, message: Message, headers: Mapping[str, str]) -> bool:
        if not self.link.there:
            raise _NotThere
        sent = {**_BOTH, **headers}
        try:
            async with self.link.client.stream(
                "POST", self.path, content=json.dumps(message), headers=sent
            ) as answer:
                if answer.status_code == 404 and "Mcp-Session-Id" in headers:
                    raise _SessionLost
                if message.get("method") == "initialize" and answer.status_code == 200:
                    self._greeting = message
                    self._session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
                return await self._answered(message, answer)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise _NotThere from error

    async def _answered(self, message: Message, answer: httpx2.Response) -> bool:
        kind = answer.headers.get("content-type", "")
        done = False
        if kind.startswith("text/event-stream"):
            async for said in events(answer):
                done = self._pass_on(message, json.loads(said)) or done
        elif kind.startswith("application/json") and answer.status_code != 202:
            heard = json.loads(await answer.aread())
            nameless = answer.status_code >= 400 and heard.get("id") is None
            done = self._pass_on(message, {**heard, "id": message.get("id")} if nameless else heard)
        elif answer.status_code >= 400 and "id" in message:
            self._fail(message["id"], _REFUSED, _problem(answer, await answer.aread()))
            done = True
        return done or "id" not in message

    def _pass_on(self, message: Message, heard: Message) -> bool:
        """Whether it was the answer to `message`."""
        answers = heard.get("id") == message.get("id") and "method" not in heard
        if answers:
            self._learn(message, heard.get("result") or {})
        if not (answers and message is self._greeting and self._greeting_again.locked()):
            self.write(json.dumps(heard, ensure_ascii=False).encode())
        return answers

    def _learn(self, message: Message, result: Message) -> None:
        if message.get("method") == "initialize":
            version = str(result.get("protocolVersion"))
            self._session = {**self._session, "MCP-Protocol-Version": version}
        elif message.get("method") == "tools/list":
            for tool in result.get("tools", ()):
                if wanted := wanted_headers(tool.get("inputSchema")):
                    self._wanted_by[tool["name"]] = wanted

    async def _greet_again(self, lost: Mapping[str, str]) -> None:
        """A new session in the place of a lost one; what the client has listed may be old."""
        async with self._greeting_again:
            if self._session is not lost or self._greeting is None:
                return
            self.say("The server has restarted; its client has a new session.")
            await self._post(self._greeting, {})
            await self._post(
                {"jsonrpc": "2.0", "method": "notifications/initialized"}, self._session
            )
        for each in _LISTS:
            changed = {"jsonrpc": "2.0", "method": f"notifications/{each}/list_changed"}
            self.write(json.dumps(changed).encode())

    async def _hear(self) -> None:
        """What the server says unasked, for as long as there is a session."""
        pause = _PAUSE
        while True:
            session = self._session
            headers = {"Accept": "text/event-stream", **session}
            with suppress(httpx2.TransportError, _NotThere):
                async with self.link.client.stream("GET", self.path, headers=headers) as answer:
                    if answer.status_code == 200:
                        pause = _PAUSE
                        async for said in events(answer):
                            self.write(said)
                    elif answer.status_code == 404:
                        with suppress(_SessionLost):
                            await self._greet_again(session)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _say_goodbye(self) -> None:
        if self._session and self.link.there:
            with suppress(httpx2.TransportError):
                await self.link.client.delete(self.path, headers=dict(self._session), timeout=2)

    def _fail(self, name: object, code: int, text: str) -> None:
        error = {"code": code, "message": text}
        self.write(json.dumps({"jsonrpc": "2.0", "id": name, "error": error}).encode())


def _cancelled(message: Message) -> object:
    params = message.get("params")
    name = params.get("requestId") if isinstance(params, dict) else None
    return name if isinstance(name, str | int) else None


def _problem(answer: httpx2.Response, body: bytes) -> str:
    """In the server's own words, if it has any."""
    try:
        told = json.loads(body)
        return f"{told['detail']} {told.get('fix') or ''}".strip()
    except (ValueError, KeyError, TypeError):
        return f"The server answered {answer.status_code}."
