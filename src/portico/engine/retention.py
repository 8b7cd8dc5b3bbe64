"""Delete what is older than its retention."""

import asyncio
import logging
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.retention import Forgotten, Keep
from portico.engine.ports import Retention

_log: Final = logging.getLogger("portico.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    retention: Retention
    keep: Keep

    async def __call__(self) -> Forgotten:
        """Raises `StoreUnavailable`."""
        gone = await self.retention.forget(self.keep)
        if gone.anything:
            _log.info(
                "forgot %s",
                ", ".join(f"{count} {what}" for what, count in asdict(gone).items() if count),
            )
        return gone

    async def every(self, pause: timedelta) -> None:
        """Until cancelled."""
        while True:
            try:
                await self()
            except StoreUnavailable:
                _log.warning("nothing could be forgotten: the database does not answer")
            except Exception:  # noqa: BLE001 # whatever it was: if this loop ends, nobody forgets
                _log.exception("forgetting failed; trying again later")
            await asyncio.sleep(pause.total_seconds())
