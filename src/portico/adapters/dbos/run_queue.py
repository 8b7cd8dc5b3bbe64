"""The line of legs, in DBOS's queues."""

import asyncio
import logging
from typing import Final, Protocol

from dbos import DBOSClient, EnqueueOptions

from portico.adapters.dbos.system import APPLICATION, LEG, SERIALIZER, VERSION
from portico.adapters.postgres.addresses import as_url
from portico.engine.core.runs import Activation, QueuedActivation

_log: Final = logging.getLogger("portico.engine")


class Nearby(Protocol):
    async def start(self, turn: QueuedActivation) -> bool:
        """At once, if there is room and nobody waits for it: then it need not stand in line."""
        ...

    def wake(self, queue: str) -> None:
        """Somebody has come to stand in that line."""
        ...


class DbosRunQueue:
    """Through a client: whoever only puts legs in line need not carry any out."""

    def __init__(self, engine: str, pool_size: int = 2) -> None:
        self._client = DBOSClient(
            system_database_url=as_url(engine),
            serializer=SERIALIZER,
            system_database_pool_size=pool_size,
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )
        self.near: Nearby | None = None
        """Whoever carries runs out in the same process."""

    async def join(self, turn: QueuedActivation) -> None:
        near = self.near
        if near is not None and await near.start(turn):
            return
        await asyncio.to_thread(self._join, turn)
        if near is not None:
            near.wake(turn.placement.queue)

    async def leave(self, leg: Activation) -> None:
        await asyncio.to_thread(self._leave, leg)

    async def close(self) -> None:
        await asyncio.to_thread(self._client.destroy)

    def _join(self, turn: QueuedActivation) -> None:
        options: EnqueueOptions = {
            "workflow_name": LEG,
            "queue_name": turn.placement.queue,
            "workflow_id": turn.activation.name,
            "app_version": VERSION,
        }
        if turn.placement.priority:
            options["priority"] = turn.placement.priority
        if turn.placement.partition is not None:
            options["queue_partition_key"] = turn.placement.partition
        try:
            self._client.enqueue(options, turn.activation.name)
        except Exception:  # noqa: BLE001 # whatever it was: the upkeep finds who is not in line
            _log.warning("%s could not be put in line yet", turn.activation.name, exc_info=True)

    def _leave(self, leg: Activation) -> None:
        try:
            self._client.cancel_workflow(leg.name)
        except Exception:  # noqa: BLE001 # it finds its run over when its turn comes
            _log.warning("%s could not be taken out of the line", leg.name, exc_info=True)
