"""Between a client's standard input and output and the server's endpoint over HTTP."""

import asyncio
import base64
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Self

import httpx2

from portico.interfaces.cli.server import NotReached, NotRunning, ours, read_key
from portico.interfaces.cli.services import Whereabouts
from portico.kernel.errors import PorticoError

_LONGEST: Final = 8 * 1024 * 1024
"""Bytes of a line; the server takes half of it."""
_TOO_LONG: Final = b"?"
"""What stands for the beginning of a line that is cut off: no message begins so."""
_PART: Final = 64 * 1024
_AHEAD: Final = 16
"""Lines that are read before they are taken."""


class Link:
    """Our own server is met on its private socket, as by every other command."""

    def __init__(
        self, client: httpx2.AsyncClient, socket: Path | None, missing: PorticoError
    ) -> None:
        self.client = client
        self.missing = missing
        """What to say when it is not there."""
        self._socket = socket

    @classmethod
    @asynccontextmanager
    async def to(
        cls, where: Whereabouts, key_file: Path | None, context: str | None = None
    ) -> AsyncIterator[Self]:
        """Without a key only whether it is ready can be asked. Raises `NoKey`."""
        key = None if key_file is None else read_key(key_file, agent=True)
        url = where.remote or where.server_url
        socket = None if where.remote else where.private_socket
        async with httpx2.AsyncClient(
            base_url=url,
            headers={
                **({} if key is None else {"Authorization": f"Bearer {key}"}),
                **({} if context is None else {"Portico-Context": context}),
            },
            timeout=httpx2.Timeout(None, connect=5),
            limits=httpx2.Limits(max_connections=None),
            trust_env=False,
            transport=None if socket is None else httpx2.AsyncHTTPTransport(uds=str(socket)),
        ) as client:
            yield cls(client, socket, NotReached(url) if where.remote else NotRunning(url))

    @property
    def there(self) -> bool:
        """Whether it may be spoken to: nobody else's socket is shown the key."""
        return self._socket is None or ours(self._socket)

    async def ready(self) -> bool:
        if not self.there:
            return False
        try:
            return (await self.client.get("/readyz", timeout=5)).status_code == 200
        except httpx2.TransportError:
            return False


class PipedOutput:
    """A message a line. Raises `BrokenPipeError` when whoever reads has gone."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __call__(self, message: bytes) -> None:
        self._stream.write(message + b"\n")
        self._stream.flush()


async def lines_of_input(source: int = 0) -> AsyncIterator[bytes]:
    """Until the input ends, whatever it is: a pipe, a file, a terminal. A line that is too long
    comes as something that is no message."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)

    def put(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    # A thread of its own: not every input can be waited for by a loop, and none that waits for it
    # may keep the process from ending.
    threading.Thread(target=_read, args=(source, put), daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def _read(source: int, put: Callable[[bytes | None], None]) -> None:
    unfinished = bytearray()
    with suppress(RuntimeError, CancelledError):  # the loop has ended before the input
        while part := _part(source):
            unfinished += part
            if b"\n" in part:
                *lines, rest = bytes(unfinished).split(b"\n")
                unfinished = bytearray(rest)
                for line in filter(None, map(bytes.strip, lines)):
                    put(line if len(line) <= _LONGEST else _TOO_LONG)
            elif len(unfinished) > _LONGEST:
                unfinished = bytearray(_TOO_LONG)
        if last := bytes(unfinished).strip():
            put(last)
        put(None)


def _part(source: int) -> bytes:
    """Nothing at its end; one that was closed, or whose terminal has gone, has ended too."""
    try:
        return os.read(source, _PART)
    except OSError:
        return b""


async def events(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """What each server-sent event says."""
    data: list[str] = []
    async for line in answer.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            if said := "\n".join(data).strip():
                yield said.encode()
            data = []


# MCP 2026-07-28 repeats parts of a request in HTTP headers; a request on a pipe has them only
# inside.

Wanted = Mapping[tuple[str, ...], str]
"""Where in a tool's arguments a value stands, and in which header it is wanted."""

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_MARK: Final = "=?base64?"


def modern_headers(
    message: Mapping[str, Any], wanted_by: Mapping[str, Wanted]
) -> dict[str, str] | None:
    """None for a message of the handshake era."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return None
    method = str(message.get("method"))
    headers = {"MCP-Protocol-Version": encoded(version), "Mcp-Method": encoded(method)}
    name = params.get(_NAMES.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
        if method == "tools/call":
            headers |= _of_arguments(wanted_by.get(name, {}), params.get("arguments"))
    return headers


def wanted_headers(schema: object) -> Wanted:
    """As the protocol has it: a property, reached through properties alone."""
    return dict(_wanted(schema, ()))


def _wanted(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(schema, dict):
        return
    if isinstance(header := schema.get("x-mcp-header"), str):
        yield path, header
    properties = schema.get("properties")
    if isinstance(properties, dict) and len(path) < 16:
        for name, inner in properties.items():
            yield from _wanted(inner, (*path, name))


def _of_arguments(wanted: Wanted, arguments: object) -> dict[str, str]:
    headers = {}
    for path, name in wanted.items():
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[f"Mcp-Param-{name}"] = encoded(str(value))
    return headers


def encoded(value: str) -> str:
    """Whatever a header cannot carry as it is, is carried in base 64."""
    if (not value or _PLAIN.fullmatch(value)) and not value.startswith(_MARK):
        return value
    return f"{_MARK}{base64.b64encode(value.encode()).decode()}?="


# Both eras of the protocol: each request says which. In the handshake era the proxy keeps the
# session for its client, and opens another when the server has restarted.

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
    wait_timeout: float = _PATIENCE
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
        until = asyncio.get_running_loop().time() + self.wait_timeout
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
