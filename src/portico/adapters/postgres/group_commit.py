"""Writes that go together: those that come at the same moment, and those that may come later."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Generic, TypeVar

from portico.engine.core.errors import StoreUnavailable

Item = TypeVar("Item")


class GroupCommit(Generic[Item]):
    """While one lot is written the next gathers, so that each waits for two writes at most."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: list[tuple[Item, asyncio.Future[None]]] = []
        self._turn = asyncio.Lock()

    async def write(self, item: Item) -> None:
        """Written when this returns. Raises what writing raises, in all who went together."""
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (item, arrived)
        self._waiting.append(place)
        try:
            async with self._turn:
                if self._waiting and not arrived.done():
                    # Whoever carries the others may be called off: they must not be.
                    await asyncio.shield(self._go())
            await arrived
        finally:
            if place in self._waiting:  # called off before anybody went
                self._waiting.remove(place)

    async def _go(self) -> None:
        together, self._waiting = self._waiting, []
        try:
            await self._write([item for item, _ in together])
        except BaseException as error:  # noqa: BLE001 # it is raised in whoever waits
            for _, arrived in together:
                if not arrived.done():
                    arrived.set_exception(error)
                    arrived.exception()  # whoever has gone does not hear of it
        else:
            for _, arrived in together:
                if not arrived.done():
                    arrived.set_result(None)


_log: Final = logging.getLogger("portico.postgres")
_PAUSE: Final = 0.2
"""Seconds that something is kept back for at most."""
_AT_ONCE: Final = 200
"""Written at a time; so many are not kept back any longer."""
_TOO_MANY: Final = 10_000
"""That wait for a database which is away: whoever comes then has to be told."""


class WriteBehind(Generic[Item]):
    """`write` is given them in the order in which they came. It raises `StoreUnavailable` if it
    has to be asked again."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[None]], called: str) -> None:
        self._write = write
        self._called = called
        self._waiting: list[Item] = []
        self._turn = asyncio.Lock()
        self._something = asyncio.Event()
        self._enough = asyncio.Event()

    def add(self, item: Item) -> None:
        self._waiting.append(item)
        self._something.set()
        if len(self._waiting) >= _AT_ONCE:
            self._enough.set()

    @property
    def full(self) -> bool:
        return len(self._waiting) >= _TOO_MANY

    async def run(self) -> None:
        """Until it is cancelled; what is kept back by then is still written."""
        try:
            while True:
                await self._something.wait()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE):
                        await self._enough.wait()
                await self._flush_or_say()
        finally:
            await asyncio.shield(self._flush_or_say())

    async def flush(self) -> None:
        """Whatever is kept back is in the database afterwards. Raises `StoreUnavailable`.

        Whoever stops waiting for it does not stop the writing: half of what was written could
        not be told from what was not."""
        if self._waiting:
            await asyncio.shield(self._flush())

    async def _flush(self) -> None:
        async with self._turn:
            while self._waiting:
                together = self._waiting[:_AT_ONCE]
                await self._write(together)
                del self._waiting[: len(together)]
            self._something.clear()
            self._enough.clear()

    async def _flush_or_say(self) -> None:
        try:
            await self.flush()
        except StoreUnavailable:
            self._enough.clear()
            _log.warning("%d %s are not written yet: no database", len(self._waiting), self._called)
