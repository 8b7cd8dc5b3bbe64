"""A topic as those of one clearance see it grow: read once, however many follow it."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from portico.engine.core.entry import Aside, Entry, Page
from portico.engine.core.errors import StoreUnavailable, TopicNotFound
from portico.engine.core.ring import Piece, Ring, Stretch
from portico.engine.cursors import Cursors
from portico.engine.ports import Bus, EventLog, Wording
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.events")
_PAGE: Final = 200
_STORE_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds; asked for each time, since they depend on what else there is to do."""

    after: Callable[[int], float]
    """Having told so many, how long to gather news until the next time."""
    look: Callable[[], float]
    """How long without a wake-up until one looks by oneself: it may have been lost."""


class Stirred(Protocol):
    """Whoever wants to know that there is news."""

    def stir(self) -> None: ...


class _Recreated(Exception):
    """The topic was removed and is there again: its numbers have begun anew."""


class Tail:
    def __init__(
        self, reader: Principal, topic: str, log: EventLog, wording: Wording, cursors: Cursors
    ) -> None:
        self.reader = reader
        self.topic = topic
        self.ring: Ring | None = None
        """None until it is known where the topic ends."""
        self.first = 1
        self.broken = False
        self.followers: set[Stirred] = set()
        self._log = log
        self._wording = wording
        self._cursors = cursors
        self._stirring: asyncio.TimerHandle | None = None

    async def run(self, bus: Bus, pace: Pace) -> None:
        """Until cancelled."""
        try:
            with bus.listen(self.reader.space, self.topic) as wakeups:
                while True:
                    told = len(self.followers) if await self._read_on() else 0
                    await asyncio.sleep(pace.after(told))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pace.look()):
                            await wakeups.wait()
        except _Recreated:
            pass
        except Exception:  # noqa: BLE001 # its followers must be told, whatever it was
            _log.exception("a tail of events broke; its followers have to come again")
        finally:
            self.broken = True
            if self._stirring is not None:
                self._stirring.cancel()
            self._stir()

    def say(self, aside: Aside, pace: Pace) -> None:
        if self.ring is None:
            return
        told = self._wording.told(aside)
        self.ring.add(Piece(self.ring.position, None, told))
        if self._stirring is None:
            pause = pace.after(len(self.followers))
            self._stirring = asyncio.get_running_loop().call_later(pause, self._stir)

    async def page(self, after: int) -> tuple[Page, Stretch]:
        """From the log, for a follower that is not within the ring. Raises `TopicNotFound`."""
        page = await self._log.read(self.reader, self.topic, after=after, limit=_PAGE)
        pieces = [self._piece(entry) for entry in page.entries]
        return page, Stretch(pieces, b"".join(piece.marked for piece in pieces), 0)

    async def _read_on(self) -> bool:
        """Whether there was news."""
        try:
            if self.ring is None:
                self.ring = Ring(await self._end())
                self._stir()
            before = self.ring.end
            while await self._read_page(self.ring):
                pass
        except StoreUnavailable:
            await asyncio.sleep(_STORE_PAUSE)
            return False
        return self.ring.end > before

    async def _end(self) -> int:
        try:
            page = await self._log.read(self.reader, self.topic, after=0, limit=0)
        except TopicNotFound:
            return 0
        self.first = page.first
        return page.position

    async def _read_page(self, ring: Ring) -> bool:
        try:
            page = await self._log.read(self.reader, self.topic, after=ring.position, limit=_PAGE)
        except TopicNotFound:
            return False
        if page.position < ring.position:
            raise _Recreated
        self.first = page.first
        for entry in page.entries:
            ring.add(self._piece(entry))
        ring.pass_over(page.position)
        if page.entries:
            self._stir()
        return page.more

    def _piece(self, entry: Entry) -> Piece:
        told = self._wording.told(entry)
        cursor = self._cursors.text({self.topic: entry.number})
        marked = self._wording.marked(cursor, told)
        return Piece(entry.number, entry.type, marked, len(marked) - len(told))

    def _stir(self) -> None:
        self._stirring = None
        for follower in self.followers:
            follower.stir()
