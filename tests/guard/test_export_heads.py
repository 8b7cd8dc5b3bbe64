"""Heads leave the database every so often, and once more at the end."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.audit_chain import Head
from portico.guard.export_heads import ExportHeads
from portico.kernel.ids import SpaceId
from portico.testing.audit import MemoryAuditHeads
from portico.testing.guard import a_space

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
    assert heads.kept == []
    export.seen(ONE, head(12), 3)
    export.seen(OTHER, head(10), 1)
    export.seen(ONE, head(11), 1)
    await turns()

    assert heads.kept == [(ONE, head(12)), (OTHER, head(10))]
    running.cancel()
    await asyncio.wait([running])
    assert len(heads.kept) == 2


async def test_at_the_end_every_chain_that_was_added_to_goes_out() -> None:
    heads = MemoryAuditHeads()
    export = exporting(heads)
    running = asyncio.ensure_future(export.run())
    await turns()
    export.seen(ONE, head(3), 3)
    export.seen(OTHER, head(4), 1)

    running.cancel()
    await asyncio.wait([running])

    assert heads.kept == [(ONE, head(3)), (OTHER, head(4))]


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
    assert disk.heads.kept == [(ONE, head(10))]


async def test_nothing_goes_out_that_is_not_on_the_disk_yet() -> None:
    async def away() -> None:
        raise StoreUnavailable("away")

    heads = MemoryAuditHeads()
    export = ExportHeads(heads=heads, settle=away, every=10)
    export.seen(ONE, head(10), 10)

    await export.export_all()

    assert heads.kept == []
