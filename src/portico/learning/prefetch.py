"""Prefetch reads while a task runs: start, watch, show, switch."""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from time import monotonic
from typing import Final, Protocol

from portico.engine.core.event_log import NewEntry
from portico.engine.ports import Bus, EventLog
from portico.gateway.calls import act_on
from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import Phase, ToolResult, about_server
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.reserved_metadata import is_marked
from portico.gateway.core.servers import Inside, Server, Stdio
from portico.gateway.ports import SchemaCheck, Servers, Upstreams, keep_written
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import AccessRequest, Allowed
from portico.guard.core.audit import AuditEntry
from portico.guard.core.contexts import risen
from portico.guard.core.errors import KeyEnded
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate as Guard
from portico.guard.ports import Audit, Contexts, SpaceSettings
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.learning.core.observation import RECORD, Count, CountKey, LabelModel
from portico.learning.core.observed_calls import EdgeKey, ReadRequest, call_key
from portico.learning.core.prefetch import (
    ALL_CALLS,
    CALLS,
    FIGURES,
    RAN,
    SAVED,
    SUGGESTED,
    PrefetchEdge,
    PrefetchTotals,
    WasteReason,
    added_up,
    edge_table,
)
from portico.learning.core.prefetch_cache import (
    PROVEN_FOR_CALLER,
    BufferedCall,
    FairEffort,
    TrustInAll,
    key_of,
)
from portico.learning.core.prefetch_gates import (
    GATES,
    Attempt,
    Gate,
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
    closed,
    read_switches,
    switches_json,
)
from portico.learning.observation import (
    Called,
    LabelModels,
    LearnedCounts,
    StatedIntent,
    Task,
    TrackedContexts,
    at_label,
)
from portico.learning.prefetch_cache import After, PrefetchExecutor
from portico.learning.prefetch_ports import PrefetchCounter, SwitchesAtHand
from portico.learning.prefetch_switches import AHEAD, Switchboard

