"""One stream each way, on which requests are told apart by their numbers: stdio, and SSE of old."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol

from portico.adapters.mcp import wire
from portico.adapters.mcp.wire import CANCELLED, MOST_OPEN, PROGRESS, Asked, Broken, Message, Spoilt

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
    asked: Asked
    letters: deque[Message | Broken] = field(default_factory=deque)
    answered: bool = False
    over: bool = False
    """Whether its last letter has come."""
    waiting: asyncio.Future[None] | None = None
    asking: asyncio.Future[Message | None] | None = None

    def put(self, letter: Message | Broken) -> None:
        self.letters.append(letter)
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)
        if isinstance(letter, Broken) or "method" not in letter:
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
        """Raises `Broken`."""
        if not self.letters:
            self.waiting = asyncio.get_running_loop().create_future()
            await self.waiting
        letter = self.letters.popleft()
        if isinstance(letter, Broken):
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

    async def ask(self, asked: Asked) -> Message:
        while not self._carrier.ready and self._over is None:  # others waited for the same room
            await self._carrier.wait()
        if self._over is not None:
            raise Broken(self._over, reached=False)
        number = next(self._numbers)
        data = wire.written(wire.request(number, asked))
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
                return wire.result_of(letter)
            if pending.asked.hear is not None:
                answer = await self._replied(pending, pending.asked.hear, letter)
                if answer is not None:
                    self.tell(answer)

    async def _replied(self, pending: _Pending, hear: wire.Hear, letter: Message) -> Message | None:
        """A person may think for minutes. Once what they are asked for is over, nobody waits for
        them any more. What is left to do for whoever is not asked any more goes on by itself, and
        is not cancelled again with the caller."""
        if not wire.asks_somebody(letter):
            return await hear(letter)
        if pending.over:
            return wire.nobody_there(letter)
        asking = pending.asking = asyncio.ensure_future(hear(letter))
        self._askings.add(asking)
        asking.add_done_callback(self._asked)
        try:
            await asyncio.wait([asking])
        finally:
            pending.asking = None
            asking.cancel()
        return wire.nobody_there(letter) if asking.cancelled() else asking.result()

    def _asked(self, asking: "asyncio.Future[Message | None]") -> None:
        self._askings.discard(asking)
        if not asking.cancelled():
            asking.exception()  # the caller has it, or has left

    def _give_up(self, number: int, asked: Asked) -> None:
        """Without waiting: whoever is cancelled may wait for nothing any more."""
        if asked.may_cancel:
            if len(self._ghosts) < _MOST_GHOSTS:
                self._ghosts.add(number)
            self.tell(wire.notification(CANCELLED, {"requestId": number}))

    def tell(self, message: Message) -> None:
        if self._over is None:
            self._carrier.tell(wire.written(message))

    def deliver(self, asked: Asked, stray: Message) -> None:
        for pending in self._pending.values():
            if pending.asked is asked and not pending.over and len(pending.letters) < MOST_OPEN:
                pending.put(stray)
                return
        if "id" in stray:
            self.tell(wire.nobody_there(stray))

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        self.ended = _unheard
        self.end("it was ended")
        await self._carrier.close()

    def heard(self, message: Message) -> bool:
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
            pending.put(Spoilt(reason))
        return pending is not None

    def _called(self, message: Message) -> bool:
        if message["method"] == PROGRESS and "id" not in message:
            pending = self._pending.get(_number(wire.params_of(message).get("progressToken")))
            if pending is not None and pending.asked.hear is not None:
                pending.put_progress(message)
            return False
        self.stray(message)
        return False

    def end(self, reason: str) -> None:
        """There is no more to come: everybody who waits is told."""
        if self._over is None:
            self._over = reason
            for pending in self._pending.values():
                pending.put(Broken(reason))
            self.ended(reason)


def _number(written: object) -> object:
    """Some servers give numbers back as texts."""
    if isinstance(written, str):
        with suppress(ValueError):
            return int(written)
    return None if isinstance(written, bool | list | dict) else written
