"""Transports to upstream servers: JSON-RPC, one message a line, one stream each way."""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from json import JSONDecoder, JSONEncoder
from typing import Any, Final, Protocol, TypeAlias

from portico.gateway.core.calls import ClientCapability
from portico.kernel.json import NotCanonical

# A way to a server and what travels on it: JSON-RPC, with as little ado as can be.
#
# The SDK would check each answer against its models, twice, on its way through memory streams and
# tasks. A gateway passes answers on; who asked checks them. So messages stay what they are here:
# dictionaries, as they came.

Message: TypeAlias = dict[str, Any]
"""One message, or a part of one; what is in it is for whoever takes it out to doubt."""

Hear: TypeAlias = Callable[[Message], Awaitable[Message | None]]
"""Told what a server says in the course of a request; gives the reply if it was a question."""

PROGRESS: Final = "notifications/progress"
CANCELLED: Final = "notifications/cancelled"
LOG: Final = "notifications/message"
MOST_OPEN: Final = 64
"""Questions, and other words of a server, that one request may have open."""
_NOBODY: Final = -32000
_OF_CALLERS: Final = frozenset({ClientCapability.ELICITATION, ClientCapability.SAMPLING})


class TransportFailed(Exception):
    """The way ended, or there never was one."""

    def __init__(self, reason: str, *, reached: bool = True, fix: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reached = reached
        """Whether what was sent last may have arrived."""
        self.fix = fix
        self.login: str | None = None
        """What it says to whoever it does not know, if that is why."""

    @property
    def final(self) -> bool:
        """Whether there is no way any more."""
        return True


class InvalidMessage(TransportFailed):
    """Only this one answer is none, or is too much; the way is as good as it was."""

    @property
    def final(self) -> bool:
        return False


class TooDeep(ValueError):
    """A message that nobody could pass on: what is nested so deeply cannot be written again."""

    def __init__(self, number: object) -> None:
        super().__init__("its answer is nested too deeply")
        self.number = number
        """Of the request that it seems to answer, if that can be known."""


class Overloaded(Exception):
    """It, or the way to it, has too much to do just now."""


class Refusal(Exception):
    """The server's own answer, if it is an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request of ours, until it is answered."""

    method: str
    params: Message
    receive: Hear | None = None
    progress: bool = False
    """Whether to be told how far it is."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Only over HTTP."""
    may_cancel: bool = True


class Wire(Protocol):
    """Requests go out, and are answered in any order; what belongs to none of them is a stray."""

    stray: Callable[[Message], None]
    ended: Callable[[str], None]
    """Told why, if it ends by itself."""
    version: str | None
    """What was agreed upon, once it is."""
    silence: float
    """Seconds after which one that has said nothing to the first question may not know it."""

    @property
    def over(self) -> str | None:
        """Why it ended, if it did."""
        ...

    @property
    def process(self) -> int | None: ...

    @property
    def words(self) -> int | None:
        """How many messages have come from it, where that says whether it is still there."""
        ...

    @property
    def abandoned(self) -> bool:
        """Whether something was given up on that the server may still be at."""
        ...

    async def ask(self, asked: PendingRequest) -> Message:
        """Its result. Raises `Refusal`, `TransportFailed`, `Overloaded`."""
        ...

    def tell(self, message: Message) -> None:
        """A notification, or a reply; there is no answer to it."""
        ...

    def deliver(self, asked: PendingRequest, stray: Message) -> None:
        """A question that belongs to a request: it is heard there, and the reply sent."""
        ...

    async def settle(self) -> None:
        """Once both sides have greeted."""
        ...

    async def close(self) -> None:
        """In bounded time, whatever the server does."""
        ...


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")


_ENCODER: Final = JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)
_DECODER: Final = JSONDecoder(parse_constant=lambda _: None)
"""What is no number in JSON becomes null, as it does in JavaScript."""
_HALF: Final = re.compile(r"[\ud800-\udfff]")
_NUMBER: Final = re.compile(r'"id"\s*:\s*(\d{1,15})\b')
_END: Final = 200
_DEEPEST: Final = 200


def written(message: Message) -> bytes:
    """Raises `NotCanonical`."""
    try:
        return _ENCODER.encode(message).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotCanonical(f"What is sent is not JSON: {error}.") from error