_MOST: Final = 4
"""That are begun after one call."""
_DEEPEST: Final = 3
"""How many in a row are begun one after the other's answer."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """What those before it in the row have read, and nobody has taken in yet."""

    label: Label = PUBLIC
    untrusted: bool = False
    deep: int = 1

    def beyond(self, server: Server) -> "_Chain":
        return _Chain(
            join([self.label, server.label]), self.untrusted or not server.trusted, self.deep + 1
        )


def _unheard(wanted: ReadRequest, gate: str) -> None:
    """Nobody is told what was not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchCalls:
    catalogues: Catalogs
    schemas: SchemaCheck
    guard: Guard
    as_they_are: RevalidatePrincipal
    switches: SwitchesAtHand
    upstreams: Upstreams
    executor: PrefetchExecutor
    clock: Clock
    gates: Sequence[Gate] = GATES
    turned_down: Callable[[ReadRequest, str], None] = _unheard
    """Told which gate was closed."""

    async def these(
        self, caller: Principal, wanted: Sequence[ReadRequest]
    ) -> Sequence[ReadRequest]:
        """Those that are under way now, or were already. It waits for no server, and raises
        nothing of what stands in the way of one."""
        return await self._begun(caller, wanted, _Chain())

    async def _begun(
        self, caller: Principal, wanted: Sequence[ReadRequest], chain: _Chain
    ) -> Sequence[ReadRequest]:
        begun = []
        for each in wanted[:_MOST]:
            try:
                if await self._begin(caller, each, chain):
                    begun.append(each)
            except PorticoError as error:
                self.turned_down(each, error.code)
        return begun

    async def _begin(self, caller: Principal, wanted: ReadRequest, chain: _Chain) -> bool:
        """Looked at twice: before a limit is used for it and, as that takes a while, afterwards.
        Nothing of the caller's own limit is used, and little of what is everybody's. Raises what
        the catalogue and the guard raise."""
        attempt, _ = await self._attempt(caller, wanted, chain)
        if self.executor.buffer.holds(key_of(attempt.access_request)):
            return True
        if not self._let_through(attempt):
            return False
        await self.guard.limits.take_ahead(attempt.access_request, self.executor.terms.share)
        attempt, server = await self._attempt(caller, wanted, chain)
        return self._let_through(attempt) and self._started(caller, attempt, server, chain)

    def _let_through(self, attempt: Attempt) -> bool:
        gate = closed(attempt, self.gates)
        if gate is not None:
            self.turned_down(attempt.wanted, gate)
        return gate is None

    def _started(self, caller: Principal, attempt: Attempt, server: Server, chain: _Chain) -> bool:
        """Right after the gates: between them and this, nothing else happens."""
        act, label = attempt.access_request, attempt.task.label
        held = BufferedCall(
            key=key_of(act), access_request=act, server=server, wanted=attempt.wanted, label=label
        )
        begun = self.executor.start(held, attempt.price, self._after(caller, chain.beyond(server)))
        if begun and isinstance(attempt.decision, Allowed):
            self.guard.made_ahead(act, attempt.decision)
        return begun

    async def _attempt(
        self, caller: Principal, wanted: ReadRequest, chain: _Chain
    ) -> tuple[Attempt, Server]:
        caller, stands = await self._as_now(caller)
        shelf = await self.catalogues.current(caller)
        act = act_on(caller, shelf, wanted.ref, wanted.arguments)
        server = shelf.server(wanted.ref.server)
        switches = await self.switches.current(caller)
        read = await self.guard.contexts.get(caller)
        task = risen(read, chain.label, untrusted=chain.untrusted)
        decision = await self.guard.decide.in_task(act, task)
        lane, now, place = self.executor, self.executor.now(), key_of(act).place
        vitals = self.upstreams.health(caller.space, server.name)
        inside = isinstance(server.launch, Inside)
        attempt = Attempt(
            wanted=wanted,
            access_request=act,
            stands=stands,
            mode=switches.mode_of(server),
            external=switches.external_for(server),
            workflows=server.holds_workflows or server.holds_agents,
            task=task,
            trusted={its.id for its in shelf.servers.values() if its.trusted},
            field_errors=self._flaws(shelf, act, wanted),
            decision=decision,
            usual=self._usual(caller, server, wanted),
            settled=not lane.unsettled.touches(act, now),
            awake=inside or vitals.phase is Phase.RUNNING,
            busy=vitals.calls_now,
            alone=isinstance(server.launch, Stdio),
            use=lane.budget.use(place, server.name, now),
            price=lane.terms.price_of(str(wanted.ref)),
            terms=lane.terms,
        )
        return attempt, server

    async def _as_now(self, caller: Principal) -> tuple[Principal, bool]:
        """With no more than they had when they were last heard of."""
        if caller.until is not None and caller.until <= self.clock.now():
            return caller, False
        try:
            now = await self.as_they_are.no_more(caller, key=caller.key, at=caller.context)
        except KeyEnded:
            return caller, False
        return replace(now, tools=(*now.tools, *caller.tools)), True

    def _flaws(self, shelf: CatalogSnapshot, act: AccessRequest, wanted: ReadRequest) -> int:
        schema = shelf.find(wanted.ref).definition.input_schema
        return len(self.schemas.field_errors(schema, act.arguments))

    def _usual(self, caller: Principal, server: Server, wanted: ReadRequest) -> timedelta | None:
        return self.executor.paces.usual(caller.space, ToolPlace(server.id, wanted.ref.name))

    def _after(self, caller: Principal, chain: _Chain) -> After:
        async def after(held: BufferedCall, answer: ToolResult) -> None:
            then = held.wanted.then
            if then is not None and chain.deep <= _DEEPEST and not held.doomed:
                await self._begun(caller, then(answer), chain)

        return after


