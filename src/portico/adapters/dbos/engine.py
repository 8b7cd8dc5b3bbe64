"""Carries runs out for as long as this process is known to live, and not a moment longer."""

import asyncio
import contextlib
import logging
from datetime import timedelta
from typing import Final

from portico.adapters.dbos.upkeep import Upkeep
from portico.adapters.dbos.worker import DbosWorker
from portico.adapters.postgres.lease import Held, Lease
from portico.adapters.telemetry.instruments import lease_lost
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.runs import Turn

_log: Final = logging.getLogger("portico.engine")
_LONGER: Final = 5.0


class DbosEngine:
    def __init__(
        self, lease: Lease, worker: DbosWorker, upkeep: Upkeep, *, pause: float = 0.3
    ) -> None:
        """`pause`: seconds before a lease that was lost is taken anew."""
        self._lease = lease
        self._worker = worker
        self._upkeep = upkeep
        self._pause = pause
        self.ready = asyncio.Event()
        """Set while runs are carried out here."""

    @property
    def running(self) -> frozenset[str]:
        """The legs that are being carried out here."""
        return self._worker.running

    async def begin(self, turn: Turn) -> bool:
        """Whether it is carried out here from now on, without having stood in line."""
        return await self._worker.begin(turn)

    def take_up(self, queue: str) -> None:
        """Somebody has come to stand in line here."""
        self._worker.take_up(queue)

    async def go_on(self) -> None:
        """Until cancelled."""
        try:
            while True:
                try:
                    async with self._lease.held() as held:
                        if self._worker.launched or await self._launch():
                            await self._while_held(held)
                except StoreUnavailable as error:
                    _log.warning("no lease: %s", error)
                except Exception:  # noqa: BLE001 # whatever it was: if this ends, nothing is done
                    _log.exception("runs are not carried out; trying again")
                    await asyncio.sleep(_LONGER)
                await asyncio.sleep(self._pause)
        finally:
            self.ready.clear()
            await self._worker.close()

    async def _launch(self) -> bool:
        """It breaks off if the database goes away in the middle of it."""
        try:
            await self._worker.launch()
        except Exception:  # noqa: BLE001 # DBOS raises whatever its libraries do; it is tried again
            _log.warning("runs cannot be carried out yet; trying again", exc_info=True)
            await self._worker.close()
            return False
        return True

    async def _while_held(self, held: Held) -> None:
        """What runs here has ended before the lease is let go of, however it ends."""
        await self._upkeep.give_back(timedelta(0))
        self._worker.open()
        self.ready.set()
        stopping = True
        try:
            async with asyncio.TaskGroup() as group:
                looking_after = group.create_task(self._upkeep.go_on())
                await held.lost()
                looking_after.cancel()
            stopping = False
        finally:
            self.ready.clear()
            await self.fence()
            if stopping:
                await self._worker.close()
                await self._hand_back()
        lease_lost()
        _log.warning("the lease was lost; what ran here is left to whoever takes it up")

    async def _hand_back(self) -> None:
        """In order: nobody has to find out that we are gone."""
        with contextlib.suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(_LONGER):
                await self._upkeep.give_back(timedelta(0))

    async def fence(self) -> None:
        await self._worker.shut()
