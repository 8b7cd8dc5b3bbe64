"""What need not be in the database at once: kept back for a moment, written with others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Generic, TypeVar

from portico.engine.core.errors import StoreUnavailable

Item = TypeVar("Item")

_log: Final = logging.getLogger("portico.postgres")
_PAUSE: Final = 0.2
"""Seconds that something is kept back for at most."""
_AT_ONCE: Final = 200
"""Written at a time; so many are not kept back any longer."""
_TOO_MANY: Final = 10_000
"""That wait for a database which is away: whoever comes then has to be told."""


class Behind(Generic[Item]):
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