# What callers do, one task at a time: learnt from, and looked ahead from, beside their calls.
#
# A call pays for being noted, and for nothing else. What is noted is worked through in the order in
# which it came, by one worker, for a small share of the time. A task of which something could not
# be worked through begins anew, so that nothing is learnt from calls that did not follow each
# other.

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
    tasks: TrackedContexts
    run_ahead: PrefetchCalls
    layers: LabelModels
    catalogues: Catalogs
    contexts: Contexts
    switches: SwitchesAtHand
    tally: PrefetchCounter
    clock: Clock
    effort: FairEffort = field(default_factory=FairEffort)
    trust: TrustInAll = field(default_factory=TrustInAll)
    _noted: deque[Called | StatedIntent] = field(default_factory=deque)
    _waiting: Counter[_Who] = field(default_factory=Counter)
    """How many of those are whose."""
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    def note(
        self,
        act: AccessRequest,
        server: Server,
        began: datetime,
        answer: ToolResult,
        *,
        in_run: bool = False,
    ) -> None:
        """Of an answer that is far too long, only that there was one; of one to a run, only how
        long it took."""
        ended, served = self.clock.now(), is_marked(answer)
        if in_run or answer.size > _LARGEST:
            answer = ToolResult([], failed=answer.failed)
        self._put(
            Called(
                access_request=act,
                server=server,
                started=began,
                ended=ended,
                answer=answer,
                served=served,
                in_run=in_run,
            )
        )

    def say(self, caller: Principal, *words: str) -> None:
        """What somebody looks for, or wants done, in their own words."""
        if any(words):
            self._put(StatedIntent(caller, words))

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

    def _put(self, noted: Called | StatedIntent) -> None:
        who = _who(noted.caller)
        if len(self._noted) >= _NOTED or self._waiting[who] >= _NOTED_OF_ONE:
            self.tasks.missed(noted.caller)
            return
        self._noted.append(noted)
        self._waiting[who] += 1
        self._bell.set()

    def _next(self) -> Called | StatedIntent:
        noted = self._noted.popleft()
        who = _who(noted.caller)
        self._waiting[who] -= 1
        if not self._waiting[who]:
            del self._waiting[who]
        return noted

    async def _worked(self, noted: Called | StatedIntent) -> None:
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
            took = noted.ended - noted.started
            self.run_ahead.executor.paces.note(caller.space, noted.tool, took)
        if isinstance(noted, StatedIntent) or not noted.in_run:
            await self._look_ahead(noted, switches.mode)

    async def _look_ahead(self, noted: Called | StatedIntent, mode: PrefetchMode) -> None:
        """First all that has to be waited for, then the work at one go."""
        caller = noted.caller
        label = (await self.contexts.get(caller)).label
        shelf = await self.catalogues.offered(caller)
        below = await self.layers.covered(caller, label)
        self.effort.spent(_who(caller), self.layers.reading_took())
        began = monotonic()
        task = self.tasks.of(caller, label, self.clock.now())
        if task.missed:
            self.layers.add(caller, label, task.course.end(below[0]))
            task.missed = False
        self._take_in(task, noted, shelf, below[0])
        wanted = {} if mode is PrefetchMode.OFF else self._wanted(task, below, shelf)
        trusted = self.trust.predicted(caller, wanted)
        self.effort.spent(_who(caller), monotonic() - began)
        for old in self.tasks.too_many():
            await self._end(old)
        if wanted and mode is PrefetchMode.LIVE:
            await self._make(caller, [*wanted.values()], trusted=trusted)

    async def _make(
        self, caller: Principal, wanted: Sequence[ReadRequest], *, trusted: bool
    ) -> None:
        if not trusted:
            for each in wanted:
                self.run_ahead.turned_down(each, PROVEN_FOR_CALLER)
            return
        self.effort.spent(_who(caller), _A_TRIP * len(wanted))
        await self.run_ahead.these(caller, wanted)

    def _take_in(
        self, task: Task, noted: Called | StatedIntent, shelf: CatalogSnapshot, layer: LabelModel
    ) -> None:
        if isinstance(noted, StatedIntent):
            for words in noted.words:
                task.course.told(words)
            return
        call = noted.seen(shelf)
        self.tally.called(task.caller, task.label)
        self.trust.saw(task.caller, call.key, reads=call.reads)
        self.layers.add(task.caller, task.label, task.course.saw(call, layer))

    def _wanted(
        self, task: Task, below: Sequence[LabelModel], shelf: CatalogSnapshot
    ) -> dict[bytes, ReadRequest]:
        """Of all that is foretold, what has proved right, by the keys of the calls; the rest is
        only looked at later."""
        names = {its.id: name for name, its in shelf.servers.items()}

        def found(place: ToolPlace) -> CallableTool | None:
            return shelf.tools.get(ToolRef(names.get(place.server, ""), place.tool))

        def among(place: ToolPlace) -> bool:
            tool = found(place)
            return tool is not None and tool.effect.is_read_only

        wanted = {}
        for predicted in task.course.ahead(below, among):
            self.tally.predicted(task.caller, task.label, predicted.edge, live=predicted.live)
            place = predicted.form.tool
            tool = found(place)
            if predicted.live and tool is not None:
                key = call_key(place, predicted.arguments)
                wanted[key] = ReadRequest.of(predicted, tool.ref, tool.pin)
        return wanted

    async def _end(self, task: Task) -> None:
        """What was foretold and did not come is known to have been wrong."""
        layer = await self.layers.of(task.caller, task.label)
        self.layers.add(task.caller, task.label, task.course.end(layer))
        self.trust.ended(task.caller)


def _who(caller: Principal) -> _Who:
    return caller.space, caller.id


