"""Carry the heads of chains out of the database, so that a cut end or a new chain is noticed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from portico.guard.core.audit_chain import Head
from portico.guard.ports import AuditHeads
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId

_log: Final = logging.getLogger("portico.audit")


@dataclass(slots=True, kw_only=True)
class ExportHeads:
    heads: AuditHeads
    settle: Callable[[], Awaitable[None]]
    """Before a head goes out, its chain is on the disk: a head that outlives what it is of would
    tell of a cut that nobody made."""
    every: int
    """Entries of a chain from one of its heads to the next."""
    _newest: dict[SpaceId, Head] = field(default_factory=dict)
    """What was written here since the last export."""
    _due: asyncio.Queue[SpaceId] = field(default_factory=asyncio.Queue)

    def seen(self, space: SpaceId, head: Head, entries: int) -> None:
        """`head` is what the chain ended in after so many entries were added here."""
        if (known := self._newest.get(space)) is None or head.number > known.number:
            self._newest[space] = head
        if head.number // self.every > (head.number - entries) // self.every:
            self._due.put_nowait(space)

    async def run(self) -> None:
        """Until it is cancelled; then every chain that was added to is exported once more."""
        try:
            while True:
                await self._export(await self._due.get())
        finally:
            await asyncio.shield(self.export_all())

    async def export_all(self) -> None:
        for space in [*self._newest]:
            await self._export(space)

    async def _export(self, space: SpaceId) -> None:
        """What fails is tried again with the next one: what counts is that some head is there."""
        head = self._newest.pop(space, None)
        if head is None:
            return
        try:
            await self.settle()
            await self.heads.keep(space, head)
        except (OSError, PorticoError) as error:
            self._newest.setdefault(space, head)
            _log.error("the head of the audit could not be exported: %s", error)
