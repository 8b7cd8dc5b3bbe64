"""Tell a text while it is being made: each piece live, and what there is of it into the log."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from portico.engine.core.entry import Aside, NewEntry
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import EventLog
from portico.kernel.clock import Clock
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

TEXT_DELTA: Final = "text.delta"
TEXT_ADDED: Final = "text.added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Which text it is: `part` tells it from the others of its topic, other attempts included."""

    topic: str
    part: str
    topic_label: Label = PUBLIC
    label: Label = PUBLIC


class Telling:
    """A text so far. Offsets count its characters, as Unicode code points."""

    def __init__(self, say: Callable[[int, str], None]) -> None:
        self.over = asyncio.Event()
        self.whole = False
        """It has come to its end, and was not broken off."""
        self._say = say
        self._kept = 0
        self._unkept = ""

    def add(self, piece: str) -> None:
        if piece:
            self._say(self._kept + len(self._unkept), piece)
            self._unkept += piece

    def end(self, *, whole: bool) -> None:
        self.whole = whole
        self.over.set()

    @property
    def unkept(self) -> tuple[int, str]:
        return self._kept, self._unkept

    def keep(self, length: int) -> None:
        self._kept += length
        self._unkept = self._unkept[length:]


@dataclass(frozen=True, slots=True, kw_only=True)
class TellText:
    log: EventLog
    say: Callable[[SpaceId, Aside], None]
    clock: Clock
    every: float = 0.25

    @asynccontextmanager
    async def __call__(self, caller: Principal, text: Text) -> AsyncIterator[Telling]:
        """Whoever comes later, or follows it in another process, has it from the log: what is
        told twice has the same offset. Raises `TopicRefused`, `StoreUnavailable`."""
        telling = Telling(lambda offset, piece: self._said(caller, text, offset, piece))
        keeping = asyncio.create_task(self._keep_on(caller, text, telling))
        try:
            yield telling
        except Exception:
            telling.end(whole=False)
            with suppress(StoreUnavailable):  # what broke it off is the greater news
                await keeping
            raise
        else:
            telling.end(whole=True)
            await keeping
        finally:
            keeping.cancel()

    def _said(self, caller: Principal, text: Text, offset: int, piece: str) -> None:
        aside = Aside(
            topic=text.topic,
            type=TEXT_DELTA,
            at=self.clock.now(),
            by=caller.id,
            label=text.label,
            facts={"part": text.part, "offset": offset, "text": piece},
        )
        self.say(caller.space, aside)

    async def _keep_on(self, caller: Principal, text: Text, telling: Telling) -> None:
        over = False
        while not over:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.every):
                    await telling.over.wait()
            over = telling.over.is_set()
            try:
                await self._keep(caller, text, telling, done=over and telling.whole)
            except StoreUnavailable:
                if over:
                    raise

    async def _keep(self, caller: Principal, text: Text, telling: Telling, *, done: bool) -> None:
        offset, piece = telling.unkept
        if not piece and not done:
            return
        facts: JsonObject = {"part": text.part, "offset": offset, "text": piece, "done": done}
        entry = NewEntry(
            topic=text.topic,
            type=TEXT_ADDED,
            facts=facts,
            topic_label=text.topic_label,
            label=text.label,
        )
        await self.log.append(caller, [entry])
        telling.keep(len(piece))
