"""Execute runs for as long as this process is known to live: dequeue, work, recovery."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from datetime import timedelta
from typing import Any, Final, LiteralString

from dbos import DBOS, SetWorkflowID
from dbos._core import WorkflowHandleAsyncPolling, execute_dequeued_workflow
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue
from dbos._utils import GlobalParams, generate_uuid

from portico.adapters.dbos.system import LEG, configuration
from portico.adapters.postgres.engine.lease import HeldLease, Lease
from portico.adapters.postgres.engine.runs import turn_from
from portico.adapters.postgres.transaction import EnginePool
from portico.adapters.telemetry.metrics import lease_lost, took_over
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.runs import Activation, QueuedActivation, QueuePlacement
from portico.engine.core.runs import QueueConfig as RunQueueName
from portico.engine.ports import RunQueue

# Beginning one leg at once: out of the line, as DBOS's own threads do when their time to look
# comes, or without its having stood there.
#
# DBOS has no call for the first: its queues are looked at every so often and never woken. What is
# used here of its inside is what its own look uses, and the version of it is pinned.

_WIDE: Final = 10
"""A line where fewer may be at once is left to DBOS's threads: there one more would be too many."""


def has_room(name: str, most: int) -> bool:
    """Whether more could be taken out of that line here, so that nobody is likely to wait in it."""
    dbos: DBOS = _get_dbos_instance()
    return most >= _WIDE and dbos._active_workflows_set.count_for_queue(name) < most


def begin_one(leg: Callable[[str], Coroutine[Any, Any, None]], name: str) -> bool:
    """Carry one out that has never stood in line; False if it has, or somebody has begun it.

    In DBOS's own loop: in any other it would put its threads in place of that loop's own.
    """

    async def begin() -> bool:
        with SetWorkflowID(name):
            begun = await DBOS.start_workflow_async(leg, name)
        return not isinstance(begun, WorkflowHandleAsyncPolling)

    dbos: DBOS = _get_dbos_instance()
    begun: bool = dbos._background_event_loop.submit_coroutine(begin())
    return begun


def take_one(name: str) -> None:
    """Whoever is first in the line of this name, if there is room here. One at a time, so that its
    threads, who count for themselves, come to no more than one beyond what may be at once."""
    dbos: DBOS = _get_dbos_instance()
    queue: Queue | None = dbos._sys_db.get_queue(name)
    most = 0 if queue is None else queue._worker_concurrency or 0
    if queue is None or queue._has_partition_limits() or most < _WIDE:
        return
    running = dbos._active_workflows_set.count_for_queue(name)
    owner = generate_uuid()
    legs, _ = dbos._sys_db.start_queued_workflows(
        queue,
        GlobalParams.executor_id,
        GlobalParams.app_version,
        None,
        max(running, most - 1),
        owner_xid=owner,
    )
    for status in dbos._sys_db.get_workflow_statuses(legs):
        execute_dequeued_workflow(dbos, status, owner)


_log: Final = logging.getLogger("portico.engine")
_LOOK: Final = 0.1
_USUAL: Final = QueuePlacement()
_PATIENCE: Final = 10.0
"""Seconds in which a work has to come to its end once it is cancelled."""


class BrokenOff(Exception):
    """All that DBOS is told of it: what was wrong may hold what is nobody's to see."""