def read(text: bytes | str) -> Message:
    """Raises `ValueError` for what is no message, `TooDeep` if it may be one."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    try:
        found = _DECODER.decode(text)
    except RecursionError as error:
        raise TooDeep(number_in(text[:_END], text[-_END:])) from error
    if not isinstance(found, dict) or not isinstance(found.get("method", ""), str):
        raise ValueError("not a message")  # noqa: TRY004 # a fault of the other side, not of ours
    if text.count("[") + text.count("{") > _DEEPEST and _too_deep(found):
        raise TooDeep(None if "method" in found else found.get("id"))
    return _whole(found) if "\\u" in text and ("\\ud" in text or "\\uD" in text) else found


def number_in(begin: str, end: str) -> int | None:
    """Whose answer something is that could not be read is mostly said at one of its ends."""
    found = _NUMBER.search(begin) or _NUMBER.search(end)
    return None if found is None else int(found[1])


def request(number: int, asked: PendingRequest) -> Message:
    params = asked.params
    if asked.progress:
        params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
    made = {"jsonrpc": "2.0", "id": number, "method": asked.method}
    if params:
        made["params"] = params
    return made


def notification(method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {})


def reply(to: Message, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": to["id"], "result": result}


def objection(to: Message, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": to["id"], "error": {"code": code, "message": message}}


def asks_somebody(message: Message) -> bool:
    """A question to a caller, or to their model: the answer may take as long as people take."""
    return "id" in message and message["method"] in _OF_CALLERS


def nobody_there(to: Message) -> Message:
    """The answer to a question that nobody has room for."""
    return objection(to, _NOBODY, "Nobody can be asked this now")


def result_of(message: Message) -> Message:
    """Raises `Refusal`, and for what is no answer at all `InvalidMessage`."""
    error = message.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        number = code if isinstance(code, int) else 0
        raise Refusal(number, str(error.get("message", "")), error.get("data"))
    result = message.get("result")
    if not isinstance(result, dict):
        raise InvalidMessage("what it answered is neither a result nor an error")
    return result


def params_of(message: Message) -> Message:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _too_deep(found: Message) -> bool:
    level: list[Any] = [found]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _whole(value: Any) -> Any:  # noqa: ANN401 # any JSON
    """Without halves of letters, which no UTF-8 can hold."""
    match value:
        case str():
            return _HALF.sub("\ufffd", value)
        case dict():
            return {_whole(name): _whole(item) for name, item in value.items()}
        case list():
            return [_whole(item) for item in value]
        case _:
            return value


_ENDS: Final = 200
_TOO_MUCH: Final = 8
"""So many times too long, a line is taken to have no end."""


class Endless(Exception):
    """A line without an end."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """What is known of a line that was not kept: how it began, and how it ended."""

    start: bytes
    end: bytes


class Lines:
    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in it, without their ends. Raises `Endless`."""
        first, *others = data.split(b"\n")
        self._keep(first)
        for piece in others:
            line = self._line()
            self._keep(piece)
            yield line

    def _line(self) -> bytes | TooLong:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return TooLong(pieces[0], pieces[-1])
        return b"".join(pieces)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > _TOO_MUCH * self._longest:
            raise Endless
        if self._size > self._longest:
            whole = b"".join([*self._pieces, piece])
            self._pieces = [whole[:_ENDS], whole[-_ENDS:]]
        else:
            self._pieces.append(piece)


_MOST_GHOSTS: Final = 1_000


class Carrier(Protocol):
    """Takes what is written to the other side, in its order."""

    @property
    def process(self) -> int | None: ...

    @property
    def ready(self) -> bool:
        """Whether it has taken up what it was given before."""
        ...

    async def wait(self) -> None:
        """Until it is ready."""
        ...

    def send(self, data: bytes) -> None:
        """Once it is ready."""
        ...

    def tell(self, data: bytes) -> None:
        """At any time; where there is no room for it, it is left out."""
        ...

    async def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class _Pending:
    asked: PendingRequest
    letters: deque[Message | TransportFailed] = field(default_factory=deque)
    answered: bool = False
    over: bool = False
    """Whether its last letter has come."""
    waiting: asyncio.Future[None] | None = None
    asking: asyncio.Future[Message | None] | None = None

    def put(self, letter: Message | TransportFailed) -> None:
        self.letters.append(letter)
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)
        if isinstance(letter, TransportFailed) or "method" not in letter:
            self.over = True
            if self.asking is not None:
                self.asking.cancel()

    def put_progress(self, letter: Message) -> None:
        """How far it is now; how far it was before is of no interest to anybody."""
        last = self.letters[-1] if self.letters else None
        if isinstance(last, dict) and last.get("method") == PROGRESS:
            self.letters[-1] = letter
        else:
            self.put(letter)

    async def take(self) -> Message:
        """Raises `TransportFailed`."""
        if not self.letters:
            self.waiting = asyncio.get_running_loop().create_future()
            await self.waiting
        letter = self.letters.popleft()
        if isinstance(letter, TransportFailed):
            self.answered = True
            raise letter
        self.answered = "method" not in letter
        return letter


