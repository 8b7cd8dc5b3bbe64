"""Writing down what was noted, again and again, and losing nothing."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.tool import ToolRef
from portico.gateway.habits import Habits
from portico.gateway.kept_written import keep_written
from portico.kernel.principal import Principal
from portico.testing.calls import MemoryAcquaintances
from portico.testing.kernel import TickingClock
from tests.gateway.open_room import ANA, READ, OpenRoom

EVERY = timedelta(milliseconds=1)


@dataclass
class Book:
    noted: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False

    async def write_down(self) -> None:
        taken, self.noted = self.noted, []
        self.begun.set()
        if self.away:
            raise StoreUnavailable("gone")
        self.written += taken


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_is_noted_when_it_ends_is_still_written() -> None:
    book = Book()
    task = asyncio.create_task(keep_written(EVERY, book.write_down))
    await book.begun.wait()

    book.noted.append("last")
    await ended(task)

    assert book.written == ["last"]


async def test_the_last_writing_may_be_another() -> None:
    often, last = Book(noted=["one"]), Book(noted=["two"])
    task = asyncio.create_task(keep_written(EVERY, often.write_down, last.write_down))
    await often.begun.wait()

    await ended(task)

    assert (often.written, last.written) == (["one"], ["two"])


async def test_a_store_that_is_away_at_the_end_is_nobodys_error() -> None:
    book = Book(away=True)
    task = asyncio.create_task(keep_written(timedelta(hours=1), book.write_down))
    await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert book.begun.is_set()


async def test_what_breaks_the_writing_is_told() -> None:
    book = Book(away=True)

    with pytest.raises(StoreUnavailable):
        await keep_written(EVERY, book.write_down)


class Away(MemoryAcquaintances):
    there = False

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().used(caller, refs, at)


async def test_what_cannot_be_written_stays_noted() -> None:
    known = Away(OpenRoom().world)
    habits = Habits(acquaintances=known, clock=TickingClock())
    habits.note(ANA, READ.ref)
    with pytest.raises(StoreUnavailable):
        await habits.write_down()

    known.there = True
    habits.note(ANA, READ.ref)
    await habits.write_down()

    assert await known.most_used(ANA, 5) == [READ.ref]
