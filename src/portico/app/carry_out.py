"""Carrying out runs in a server: begun once it answers, since DBOS takes longest to load."""

import asyncio
import importlib
import logging
import os
import socket
from datetime import timedelta
from typing import Final

from portico.adapters.dbos.late_line import LateLine
from portico.app.ground import Ground
from portico.app.outside import Outside
from portico.engine.core.retention import Keep
from portico.engine.drill import drill_kind
from portico.engine.runs import Kind, Kinds
from portico.kernel.clock import Clock
from portico.settings.model import Settings

_log: Final = logging.getLogger("portico.engine")
_FORGETTING: Final = timedelta(hours=1)


def every_kind(clock: Clock, *of_rooms: Kind) -> Kinds:
    """Every kind of run there is: the engine's own, and those that the rooms bring."""
    return Kinds([drill_kind(clock, f"{socket.gethostname()[:40]}-{os.getpid()}"), *of_rooms])


async def carry_out_runs(ground: Ground, outside: Outside, kinds: Kinds, line: LateLine) -> None:
    """Until cancelled. If it breaks, the server goes on without it, and says so."""
    try:
        await _carry_out(ground, outside, kinds, line)
    except Exception:  # noqa: BLE001 # people still want to see what there is
        _log.exception("no runs are carried out here any more: restart the server")


async def _carry_out(ground: Ground, outside: Outside, kinds: Kinds, line: LateLine) -> None:
    """Without the engine's address runs are taken in, for others to carry out."""
    engine = ground.store.addresses.engine
    if engine is None:
        _log.warning("no runs are carried out here: database.engine_dsn is not set")
        return
    await asyncio.to_thread(importlib.import_module, "portico.app.engine_room")
    from portico.adapters.dbos.line import DbosLine
    from portico.app.engine_room import EngineWishes, forgetting, working

    settings = ground.loaded.settings.engine
    there = DbosLine(engine)
    try:
        await line.bring(there)
        if not settings.work:
            await asyncio.Event().wait()
        wishes = EngineWishes(engine=engine, at_once=settings.at_once)
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