def _unheard(_: object) -> None:
    pass


class Duplex:
    version: str | None = None
    silence = 5.0

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._numbers = count(1)
        self._pending: dict[object, _Pending] = {}
        self._ghosts: set[object] = set()
        self._askings: set[asyncio.Future[Message | None]] = set()
        self._over: str | None = None
        self._words = 0
        self.stray: Callable[[Message], None] = _unheard
        self.ended: Callable[[str], None] = _unheard

    @property
    def over(self) -> str | None:
        return self._over

    @property
    def process(self) -> int | None:
        return self._carrier.process

    @property
    def words(self) -> int | None:
        return self._words

    @property
    def abandoned(self) -> bool:
        return bool(self._ghosts)

    async def ask(self, asked: PendingRequest) -> Message:
        while not self._carrier.ready and self._over is None:  # others waited for the same room
            await self._carrier.wait()
        if self._over is not None:
            raise TransportFailed(self._over, reached=False)
        number = next(self._numbers)
        data = written(request(number, asked))
        pending = self._pending[number] = _Pending(asked)
        self._carrier.send(data)
        try:
            return await self._answered(pending)
        finally:
            del self._pending[number]
            if not (pending.answered or pending.over):
                self._give_up(number, asked)

    async def _answered(self, pending: _Pending) -> Message:
        while True:
            letter = await pending.take()
            if pending.answered:
                return result_of(letter)
            if pending.asked.receive is not None:
                answer = await self._replied(pending, pending.asked.receive, letter)
                if answer is not None:
                    self.tell(answer)

    async def _replied(self, pending: _Pending, hear: Hear, letter: Message) -> Message | None:
        """A person may think for minutes. Once what they are asked for is over, nobody waits for
        them any more. What is left to do for whoever is not asked any more goes on by itself, and
        is not cancelled again with the caller."""
        if not asks_somebody(letter):
            return await hear(letter)
        if pending.over:
            return nobody_there(letter)
        asking = pending.asking = asyncio.ensure_future(hear(letter))
        self._askings.add(asking)
        asking.add_done_callback(self._asked)
        try:
            await asyncio.wait([asking])
        finally:
            pending.asking = None
            asking.cancel()
        return nobody_there(letter) if asking.cancelled() else asking.result()

    def _asked(self, asking: "asyncio.Future[Message | None]") -> None:
        self._askings.discard(asking)
        if not asking.cancelled():
            asking.exception()  # the caller has it, or has left

    def _give_up(self, number: int, asked: PendingRequest) -> None:
        """Without waiting: whoever is cancelled may wait for nothing any more."""
        if asked.may_cancel:
            if len(self._ghosts) < _MOST_GHOSTS:
                self._ghosts.add(number)
            self.tell(notification(CANCELLED, {"requestId": number}))

    def tell(self, message: Message) -> None:
        if self._over is None:
            self._carrier.tell(written(message))

    def deliver(self, asked: PendingRequest, stray: Message) -> None:
        for pending in self._pending.values():
            if pending.asked is asked and not pending.over and len(pending.letters) < MOST_OPEN:
                pending.put(stray)
                return
        if "id" in stray:
            self.tell(nobody_there(stray))

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        self.ended = _unheard
        self.end("it was ended")
        await self._carrier.close()

    def received(self, message: Message) -> bool:
        """False if nobody had asked for it."""
        self._words += 1
        if "method" in message:
            return self._called(message)
        number = _number(message.get("id"))
        pending = self._pending.get(number)
        if pending is not None:
            pending.put(message)
            return True
        self._ghosts.discard(number)
        return False

    def spoil(self, number: object, reason: str) -> bool:
        """False if it is the answer to nothing that anybody waits for."""
        pending = self._pending.get(_number(number))
        if pending is not None:
            pending.put(InvalidMessage(reason))
        return pending is not None

    def _called(self, message: Message) -> bool:
        if message["method"] == PROGRESS and "id" not in message:
            pending = self._pending.get(_number(params_of(message).get("progressToken")))
            if pending is not None and pending.asked.receive is not None:
                pending.put_progress(message)
            return False
        self.stray(message)
        return False

    def end(self, reason: str) -> None:
        """There is no more to come: everybody who waits is told."""
        if self._over is None:
            self._over = reason
            for pending in self._pending.values():
                pending.put(TransportFailed(reason))
            self.ended(reason)


def _number(written: object) -> object:
    """Some servers give numbers back as texts."""
    if isinstance(written, str):
        with suppress(ValueError):
            return int(written)
    return None if isinstance(written, bool | list | dict) else written
