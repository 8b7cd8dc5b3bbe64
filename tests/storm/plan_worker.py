"""A whole `portico serve` that names each moment as it comes to it, and can be killed there.

Besides every event that it tells of a run: the moment after an intent was written down, and the
moment after a call was made and before anybody has noted what it gave. A switch takes away what
tells an intent that somebody else has left behind.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# All that a server loads while it starts, so that one that is forked has it already.
from portico.adapters.builtin.server import RoutedUpstreams
from portico.adapters.postgres.engine.journal import PostgresJournal
from portico.adapters.postgres.gateway.calls import PostgresCallHistory
from portico.app.app_context import AppContext
from portico.app.serve import serve
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Activation, ClaimedActivation, RunStatus
from portico.gateway.core.calls import Call
from portico.kernel.principal import Principal
from tests.storm.worker import Wire

AFTER_INTENT = "after intent"
AFTER_CALL = "after call"
EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOrders:
    """What such a server is told when it is started."""

    environment: Mapping[str, str]
    conductor: Path
    log: Path
    remembers: bool = True
    """Off: what is written down is not looked at, which is a red run."""
    settings: Mapping[str, str] = field(default_factory=dict)


class Points:
    """One at a time: nothing else is noted while somebody decides who dies."""

    def __init__(self, conductor: Path) -> None:
        self._wire = Wire(conductor)
        self._turn = asyncio.Lock()

    async def at(self, point: str, what: str, **more: object) -> None:
        await self._wire.ask(point=point, what=what, pid=os.getpid(), **more)

    def in_journal(self) -> None:
        for name in ("claim", "finish", "announce", "park", "settle"):
            setattr(PostgresJournal, name, self._told(name, getattr(PostgresJournal, name)))

    def in_history(self) -> None:
        for name in ("record_start", "begin_once"):
            original = getattr(PostgresCallHistory, name)
            setattr(PostgresCallHistory, name, self._intended(original))

    def in_calls(self) -> None:
        call = RoutedUpstreams.call

        async def pointed(upstreams: Any, target: Any, tool: str, *given: Any, **more: Any) -> Any:
            answer = await call(upstreams, target, tool, *given, **more)
            await self.at(AFTER_CALL, tool)
            return answer

        RoutedUpstreams.call = pointed  # type: ignore[assignment, method-assign] # named from here on

    def _intended(self, original: Any) -> Any:
        async def pointed(history: Any, caller: Principal, call: Call, *claim: Any) -> None:
            await original(history, caller, call, *claim)
            await self.at(AFTER_INTENT, call.ref.name)

        return pointed

    def _told(self, name: str, original: Any) -> Any:
        async def pointed(journal: PostgresJournal, *given: Any) -> Any:
            async with self._turn:
                came = await original(journal, *given)
                for what in _events(name, given, came):
                    await self.at(EVENT, what)
            return came

        return pointed


def _events(name: str, given: Sequence[Any], came: Any) -> list[str]:
    """What was told by this, if it was done at all."""
    if not came:
        return []
    match name, given:
        case "claim", [Activation()] if isinstance(came, ClaimedActivation):
            return [f"{came.run.kind} taken up"]
        case "finish", [ClaimedActivation() as taken, step, NewEntry() as told]:
            return [f"{taken.run.kind} {told.type} {step.name}"]
        case "announce", [ClaimedActivation() as taken, told]:
            return [f"{taken.run.kind} {each.type}" for each in told]
        case "park", [ClaimedActivation() as taken, *_]:
            return [f"{taken.run.kind} run.waiting"]
        case "settle", [ClaimedActivation() as taken, RunStatus() as status, *_]:
            return [f"{taken.run.kind} run.{status}"]
        case _:
            raise AssertionError(name)


def without_intents() -> None:
    """What somebody who died has left behind is not looked at: a red run."""
    begin = PostgresCallHistory.record_start
    history_class: Any = PostgresCallHistory

    async def once(history: Any, caller: Principal, call: Call, _claim: object) -> None:
        await begin(history, caller, call)

    async def nothing_begun(_history: Any, *_asked: object) -> frozenset[Any]:
        return frozenset()

    history_class.begin_once = once
    history_class.find_started = nothing_begun


def served(orders: PlanOrders) -> None:
    """Until it is killed."""
    output = os.open(orders.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update({**orders.environment, **orders.settings})
    serve(AppContext(), lambda _: None)


def main(orders: PlanOrders) -> None:
    if not orders.remembers:
        without_intents()
    points = Points(orders.conductor)
    points.in_journal()
    points.in_history()
    points.in_calls()
    served(orders)