TOPIC: Final = "ahead"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchEvents:
    log: EventLog

    async def switched(
        self,
        caller: Principal,
        before: SpaceSwitches,
        after: SpaceSwitches,
        named: Sequence[Server],
    ) -> None:
        """Of a server only to whoever may know of it."""
        told = [_of_server(its, after) for its in named if _own(its, before) != _own(its, after)]
        if (before.mode, before.learning) != (after.mode, after.learning):
            facts: JsonObject = {"mode": str(after.mode), "learning": after.learning}
            told.append(NewEntry(topic=TOPIC, type="ahead.switched", details=facts))
        await self.log.append(caller, told)

    async def turned(
        self, caller: Principal, label: Label, edges: Sequence[tuple[str, str, bool]]
    ) -> None:
        """Edges that became live, or fell back: after which tool, which tool, and whether."""
        told = [
            NewEntry(
                topic=TOPIC,
                type="ahead.live" if live else "ahead.shadow",
                details={"after": after, "tool": tool},
                label=label,
            )
            for after, tool, live in edges
        ]
        await self.log.append(caller, told)

    async def counted(self, caller: Principal, label: Label, since: PrefetchTotals) -> None:
        """What has come to the sums since it was last told."""
        told = NewEntry(
            topic=TOPIC,
            type="ahead.figures",
            details={
                "calls": since.calls,
                "tried": since.tried,
                "served": since.served,
                "saved_ms": round(since.saved.total_seconds() * 1000),
            },
            label=label,
        )
        await self.log.append(caller, [told])


def _of_server(server: Server, switches: SpaceSwitches) -> NewEntry:
    its = _own(server, switches)
    facts: JsonObject = {"server": server.name, "mode": str(its.mode), "external": its.external}
    return NewEntry(topic=TOPIC, type="ahead.switched", details=facts, label=server.label)


def _own(server: Server, switches: SpaceSwitches) -> ServerSwitch:
    return switches.servers.get(server.id, ServerSwitch())


# What comes of calls made ahead, counted as it happens and written down a little later.

_KEYS: Final = 10_000
"""Of a space and a label, that wait to be written; further ones are not counted."""
_EDGES: Final = 20_000
"""That it is remembered of whether they were live."""

MetricScope = tuple[SpaceId, Label]


class PrefetchMeter(Protocol):
    """Counts for whoever looks after the machine: sums of the whole process."""

    def called(self) -> None: ...

    def predicted(self, *, live: bool) -> None: ...

    def tried(self) -> None: ...

    def served(self, saved: timedelta) -> None: ...

    def wasted(self, why: WasteReason) -> None: ...

    def refused(self, gate: str) -> None: ...


@dataclass(slots=True)
class _Noted:
    caller: Principal
    counts: dict[CountKey, Count] = field(default_factory=dict)
    turned: list[tuple[EdgeKey, bool]] = field(default_factory=list)
    untold: PrefetchTotals = field(default_factory=PrefetchTotals)

    def add(self, key: CountKey, count: Count) -> None:
        known = self.counts.get(key)
        if known is not None:
            self.counts[key] = known.and_then(count)
        elif len(self.counts) < _KEYS:
            self.counts[key] = count