class DbosWorker:
    """DBOS runs a loop of its own in a thread, where each leg is a shadow: the leg itself is
    carried out in the loop that everything else runs in."""

    def __init__(
        self,
        engine: str,
        executor: str,
        run_leg: Callable[[Activation], Awaitable[None]],
        *,
        queues: Sequence[RunQueueName],
        pool_size: int,
        beside: int = 0,
    ) -> None:
        """`beside`: legs that are begun without having stood in line, at most."""
        self._configuration = configuration(engine, executor, pool_size)
        self._run_leg = run_leg
        self._queues = queues
        self._loop: asyncio.AbstractEventLoop | None = None
        self._launching: asyncio.Future[None] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._open = False
        self._taking = threading.Lock()
        self._beside = beside
        self._most = next((q.a_process or 0 for q in queues if q.name == _USUAL.queue), 0)
        self._begun: set[str] = set()
        """Beside the line."""

    @property
    def running(self) -> frozenset[str]:
        return frozenset(self._running)

    @property
    def launched(self) -> bool:
        return self._loop is not None

    async def launch(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._launching = asyncio.ensure_future(asyncio.to_thread(self._launch))
        await asyncio.shield(self._launching)
        _log.info("runs are carried out here, as %s", self._configuration["executor_id"])

    async def close(self) -> None:
        """More than once does no harm."""
        await self.shut()
        if self._loop is not None:
            self._loop = None
            await self._no_longer_launching()
            await asyncio.to_thread(self._destroy)

    async def _no_longer_launching(self) -> None:
        """A thread cannot be cancelled: what is ended while it still begins would begin after it
        was ended, and stay."""
        launching, self._launching = self._launching, None
        if launching is None:
            return
        done, _ = await asyncio.wait([launching], timeout=_PATIENCE)
        if not done:
            _log.error("DBOS is still starting, and cannot be ended in order")
        launching.add_done_callback(lambda each: each.cancelled() or each.exception())

    def open(self) -> None:
        self._open = True

    async def shut(self) -> None:
        """From now on nothing is carried out here: what is, ends where it stands, and stays to be
        taken up by whoever holds a lease."""
        self._open = False
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=_PATIENCE)
            for task in stubborn:
                _log.error("%s does not stop; nothing that it does is noted any more", task)

    def resume(self, queue: str) -> None:
        """Somebody has come to stand in line: they need not wait for the next look. Not in the
        context of whoever calls: DBOS would take the one for a part of the other."""
        if self._open:
            threading.Thread(target=self._take, args=[queue], daemon=True).start()

    async def start(self, turn: QueuedActivation) -> bool:
        """Whether it is carried out here, at once. Whoever waits in a line that is full is not
        overtaken. Should this process die, it is put in line as whatever it had begun."""
        usual = self._open and turn.placement == _USUAL
        if not usual or len(self._begun) >= self._beside or not has_room(_USUAL.queue, self._most):
            return False
        name = turn.activation.name
        self._begun.add(name)
        loop = asyncio.get_running_loop()
        # Not in the context of whoever calls: DBOS would take the one for a part of the other.
        return await loop.run_in_executor(None, Context().run, self._begin, name)

    def _begin(self, name: str) -> bool:
        """Also if it was begun by somebody before, or stands in line: then it need not again."""
        try:
            mine = begin_one(self._leg, name)
        except Exception:  # noqa: BLE001 # whatever it was: it can stand in line
            _log.debug("%s could not be begun at once", name, exc_info=True)
            self._begun.discard(name)
            return False
        if not mine:
            self._begun.discard(name)
        return True

    def _take(self, queue: str) -> None:
        """Of many who come at once, the others wait for that look, where all are taken together."""
        if not self._taking.acquire(blocking=False):
            return
        try:
            if self._open:
                take_one(queue)
        except Exception:  # noqa: BLE001 # whatever it was: the next look finds who still stands there
            _log.debug("nobody could be taken out of %s at once", queue, exc_info=True)
        finally:
            self._taking.release()

    def _destroy(self) -> None:
        with self._taking:
            DBOS.destroy(destroy_registry=True)

    def _launch(self) -> None:
        DBOS(config=self._configuration)

        @DBOS.workflow(name=LEG, max_recovery_attempts=None)
        async def leg(name: str) -> None:
            try:
                await self._shadow(name)
            finally:
                self._begun.discard(name)

        self._leg = leg
        DBOS.launch()
        for queue in self._queues:
            DBOS.register_queue(
                queue.name,
                worker_concurrency=queue.a_process,
                global_concurrency=queue.everywhere,
                partition_concurrency=queue.a_partition,
                polling_interval_sec=queue.look.total_seconds(),
                on_conflict="always_update",
            )

    async def _shadow(self, name: str) -> None:
        loop = self._loop
        if loop is None or not self._open:
            await self._held_back()
            raise asyncio.CancelledError  # it stays as it is, and is found by the upkeep
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._carry_out(name), loop))

    async def _held_back(self) -> None:
        """While nothing is carried out here: whoever came all the same takes up room, else DBOS
        would go on and take everybody out of the line."""
        while not self._open:  # noqa: ASYNC110 # set in another loop
            await asyncio.sleep(_LOOK)

    async def _carry_out(self, name: str) -> None:
        task = asyncio.current_task()
        if task is None or not self._open:
            raise asyncio.CancelledError
        self._running[name] = task
        try:
            await self._run_leg(Activation.parse(name))
        except Exception as error:
            _log.exception("%s broke off", name)
            raise BrokenOff from error
        finally:
            del self._running[name]


# What DBOS's open edition leaves undone: the work of processes that died, and of nobody.
#
# Every process looks after all of it. What two do at once is done once, since each change names the
# state that it changes.

_UPKEEP_LOOK: Final = 1.0
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
    def __init__(
        self, executor: str, engine: EnginePool, worker: DbosWorker, line: RunQueue
    ) -> None:
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
            await asyncio.sleep(_UPKEEP_LOOK)

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

    async def start(self, turn: QueuedActivation) -> bool:
        """Whether it is carried out here from now on, without having stood in line."""
        return await self._worker.start(turn)

    def wake(self, queue: str) -> None:
        """Somebody has come to stand in line here."""
        self._worker.resume(queue)

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

    async def _while_held(self, held: HeldLease) -> None:
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
