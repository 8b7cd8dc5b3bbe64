"""Takes legs out of the line and has them carried out, here and now."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Final

from dbos import DBOS

from portico.adapters.dbos.system import LEG, configuration
from portico.adapters.dbos.taking import begin_one, has_room, take_one
from portico.engine.core.runs import Leg, Place, Queue, Turn

_log: Final = logging.getLogger("portico.engine")
_LOOK: Final = 0.1
_USUAL: Final = Place()
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
        run_leg: Callable[[Leg], Awaitable[None]],
        *,
        queues: Sequence[Queue],
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

    def take_up(self, queue: str) -> None:
        """Somebody has come to stand in line: they need not wait for the next look. Not in the
        context of whoever calls: DBOS would take the one for a part of the other."""
        if self._open:
            threading.Thread(target=self._take, args=[queue], daemon=True).start()

    async def begin(self, turn: Turn) -> bool:
        """Whether it is carried out here, at once. Whoever waits in a line that is full is not
        overtaken. Should this process die, it is put in line as whatever it had begun."""
        usual = self._open and turn.place == _USUAL
        if not usual or len(self._begun) >= self._beside or not has_room(_USUAL.queue, self._most):
            return False
        name = turn.leg.name
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
            await self._run_leg(Leg.parse(name))
        except Exception as error:
            _log.exception("%s broke off", name)
            raise BrokenOff from error
        finally:
            del self._running[name]
