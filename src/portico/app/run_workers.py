"""Run workers, starters of runs, and what goes on in the background of a server."""

import asyncio
import importlib
import logging
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Final

from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.agents.runs import AGENT
from portico.app.app_context import AppContext
from portico.app.shared_dependencies import SharedDependencies
from portico.debate.conduct import DEBATE
from portico.debate.debates import ANALYSIS
from portico.engine.core.retention import Keep
from portico.engine.drill import drill_kind
from portico.engine.ports import RunQueue, Runs
from portico.engine.runs import Kind, Kinds, StartRun
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.settings.model import Settings
from portico.workflows.core.programs import PROGRAM
from portico.workflows.execution import WORKFLOW

CALLING: Final = (WORKFLOW, PROGRAM)
"""What the gateway starts."""
LED: Final = (*CALLING, AGENT, DEBATE, ANALYSIS)
"""What only its own room steps into: it withdraws what was asked, and knows what was begun."""


def starting(runs: Runs, line: RunQueue, clock: Clock, entropy: Entropy, *kinds: str) -> StartRun:
    known = Kinds([Kind(name=kind, work=_elsewhere) for kind in kinds])
    return StartRun(runs=runs, queue=line, kinds=known, clock=clock, entropy=entropy)


async def _elsewhere(_durable: Durable, _given: JsonObject) -> JsonValue:
    """Starting a run takes no more than that there is such a kind."""
    raise NotImplementedError


_log: Final = logging.getLogger("portico.gateway")

_PAUSE: Final = 5.0
_TIMES_ASKED: Final = 3

Lasting = Callable[[], Coroutine[None, None, None]]


async def ended(tasks: Sequence[asyncio.Task[None]], *, pause: float = _PAUSE) -> None:
    """Asked again if need be: being cancelled can get lost in what it interrupts."""
    for _ in range(_TIMES_ASKED):
        for task in tasks:
            task.cancel()
        _, left = await asyncio.wait(tasks, timeout=pause)
        if not left:
            return
        names = ", ".join(sorted(task.get_name() for task in left))
        _log.warning("asked to end, and still going on in the background: %s", names)


async def kept_up(work: Lasting) -> None:
    """What goes on all the time goes on after a failure too, and takes nothing else with it: the
    database may be away for a while."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 # the edge of a background loop
            _log.warning("begun again in %g s: %s", _PAUSE, error, exc_info=_unforeseen(error))
            await asyncio.sleep(_PAUSE)
        else:
            return


def _unforeseen(error: Exception) -> bool:
    return not isinstance(error, PorticoError)


# Carrying out runs in a server: begun once it answers, since DBOS takes longest to load.

_runs_log: Final = logging.getLogger("portico.engine")
_FORGETTING: Final = timedelta(hours=1)


def every_kind(clock: Clock, *of_rooms: Kind) -> Kinds:
    """Every kind of run there is: the engine's own, and those that the rooms bring."""
    return Kinds([drill_kind(clock, f"{socket.gethostname()[:40]}-{os.getpid()}"), *of_rooms])


async def carry_out_runs(
    ground: AppContext, outside: SharedDependencies, kinds: Kinds, line: DeferredQueue
) -> None:
    """Until cancelled. If it breaks, the server goes on without it, and says so."""
    try:
        await _carry_out(ground, outside, kinds, line)
    except Exception:  # noqa: BLE001 # people still want to see what there is
        _runs_log.exception("no runs are carried out here any more: restart the server")


async def _carry_out(
    ground: AppContext, outside: SharedDependencies, kinds: Kinds, line: DeferredQueue
) -> None:
    """Without the engine's address runs are taken in, for others to carry out."""
    engine = ground.store.addresses.engine
    if engine is None:
        _runs_log.warning("no runs are carried out here: database.engine_dsn is not set")
        return
    await asyncio.to_thread(importlib.import_module, "portico.app.engine")
    from portico.adapters.dbos.run_queue import DbosRunQueue
    from portico.app.engine import EngineOptions, forgetting, working

    settings = ground.loaded.settings.engine
    there = DbosRunQueue(engine)
    try:
        await line.bring(there)
        if not settings.work:
            await asyncio.Event().wait()
        wishes = EngineOptions(engine=engine, at_once=settings.at_once)
        async with (
            working(wishes, outside, kinds, there) as carrying_out,
            forgetting(engine) as retain,
        ):
            there.near = carrying_out
            await retain(_keep(ground.loaded.settings)).every(_FORGETTING)
    finally:
        await there.close()


def _keep(settings: Settings) -> Keep:
    engine, bridge = settings.engine, settings.bridge
    return Keep(
        calls=timedelta(days=settings.gateway.keep_calls_days),
        runs=timedelta(days=engine.keep_runs_days),
        most_runs=engine.keep_runs,
        events=timedelta(days=engine.keep_events_days),
        receipts=timedelta(days=engine.keep_receipts_days),
        traces=timedelta(days=settings.agents.keep_days),
        messages=_days(bridge.keep_messages_days),
        memory=_days(bridge.keep_memory_history_days),
        debates=_days(settings.debate.keep_days),
    )


def _days(many: int) -> timedelta | None:
    """None is for ever."""
    return timedelta(days=many) if many else None
