"""Keep what messages mean, so that they can be found by it: behind everybody's back, and in no
hurry."""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from portico.bridge.search_ports import Meaning, MessageVectors
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind

_log: Final = logging.getLogger("portico.bridge")
_AT_ONCE: Final = 64
"""Texts that a model is given at a time; others get their turn in between."""
_NOBODY: Final = PrincipalId(UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedMessages:
    vectors: MessageVectors
    meaning: Meaning

    async def __call__(self) -> int:
        """How many vectors were made. Raises what the store and the model do."""
        made = 0
        for space in await self.vectors.waiting():
            made += await self._of(space)
        if made:
            await self.vectors.arrange()
        return made

    async def every(self, pause: timedelta) -> None:
        """Until cancelled."""
        while True:
            try:
                await self()
            except PorticoError as error:
                _log.warning("messages are not found by meaning for now: %s", error)
            except Exception:  # noqa: BLE001 # the edge of a background loop
                _log.exception("what messages mean could not be kept; trying again later")
            await asyncio.sleep(pause.total_seconds())

    async def _of(self, space: SpaceId) -> int:
        worker = Principal(id=_NOBODY, space=space, kind=PrincipalKind.WORKER, name="portico")
        worker = replace(worker, clearance=await self.vectors.clearance(worker))
        made = 0
        while True:
            found = await self.vectors.missing(worker, _AT_ONCE)
            its = await self.meaning([each.text for each in found]) if found else []
            kept = await self.vectors.put(worker, list(zip(found, its, strict=True)))
            made += kept
            if kept == 0 or len(found) < _AT_ONCE:
                return made
