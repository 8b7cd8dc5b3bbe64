"""What DBOS's open edition leaves undone: the work of processes that died, and of nobody.

Every process looks after all of it. What two do at once is done once, since each change names
the state that it changes.
"""

import asyncio
import logging
from datetime import timedelta
from typing import Final, LiteralString

from portico.adapters.dbos.worker import DbosWorker
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.run_rows import turn_from
from portico.adapters.telemetry.instruments import took_over
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Line

_log: Final = logging.getLogger("portico.engine")
_LOOK: Final = 1.0
_NOW_AND_THEN: Final = 5
"""One look in so many is also for what should never happen."""

_LONG_AGO: Final = timedelta(seconds=5)

_BACK_IN_LINE: Final[LiteralString] = """
    SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL,
        queue_name = coalesce(queue_name, 'runs'),
        updated_at = (extract(epoch FROM now()) * 1000)::bigint
"""
_TAKE_OVER: Final[LiteralString] = f"""
    WITH dead AS MATERIALIZED (
        SELECT executor_id
          FROM (SELECT DISTINCT executor_id FROM dbos.workflow_status
                 WHERE status = 'PENDING' AND executor_id <> %(executor)s) AS other
         WHERE pg_try_advisory_xact_lock(hashtextextended('portico lease ' || executor_id, 0))
    )
    UPDATE dbos.workflow_status AS leg {_BACK_IN_LINE}
      FROM dead
     WHERE leg.status = 'PENDING' AND leg.executor_id = dead.executor_id
       AND leg.name = 'portico.leg'
    RETURNING leg.workflow_uuid, leg.executor_id
"""
_DROPPED: Final[LiteralString] = f"""
    UPDATE dbos.workflow_status {_BACK_IN_LINE}
     WHERE status = 'PENDING' AND executor_id = %(executor)s AND name = 'portico.leg'
       AND coalesce(started_at_epoch_ms, created_at)
           < extract(epoch FROM now() - %(age)s::interval) * 1000
       AND NOT workflow_uuid = ANY(%(running)s)
    RETURNING workflow_uuid
"""
_DUE: Final[LiteralString] = """
    UPDATE portico.run SET status = 'queued', wakes_at = NULL, changed_at = now()
     WHERE status = 'waiting' AND wakes_at <= now()
    RETURNING run_id, leg, queue, partition_key, priority
"""
_NOT_IN_LINE: Final[LiteralString] = """
    SELECT r.run_id, r.leg, r.queue, r.partition_key, r.priority
      FROM portico.run r
      LEFT JOIN dbos.workflow_status w ON w.workflow_uuid = r.run_id::text || ':' || r.leg
     WHERE r.status IN ('queued', 'running') AND r.changed_at < now() - interval '5 seconds'
       AND w.workflow_uuid IS NULL
     ORDER BY r.changed_at LIMIT 200
"""
_BROKEN_OFF: Final[LiteralString] = """
    UPDATE portico.run r
       SET leg = r.leg + 1, status = 'queued', claim = NULL, executor = NULL, changed_at = now()
      FROM dbos.workflow_status w
     WHERE w.workflow_uuid = r.run_id::text || ':' || r.leg
       AND w.status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED')
       AND r.status IN ('queued', 'running') AND r.changed_at < now() - interval '5 seconds'
    RETURNING r.run_id, r.leg, r.queue, r.partition_key, r.priority
"""


class Upkeep:
    def __init__(self, executor: str, engine: EnginePool, worker: DbosWorker, line: Line) -> None:
        self._executor = executor
        self._engine = engine
        self._worker = worker
        self._line = line

    async def go_on(self) -> None:
        """Until cancelled."""
        look = 0
        while True:
            try:
                await self.take_over()
                await self._wake_due()
                if look % _NOW_AND_THEN == 0:
                    await self._find_lost()
            except StoreUnavailable:
                pass  # whoever holds the lease hears of it at once
            except Exception:  # noqa: BLE001 # whatever it was: if this loop ends, nobody looks
                _log.exception("the upkeep failed; trying again")
            look += 1
            await asyncio.sleep(_LOOK)

    async def take_over(self) -> int:
        """Put what dead processes had begun back in line. How many legs that were."""
        taken = await self._engine.rows(_TAKE_OVER, {"executor": self._executor})
        for dead in {row["executor_id"] for row in taken}:
            legs = sum(row["executor_id"] == dead for row in taken)
            _log.warning("%s is gone; legs of its that are back in line: %d", dead, legs)
        took_over(len(taken))
        return len(taken)

    async def give_back(self, age: timedelta) -> None:
        """What this process took out of the line so long ago, and does not carry out."""
        mine = {"executor": self._executor, "running": [*self._worker.running], "age": age}
        if dropped := await self._engine.rows(_DROPPED, mine):
            _log.info("legs that are not carried out here are back in line: %d", len(dropped))

    async def _wake_due(self) -> None:
        for row in await self._engine.rows(_DUE, {}):
            await self._line.join(turn_from(row))

    async def _find_lost(self) -> None:
        """What was taken out of the line and never begun, what never came to stand in it, and
        what left it without an end."""
        await self.give_back(_LONG_AGO)
        for query in (_NOT_IN_LINE, _BROKEN_OFF):
            for row in await self._engine.rows(query, {}):
                await self._line.join(turn_from(row))
