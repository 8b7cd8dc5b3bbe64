"""What callers do, one task at a time: learnt from, and looked ahead from, beside their calls.

A call pays for being noted, and for nothing else. What is noted is worked through in the order in
which it came, by one worker, for a small share of the time. A task of which something could not be
worked through begins anew, so that nothing is learnt from calls that did not follow each other.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Final

from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import LiveTool, Shelf
from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.reserved_metadata import is_marked
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import Act
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.fair_effort import FairEffort
from portico.learning.core.prefetch.layer import Layer
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.core.prefetch.trust_in_all import PROVEN_FOR_CALLER, TrustInAll
from portico.learning.core.prefetch.wanted import Wanted
from portico.learning.core.prefetch.window import call_key
from portico.learning.prefetch.layers import Layers
from portico.learning.prefetch.noted import Called, Said
from portico.learning.prefetch.run_ahead import RunAhead
from portico.learning.prefetch.tasks import Task, Tasks
from portico.learning.prefetch_ports import AheadTally, SwitchesAtHand

_log: Final = logging.getLogger("portico.ahead")

_NOTED: Final = 256
"""Calls that wait to be worked through."""
_NOTED_OF_ONE: Final = _NOTED // 4
_LARGEST: Final = 200_000
"""Characters of an answer that anything is learnt from."""
_A_TRIP: Final = 0.0005
"""Seconds that it takes this process to ask the store something."""
_IDLE: Final = 60.0
"""Seconds between two looks for tasks that are over."""

_Who = tuple[SpaceId, PrincipalId]


@dataclass(slots=True, kw_only=True)
class Watching:
    tasks: Tasks
    run_ahead: RunAhead
    layers: Layers
    catalogues: Catalogues
    contexts: Contexts
    switches: SwitchesAtHand
    tally: AheadTally
    clock: Clock
    effort: FairEffort = field(default_factory=FairEffort)
    trust: TrustInAll = field(default_factory=TrustInAll)
    _noted: deque[Called | Said] = field(default_factory=deque)
    _waiting: Counter[_Who] = field(default_factory=Counter)
    """How many of those are whose."""
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    def note(
        self, act: Act, server: Server, began: datetime, answer: Answer, *, in_run: bool = False
    ) -> None:
        """Of an answer that is far too long, only that there was one; of one to a run, only how
        long it took."""
        ended, served = self.clock.now(), is_marked(answer)
        if in_run or answer.size > _LARGEST:
            answer = Answer([], failed=answer.failed)
        self._put(
            Called(
                act=act,
                server=server,
                began=began,
                ended=ended,
                answer=answer,
                served=served,
                in_run=in_run,
            )
        )

    def say(self, caller: Principal, *words: str) -> None:
        """What somebody looks for, or wants done, in their own words."""
        if any(words):
            self._put(Said(caller, words))

    async def work_through(self) -> None:
        """All that is noted. What one of them breaks is that one's."""
        while self._noted:
            noted = self._next()
            try:
                await self._worked(noted)
            except PorticoError:  # the database is away, the task is closed, the tool is gone
                self.tasks.missed(noted.caller)
            except Exception as error:  # noqa: BLE001 # the edge of a background loop
                # its words may be somebody's
                _log.warning("looking ahead broke off: %s", type(error).__name__, exc_info=False)
                self.tasks.missed(noted.caller)
            await asyncio.sleep(0)  # others go on in between

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_IDLE):
                    await self._bell.wait()
            self._bell.clear()
            await self.work_through()
            await self.end_idle()

    async def end_idle(self) -> None:
        for task in self.tasks.idle(self.clock.now()):
            await self._end(task)

    def _put(self, noted: Called | Said) -> None:
        who = _who(noted.caller)
        if len(self._noted) >= _NOTED or self._waiting[who] >= _NOTED_OF_ONE:
            self.tasks.missed(noted.caller)
            return
        self._noted.append(noted)
        self._waiting[who] += 1
        self._bell.set()

    def _next(self) -> Called | Said:
        noted = self._noted.popleft()
        who = _who(noted.caller)
        self._waiting[who] -= 1
        if not self._waiting[who]:
            del self._waiting[who]
        return noted

    async def _worked(self, noted: Called | Said) -> None:
        caller = noted.caller
        who = _who(caller)
        if not self.effort.may(who, monotonic()):
            self.tasks.missed(caller)
            return
        self.effort.spent(who, _A_TRIP)
        switches = await self.switches.current(caller)
        if not switches.learning:
            self.tasks.forget(caller)
            return
        if isinstance(noted, Called) and not noted.served:
            took = noted.ended - noted.began
            self.run_ahead.lane.paces.note(caller.space, noted.tool, took)
        if isinstance(noted, Said) or not noted.in_run:
            await self._look_ahead(noted, switches.mode)

    async def _look_ahead(self, noted: Called | Said, mode: AheadMode) -> None:
        """First all that has to be waited for, then the work at one go."""
        caller = noted.caller
        label = (await self.contexts.get(caller)).label
        shelf = await self.catalogues.offered(caller)
        below = await self.layers.covered(caller, label)
        self.effort.spent(_who(caller), self.layers.reading_took())
        began = monotonic()
        task = self.tasks.of(caller, label, self.clock.now())
        if task.missed:
            self.layers.learnt(caller, label, task.course.end(below[0]))
            task.missed = False
        self._take_in(task, noted, shelf, below[0])
        wanted = {} if mode is AheadMode.OFF else self._wanted(task, below, shelf)
        trusted = self.trust.foretold(caller, wanted)
        self.effort.spent(_who(caller), monotonic() - began)
        for old in self.tasks.too_many():
            await self._end(old)
        if wanted and mode is AheadMode.LIVE:
            await self._make(caller, [*wanted.values()], trusted=trusted)

    async def _make(self, caller: Principal, wanted: Sequence[Wanted], *, trusted: bool) -> None:
        if not trusted:
            for each in wanted:
                self.run_ahead.turned_down(each, PROVEN_FOR_CALLER)
            return
        self.effort.spent(_who(caller), _A_TRIP * len(wanted))
        await self.run_ahead.these(caller, wanted)

    def _take_in(self, task: Task, noted: Called | Said, shelf: Shelf, layer: Layer) -> None:
        if isinstance(noted, Said):
            for words in noted.words:
                task.course.told(words)
            return
        call = noted.seen(shelf)
        self.tally.called(task.caller, task.label)
        self.trust.saw(task.caller, call.key, reads=call.reads)
        self.layers.learnt(task.caller, task.label, task.course.saw(call, layer))

    def _wanted(self, task: Task, below: Sequence[Layer], shelf: Shelf) -> dict[bytes, Wanted]:
        """Of all that is foretold, what has proved right, by the keys of the calls; the rest is
        only looked at later."""
        names = {its.id: name for name, its in shelf.servers.items()}

        def found(place: ToolPlace) -> LiveTool | None:
            return shelf.tools.get(ToolRef(names.get(place.server, ""), place.tool))

        def among(place: ToolPlace) -> bool:
            tool = found(place)
            return tool is not None and tool.effect.reads_only

        wanted = {}
        for predicted in task.course.ahead(below, among):
            self.tally.predicted(task.caller, task.label, predicted.edge, live=predicted.live)
            place = predicted.form.tool
            tool = found(place)
            if predicted.live and tool is not None:
                key = call_key(place, predicted.arguments)
                wanted[key] = Wanted.of(predicted, tool.ref, tool.pin)
        return wanted

    async def _end(self, task: Task) -> None:
        """What was foretold and did not come is known to have been wrong."""
        layer = await self.layers.of(task.caller, task.label)
        self.layers.learnt(task.caller, task.label, task.course.end(layer))
        self.trust.ended(task.caller)


def _who(caller: Principal) -> _Who:
    return caller.space, caller.id
