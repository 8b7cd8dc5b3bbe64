"""Calls under way that may put a question to their client, and wait for its answer."""

import asyncio
import secrets
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import ErrorData
from pydantic_core import to_json
from starlette.types import Receive, Send

from portico.gateway.core.calls import ClientCapability, Question
from portico.gateway.core.errors import InputUnsupported
from portico.interfaces.mcp.request_context import ElicitationNotFound, TooManyWaiting
from portico.interfaces.mcp.tool_values import Result
from portico.kernel.json import JsonObject

Capabilities = Mapping[str, Any]
"""A client's own words, in the protocol's form."""

_WORDS: Final[Mapping[ClientCapability, str]] = {
    ClientCapability.ELICITATION: "an answer of its user",
    ClientCapability.SAMPLING: "an answer of its model",
    ClientCapability.ROOTS: "its folders",
}
_NAMES: Final[Mapping[ClientCapability, str]] = {
    ClientCapability.ELICITATION: "elicitation",
    ClientCapability.SAMPLING: "sampling",
    ClientCapability.ROOTS: "roots",
}


def able(capabilities: Capabilities) -> frozenset[ClientCapability]:
    return frozenset(
        wanted for wanted, name in _NAMES.items() if isinstance(capabilities.get(name), Mapping)
    )


def missing(error: InputUnsupported) -> dict[str, Any]:
    """What a client would have to be able to do, in the protocol's form."""
    told = error.wanted
    return {
        _NAMES[wanted]: {}
        for wanted in ClientCapability
        if _WORDS[wanted] in told or wanted.value in told
    }


def check(question: Question, capabilities: Capabilities, subject: str) -> None:
    """Raises `InputUnsupported`."""
    unable = question.wanted not in able(capabilities)
    if unable or not _in_this_way(question, capabilities):
        raise InputUnsupported(subject, _WORDS[question.wanted])


def _in_this_way(question: Question, capabilities: Capabilities) -> bool:
    match question.wanted:
        case ClientCapability.ELICITATION:
            can = capabilities["elicitation"]
            if question.params.get("mode") == "url":
                return "url" in can
            return "form" in can or "url" not in can
        case ClientCapability.SAMPLING:
            return not question.params.get("tools") or "tools" in capabilities["sampling"]
        case ClientCapability.ROOTS:
            return True


# Since MCP 2026-07-28 a server does not send requests: it answers a call with its question, and the
# client calls again with the answer. The call to the upstream server waits meanwhile, in this
# process, and belongs to the key that began it.

Note: TypeAlias = tuple[str, dict[str, Any]]
"""A notification: its method, and what it says."""

LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_MOST_NOTES: Final = 256
"""Unsent; a caller that does not read loses the oldest, and progress is told again anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What one request wants to be told while it lasts."""

    progress_token: str | int | None = None
    log_level: str | None = None

    def hears(self, level: object) -> bool:
        if self.log_level not in LEVELS or level not in LEVELS:
            return False
        return LEVELS.index(str(level)) >= LEVELS.index(self.log_level)


NOTHING: Final = Hearing()


@dataclass(slots=True)
class _Asked:
    question: Question
    answer: "asyncio.Future[JsonObject]"