@dataclass(slots=True, kw_only=True)
class PrefetchRecorder:
    counts: LearnedCounts
    servers: Servers
    news: PrefetchEvents
    meter: PrefetchMeter
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    told_every: int = 5
    """Writings after which the sums are told as an event."""
    _noted: dict[MetricScope, _Noted] = field(default_factory=dict)
    _live: OrderedDict[tuple[SpaceId, EdgeKey], bool] = field(default_factory=OrderedDict)
    _refused: OrderedDict[EdgeKey, str] = field(default_factory=OrderedDict)

    def called(self, caller: Principal, label: Label) -> None:
        """By a caller, for itself."""
        self.meter.called()
        self._count(self._of(caller, label), CALLS, ALL_CALLS, 1)

    def predicted(self, caller: Principal, label: Label, edge: EdgeKey, *, live: bool) -> None:
        """Whether or not it is then made."""
        self.meter.predicted(live=live)
        place = (caller.space, edge)
        was = self._live.get(place, live)
        self._live[place] = live
        self._live.move_to_end(place)
        while len(self._live) > _EDGES:
            self._live.popitem(last=False)
        if was is not live:
            self._of(caller, label).turned.append((edge, live))

    def tried(self, caller: Principal, label: Label, edge: EdgeKey | None) -> None:
        """Along no edge: because it was suggested."""
        self.meter.tried()
        if edge is not None:
            self._refused.pop(edge.way, None)
        self._count(self._of(caller, label), RAN, _key(edge), 1)

    def served(
        self,
        caller: Principal,
        label: Label,
        edge: EdgeKey | None,
        *,
        took: timedelta,
        waited: timedelta,
    ) -> None:
        """`took`: how long the call took; `waited`: how long whoever asked for it waited."""
        saved = max(timedelta(), took - waited)
        self.meter.served(saved)
        noted = self._of(caller, label)
        self._count(noted, RAN, _key(edge), hit=1)
        self._count(noted, SAVED, _key(edge), round(saved / timedelta(milliseconds=1)))

    def turned_down(self, wanted: ReadRequest, gate: str) -> None:
        """It was foretold, and not made because this gate was closed."""
        self.meter.refused(gate)
        if wanted.edge is not None:
            self._refused[wanted.edge.way] = gate
            while len(self._refused) > _EDGES:
                self._refused.popitem(last=False)

    @property
    def refused(self) -> Mapping[EdgeKey, str]:
        """By which gate each way was turned down in this process when it was last foretold."""
        return self._refused

    def wasted(self, why: WasteReason) -> None:
        """Why, is told to the meter only: what was made and not served is counted as it is."""
        self.meter.wasted(why)

    async def run(self) -> None:
        turns = count(1)

        async def in_turn() -> None:
            await self.flush()
            if next(turns) % self.told_every == 0:
                await self.tell()

        await keep_written(self.every, in_turn, self.flush)

    async def flush(self) -> None:
        """What cannot be written now stays counted."""
        for (_, label), noted in list(self._noted.items()):
            writer = at_label(noted.caller, label)
            if noted.turned:
                turned, noted.turned = noted.turned, []
                await self.news.turned(writer, label, await self._named(writer, label, turned))
            counts, noted.counts = noted.counts, {}
            try:
                if counts:
                    await self.counts.learn(writer, label, counts)
            except PorticoError:
                for key, count in counts.items():
                    noted.add(key, count)
                raise
            rows = ((key.kind, count.tried, count.hit) for key, count in counts.items())
            noted.untold = noted.untold.and_then(added_up(rows))

    async def tell(self) -> None:
        """Where anything was made or served: that calls go on is no news."""
        for (space, label), noted in list(self._noted.items()):
            since = noted.untold
            if since.tried or since.served:
                await self.news.counted(at_label(noted.caller, label), label, since)
                noted.untold = PrefetchTotals()
            if not noted.counts and not noted.turned:
                del self._noted[space, label]

    async def _named(
        self, caller: Principal, label: Label, turned: list[tuple[EdgeKey, bool]]
    ) -> list[tuple[str, str, bool]]:
        """Without those of servers that are gone, or that not everybody who reads this knows of."""
        every = await self.servers.all(caller)
        names = {server.id: server.name for server in every if label.covers(server.label)}

        def named(place: ToolPlace | None) -> str | None:
            if place is None:
                return ""
            name = names.get(place.server)
            return None if name is None else f"{name}.{place.tool}"

        return [*_known((named(edge.last), named(edge.form.tool), live) for edge, live in turned)]

    def _count(self, noted: _Noted, kind: str, key: str, tried: int = 0, *, hit: int = 0) -> None:
        noted.add(CountKey.of(kind, key), Count(tried, hit, self.clock.now()))

    def _of(self, caller: Principal, label: Label) -> _Noted:
        return self._noted.setdefault((caller.space, label), _Noted(caller))


def _key(edge: EdgeKey | None) -> str:
    return SUGGESTED if edge is None else str(edge)


def _known(
    found: Iterator[tuple[str | None, str | None, bool]],
) -> Iterator[tuple[str, str, bool]]:
    for after, tool, live in found:
        if after is not None and tool is not None:
            yield after, tool, live


