"""Looking through the audit, and heads that leave the database every so often."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.guard.audit import AuditFilter, ExportHeads, ReadAudit
from portico.guard.core.audit import AuditEntry, Head, Link
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryAudit, MemoryAuditHeads, a_person, a_space
from portico.testing.memory_store import BEGINNING, TickingClock

ANA = a_person("ana", roles=[Role.ADMIN])
BOB = a_person("bob")


class Endless:
    """A log of which each page is full, of entries that somebody has made unreadable."""

    def __init__(self, *texts: bytes) -> None:
        self.pages = 0
        self._texts = texts or (b"\xff",)

    async def head(self, caller: Principal) -> Head:
        return Head(10**9, bytes(32))

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        self.pages += 1
        first = (before or 10**9) - 1
        count = len(self._texts)
        return [
            Link(number, self._texts[number % count], b"")
            for number in range(first, first - limit, -1)
        ]

    async def stream(
        self, caller: Principal, *, last_number: int
    ) -> AsyncGenerator[Sequence[Link], None]:
        yield []


async def test_what_is_seldom_is_looked_for_so_far_at_a_time() -> None:
    log = Endless(b"\xff", b"[]", b'{"act":1,"at":1}', b'{"at":"never"}')

    page = await ReadAudit(log=log)(
        ANA, AuditFilter(action="x", since=BEGINNING), onward=None, limit=5
    )

    assert page.found == []
    assert page.onward == 10**9 - 20_000
    assert log.pages == 20


async def test_what_cannot_be_read_is_shown_to_whoever_may_read_it_and_wants_everything() -> None:
    page = await ReadAudit(log=Endless())(ANA, AuditFilter(), onward=None, limit=2)

    assert [it.entry for it in page.found] == [{}, {}]

    with pytest.raises(NotPermitted):
        await ReadAudit(log=MemoryAudit())(BOB, AuditFilter(), onward=None, limit=1)


async def test_looking_ends_where_what_is_older_begins() -> None:
    clock = TickingClock()
    audit = MemoryAudit(clock=clock)
    for number in range(4):
        clock.turn(timedelta(hours=1))
        await audit.note(ANA, AuditEntry(action="a", subject=str(number)))
    since = clock.now() - timedelta(hours=1, minutes=30)

    page = await ReadAudit(log=audit)(ANA, AuditFilter(since=since), onward=None, limit=10)

    assert [it.link.number for it in page.found] == [4, 3]
    assert page.onward is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("git.*", {"git.use", "git.[ab]"}), ("git.[ab]", {"git.[ab]"}), ("*.?", {"x.a"})],
)
async def test_wildcards_are_those_of_rules(wanted: str, found: set[str]) -> None:
    audit = MemoryAudit()
    for subject in ("git.use", "git.[ab]", "git", "x.a"):
        await audit.note(ANA, AuditEntry(action="a", subject=subject))

    page = await ReadAudit(log=audit)(ANA, AuditFilter(subject=wanted), onward=None, limit=10)

    assert {
        act["subject"] for it in page.found if isinstance(act := it.entry["act"], dict)
    } == found


async def test_each_filter_leaves_out_the_others() -> None:
    audit = MemoryAudit()
    carol = a_person("carol", roles=[Role.ADMIN])
    await audit.note(ANA, AuditEntry(action="key.issued", subject="k1"))
    await audit.note(carol, AuditEntry(action="key.revoked", subject="k2"))

    async def found(wanted: AuditFilter) -> list[int]:
        page = await ReadAudit(log=audit)(ANA, wanted, onward=None, limit=10)
        return [it.link.number for it in page.found]

    assert await found(AuditFilter()) == [2, 1]
    assert await found(AuditFilter(action="key.*")) == [2, 1]
    assert await found(AuditFilter(action="KEY.*")) == []
    assert await found(AuditFilter(subject="k1")) == [1]
    assert await found(AuditFilter(principal=carol.id)) == [2]
    assert await found(AuditFilter(principal=carol.id, subject="k1")) == []


ONE, OTHER = a_space("one").id, a_space("other").id


def head(number: int) -> Head:
    return Head(number, number.to_bytes(32))


class FullDisk:
    def __init__(self) -> None:
        self.full = True
        self.heads = MemoryAuditHeads()

    async def keep(self, space: SpaceId, head: Head) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        await self.heads.keep(space, head)

    async def of(self, space: SpaceId) -> Sequence[Head]:
        return await self.heads.of(space)


async def settled() -> None:
    """It is."""


def exporting(heads: MemoryAuditHeads | FullDisk, every: int = 10) -> ExportHeads:
    return ExportHeads(heads=heads, settle=settled, every=every)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_each_time_that_so_many_entries_are_full_the_newest_head_goes_out() -> None:
    heads = MemoryAuditHeads()
    export = exporting(heads)
    running = asyncio.ensure_future(export.run())

    export.seen(ONE, head(9), 9)
    await turns()
    assert heads.stored == []
    export.seen(ONE, head(12), 3)
    export.seen(OTHER, head(10), 1)
    export.seen(ONE, head(11), 1)
    await turns()

    assert heads.stored == [(ONE, head(12)), (OTHER, head(10))]
    running.cancel()
    await asyncio.wait([running])
    assert len(heads.stored) == 2


async def test_at_the_end_every_chain_that_was_added_to_goes_out() -> None:
    heads = MemoryAuditHeads()
    export = exporting(heads)
    running = asyncio.ensure_future(export.run())
    await turns()
    export.seen(ONE, head(3), 3)
    export.seen(OTHER, head(4), 1)

    running.cancel()
    await asyncio.wait([running])

    assert heads.stored == [(ONE, head(3)), (OTHER, head(4))]


async def test_what_could_not_go_out_goes_out_with_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = FullDisk()
    export = exporting(disk)
    export.seen(ONE, head(10), 1)

    with caplog.at_level(logging.ERROR):
        await export.export_all()
    disk.full = False
    await export.export_all()

    assert "No space left" in caplog.text
    assert disk.heads.stored == [(ONE, head(10))]


async def test_nothing_goes_out_that_is_not_on_the_disk_yet() -> None:
    async def away() -> None:
        raise StoreUnavailable("away")

    heads = MemoryAuditHeads()
    export = ExportHeads(heads=heads, settle=away, every=10)
    export.seen(ONE, head(10), 10)

    await export.export_all()

    assert heads.stored == []