@dataclass(slots=True, eq=False)
class Conversation:
    """The line of one call; whoever serves a request of its caller waits for it to stir."""

    owner: object
    subject: str
    """What is called, for people."""
    same: object
    """Tells this call from another: whoever answers has asked for exactly this."""
    capabilities: Capabilities
    arguments: dict[str, JsonObject] = field(default_factory=dict)
    """Answers that came with the call itself, by the names under which a server asks."""
    hearing: Hearing = NOTHING
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=_MOST_NOTES))
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _task: "asyncio.Task[Result | Exception] | None" = None
    _stir: Callable[[], None] = field(default_factory=lambda: _nothing)

    def start(
        self,
        work: Coroutine[Any, Any, Result],
        start: Callable[[Coroutine[Any, Any, Result | Exception]], "asyncio.Task[Any]"],
    ) -> None:
        self._task = start(_outcome(work))
        self._task.add_done_callback(lambda _: self._stir())

    def heard_by(self, stir: Callable[[], None], hearing: Hearing) -> None:
        self._stir, self.hearing = stir, hearing

    def left_alone(self) -> None:
        """Nobody hears it any more, until somebody comes to answer."""
        self._stir, self.hearing = _nothing, NOTHING
        self.notes.clear()

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @property
    def over(self) -> bool:
        return self._task is not None and self._task.done()

    def result(self) -> Result:
        """Of what is over. Raises what the call raised."""
        if self._task is None:
            raise asyncio.InvalidStateError
        outcome = self._task.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def questions(self) -> Mapping[str, Question]:
        return {key: asked.question for key, asked in self._asked.items()}

    def answer(self, responses: Mapping[str, JsonObject]) -> None:
        """What was not asked is left aside; what is not answered will be asked again."""
        for key, response in responses.items():
            asked = self._asked.pop(key, None)
            if asked is not None and not asked.answer.done():
                asked.answer.set_result(response)

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        return able(self.capabilities)

    @property
    def log_level(self) -> str | None:
        return self.hearing.log_level

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        if self.hearing.progress_token is None:
            return
        told: dict[str, Any] = {"progressToken": self.hearing.progress_token, "progress": done}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message
        self._note("notifications/progress", told)

    async def log(self, params: JsonObject) -> None:
        if self.hearing.hears(params.get("level")):
            self._note("notifications/message", dict(params))

    async def ask(self, question: Question) -> JsonObject:
        check(question, self.capabilities, self.subject)
        if question.key is not None and question.key in self.arguments:
            return self.arguments.pop(question.key)
        key = self._free_key(question)
        asked = _Asked(question, asyncio.get_running_loop().create_future())
        self._asked[key] = asked
        self._stir()
        try:
            return await asked.answer
        finally:
            if self._asked.get(key) is asked:
                del self._asked[key]

    def _free_key(self, question: Question) -> str:
        wished = question.key or "question"
        if question.key is not None and wished not in self._asked:
            return wished
        number = 1
        while f"{wished}-{number}" in self._asked:
            number += 1
        return f"{wished}-{number}"

    def _note(self, method: str, params: dict[str, Any]) -> None:
        self.notes.append((method, params))
        self._stir()


async def _outcome(work: Coroutine[Any, Any, Result]) -> Result | Exception:
    """What it raises is for whoever looks at the result, if anybody does."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 # raised again where it is looked at
        return error


def _nothing() -> None:
    pass


# One POST gets a JSON object if the response comes soon and alone, else a stream that ends with it.

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


_PATIENCE: Final = 300.0
"""Seconds; a person may have to think."""
_MOST: Final = 1_000
_MOST_OF_ONE: Final = 32


@dataclass(slots=True)
class Waiting:
    wait_timeout: float = _PATIENCE
    limit: int = _MOST
    most_of_one: int = _MOST_OF_ONE
    _held: dict[str, tuple[Conversation, asyncio.TimerHandle]] = field(default_factory=dict)
    _of: Counter[object] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, conversation: Conversation) -> str:
        """Gives what its caller has to show. Raises `TooManyWaiting`, and has ended the call."""
        if len(self._held) >= self.limit or self._of[conversation.owner] >= self.most_of_one:
            conversation.end()
            raise TooManyWaiting
        state = secrets.token_urlsafe(32)
        loop = asyncio.get_running_loop()
        self._held[state] = (conversation, loop.call_later(self.wait_timeout, self._expire, state))
        self._of[conversation.owner] += 1
        conversation.left_alone()
        return state

    def take(self, state: str, owner: object, same: object) -> Conversation:
        """Once. Raises `ElicitationNotFound`, also to whoever it does not belong to."""
        held = self._held.get(state)
        if held is None or held[0].owner != owner or held[0].same != same:
            raise ElicitationNotFound
        return self._let_go(state)

    @contextmanager
    def open(self) -> Iterator[None]:
        """At the end nobody can answer any more."""
        try:
            yield
        finally:
            for state in list(self._held):
                self._expire(state)

    def _expire(self, state: str) -> None:
        self._let_go(state).end()

    def _let_go(self, state: str) -> Conversation:
        conversation, timer = self._held.pop(state)
        timer.cancel()
        self._of[conversation.owner] -= 1
        if not self._of[conversation.owner]:
            del self._of[conversation.owner]
        return conversation