_SHOW_MOST: Final = 20_000
"""Counts of a label that are looked at, the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPrefetch:
    server: Server
    own: ServerSwitch
    mode: PrefetchMode
    """In force, which is the strictest of all."""
    external: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchDetails:
    switches: Switches
    servers: Sequence[ServerPrefetch]
    """By name."""
    totals: PrefetchTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPrefetch:
    board: Switchboard
    servers: Servers
    counts: LearnedCounts

    async def __call__(self, caller: Principal) -> PrefetchDetails:
        """Of what the caller may know of. Raises `NotPermitted`."""
        require_scope(caller, Scope.SERVERS_READ)
        return await self.of(caller)

    async def of(self, caller: Principal) -> PrefetchDetails:
        switches = await self.board.current(caller)
        counted = await _counted(self.counts, caller, FIGURES)
        return PrefetchDetails(
            switches=switches,
            servers=[_look(switches, its) for its in await self.servers.all(caller)],
            totals=added_up((key.kind, count.tried, count.hit) for key, count in counted),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPrefetchEdges:
    counts: LearnedCounts
    catalogues: Catalogs
    metrics: PrefetchRecorder

    async def __call__(self, caller: Principal, *, most: int = 100) -> Sequence[PrefetchEdge]:
        """Between tools that are offered to the caller, those foretold most often first. Raises
        `NotPermitted`."""
        require_scope(caller, Scope.SERVERS_READ)
        shelf = await self.catalogues.offered(caller)
        counted = await _counted(self.counts, caller, (RECORD, RAN, SAVED))
        rows = ((key.kind, key.key, count) for key, count in counted)
        return edge_table(rows, _names(shelf), self.metrics.refused)[:most]


async def _counted(
    counts: LearnedCounts, caller: Principal, kinds: Sequence[str]
) -> Sequence[tuple[CountKey, Count]]:
    found: list[tuple[CountKey, Count]] = []
    for label in await counts.labels(caller):
        found += await counts.known(caller, label, _SHOW_MOST, kinds)
    return found


def _names(shelf: CatalogSnapshot) -> dict[ToolPlace, ToolRef]:
    return {
        ToolPlace(shelf.servers[ref.server].id, ref.name): ref
        for ref in shelf.tools
        if ref.server in shelf.servers
    }


def _look(switches: Switches, server: Server) -> ServerPrefetch:
    return ServerPrefetch(
        server=server,
        own=switches.own(server),
        mode=switches.mode_of(server),
        external=switches.external_for(server),
    )


@dataclass(frozen=True, slots=True)
class ServerPrefetchSpec:
    """None: as it is."""

    mode: PrefetchMode | None = None
    external: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchSpec:
    """None: as it is."""

    mode: PrefetchMode | None = None
    learning: bool | None = None
    servers: Mapping[str, ServerPrefetchSpec] = field(default_factory=dict)
    """By name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPrefetch:
    settings: SpaceSettings
    servers: Servers
    audit: Audit
    bus: Bus
    show: ShowPrefetch
    news: PrefetchEvents

    async def __call__(self, caller: Principal, wish: PrefetchSpec) -> PrefetchDetails:
        """In force in every process within a second. Raises `NotPermitted`, `ServerNotFound`."""
        require_scope(caller, Scope.SERVERS_APPROVE)
        named = [await self.servers.get(caller, name) for name in wish.servers]
        async with self.settings.changing(caller, AHEAD) as found:
            before = read_switches(found)
            after = _switched(before, wish, named)
            if after != before:
                await self.settings.put(caller, AHEAD, switches_json(after))
                await self.audit.note(caller, *_entries(before, after, named))
                await self.news.switched(caller, before, after, named)
        self.bus.wake(caller.space, AHEAD)
        return await self.show.of(caller)


def _switched(before: SpaceSwitches, wish: PrefetchSpec, named: Sequence[Server]) -> SpaceSwitches:
    servers = dict(before.servers)
    for server in named:
        own, wished = servers.get(server.id, ServerSwitch()), wish.servers[server.name]
        servers[server.id] = ServerSwitch(
            own.mode if wished.mode is None else wished.mode,
            own.external if wished.external is None else wished.external,
        )
    return replace(
        before,
        mode=before.mode if wish.mode is None else wish.mode,
        learning=before.learning if wish.learning is None else wish.learning,
        servers=servers,
    )


def _entries(
    before: SpaceSwitches, after: SpaceSwitches, named: Sequence[Server]
) -> Iterator[AuditEntry]:
    was, now = _facts(before), _facts(after)
    if was != now:
        yield AuditEntry(action="ahead.switched", subject="space", details={"was": was, "now": now})
    for server in named:
        was, now = _switch_facts(before, server), _switch_facts(after, server)
        if was != now:
            yield about_server("ahead.switched", server, was=was, now=now)


def _facts(switches: SpaceSwitches) -> JsonObject:
    return {"mode": str(switches.mode), "learning": switches.learning}


def _switch_facts(switches: SpaceSwitches, server: Server) -> JsonObject:
    own = switches.servers.get(server.id, ServerSwitch())
    return {"mode": str(own.mode), "external": own.external}
