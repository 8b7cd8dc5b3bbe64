"""Observe calls and their results, and keep what they teach."""

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final, Protocol

from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace, shape_of
from portico.gateway.core.servers import Server
from portico.gateway.ports import Shapes, house, keep_written
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.learning.core.dataflow_fields import Flow, Flows
from portico.learning.core.observation import Count, CountKey, Increment, LabelModel, added_up
from portico.learning.core.observed_calls import IDLE, LONGEST, ObservedCall, Predicted, seen_call
from portico.learning.core.observed_values import own_values, parameters_of
from portico.learning.core.prefetch_cache import ContextKey, place_of
from portico.learning.core.provenance import Trace, came_from, gave, took
from portico.learning.core.tool_graph import EdgeKind, KnownEdges, Sightings, ToolEdge
from portico.workflows.core.plan_values import document_value, step_document

# Which results became which arguments, between the tools that somebody may know of.

MOST_FLOWS: Final = 5_000


class Names:
    """What a caller calls a tool that was learnt of; None if they may not know of it."""

    def __init__(self, shelf: CatalogSnapshot) -> None:
        self._shelf = shelf
        self._names = {server.id: name for name, server in shelf.servers.items()}

    def __call__(self, place: ToolPlace) -> str | None:
        name = self._names.get(place.server)
        ref = None if name is None else ToolRef(name, place.tool)
        return str(ref) if ref in self._shelf.tools else None


def known_flows(counted: Mapping[Passed, int], shelf: CatalogSnapshot) -> Flows:
    named = Names(shelf)
    counts: dict[Flow, int] = {}
    for passed, times in counted.items():
        producer, consumer = named(passed.producer), named(passed.consumer)
        if producer is not None and consumer is not None:
            counts[Flow(producer, passed.path, consumer, passed.parameter)] = times
    return Flows.of(counts)


# What a caller has done or said, until it is worked through.


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    access_request: AccessRequest
    server: Server
    started: datetime
    ended: datetime
    answer: ToolResult
    served: bool
    """It had been made ahead; how long that took, the lane knows."""
    in_run: bool

    @property
    def caller(self) -> Principal:
        return self.access_request.caller

    @property
    def tool(self) -> ToolPlace:
        return ToolPlace(self.server.id, ToolRef.parse(self.access_request.target.tool).name)

    def seen(self, shelf: CatalogSnapshot) -> ObservedCall:
        found = shelf.tools.get(ToolRef.parse(self.access_request.target.tool))
        schema = {} if found is None else found.definition.input_schema
        return seen_call(
            self.tool,
            self.access_request.arguments,
            self.answer,
            ended=self.ended,
            reads=self.access_request.target.effect.is_read_only,
            own=own_values(schema),
            parameters=parameters_of(schema),
        )


@dataclass(frozen=True, slots=True)
class StatedIntent:
    caller: Principal
    words: Sequence[str]


_TASKS: Final = 100


class Foretelling(Protocol):
    """What one task has done and said, and what it will probably do next."""

    def saw(self, call: ObservedCall, layer: LabelModel) -> Sequence[Increment]: ...

    def told(self, text: str) -> None: ...

    def ahead(
        self, layers: Sequence[LabelModel], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]: ...

    def end(self, layer: LabelModel) -> Sequence[Increment]: ...


@dataclass(slots=True)
class Task:
    caller: Principal
    course: Foretelling
    heard_at: datetime
    label: Label = PUBLIC
    missed: bool = False
    """Something happened at it that was not worked through."""


@dataclass(slots=True, kw_only=True)
class TrackedContexts:
    new_history: Callable[[], Foretelling]
    """For a task that nothing is known of yet."""
    _at: OrderedDict[ContextKey, Task] = field(default_factory=OrderedDict)

    def __iter__(self) -> Iterator[Task]:
        return iter([*self._at.values()])

    def of(self, caller: Principal, label: Label, now: datetime) -> Task:
        """That which the caller is at, as they are now."""
        place = place_of(caller)
        task = self._at.get(place)
        if task is None:
            task = self._at[place] = Task(caller, self.new_history(), now)
        task.caller, task.label, task.heard_at = caller, label, now
        self._at.move_to_end(place)
        return task

    def missed(self, caller: Principal) -> None:
        """Something of what the caller's task has done: it begins anew. What it has taught already
        is remembered, so that nobody teaches more by being missed."""
        task = self._at.get(place_of(caller))
        if task is not None:
            task.missed = True

    def forget(self, caller: Principal) -> None:
        self._at.pop(place_of(caller), None)

    def too_many(self) -> Iterator[Task]:
        """Those that nothing was heard of for longest, which are forgotten."""
        while len(self._at) > _TASKS:
            yield self._at.popitem(last=False)[1]

    def idle(self, now: datetime) -> Iterator[Task]:
        """At which nothing has happened for so long that it was the end of something; what they
        have taught is remembered for longer."""
        for task in self:
            if now - task.heard_at > IDLE:
                yield task
            if now - task.heard_at > LONGEST:
                self.forget(task.caller)


class ObservedFlows(Protocol):
    """Which results became which arguments, counted."""

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        """Of a server that is gone nothing is kept."""
        ...

    async def counted(self, caller: Principal, most: int) -> Mapping[Passed, int]:
        """Those of the whole space that were seen most often, as of `Shapes` without labels."""
        ...


class EdgeNotes(Protocol):
    """Which tool came after which."""

    def note(self, caller: Principal, label: Label, edges: Iterable[ToolEdge]) -> None:
        """`label`: of all that the caller's task has read by now."""
        ...


class Learns(Protocol):
    """Whether anything may be learnt from what is done in a space."""

    async def __call__(self, caller: Principal, /) -> bool: ...


async def always(_caller: Principal, /) -> bool:
    return True


_LARGEST: Final = 200_000
"""Characters of an answer that anything is learnt from."""
_CALLS: Final = 64
"""Of one task, whose values are recognized."""
_VALUES: Final = 2_000
"""Of all calls of one task together."""
_RECENT: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallObservation:
    """A call that was made, and what came of it."""

    access_request: AccessRequest
    tool: ToolPlace
    answer: ToolResult
    started: datetime
    ended: datetime
    in_run: bool


@dataclass(slots=True)
class _Learnt:
    """Of one space, and not written down yet; `caller` is somebody of it."""

    caller: Principal
    shapes: dict[ToolPlace, ObservedSchema] = field(default_factory=dict)
    passed: Counter[Passed] = field(default_factory=Counter)

    def seen(self, tool: ToolPlace, shape: ObservedSchema) -> None:
        before = self.shapes.get(tool)
        self.shapes[tool] = shape if before is None else before.and_then(shape)

    def and_then(self, later: "_Learnt") -> None:
        for tool, shape in later.shapes.items():
            self.seen(tool, shape)
        self.passed.update(later.passed)


@dataclass(slots=True, kw_only=True)
class CallObservations:
    """A call pays for nothing but being noted; when more are made than can be learnt from, some
    are not learnt from."""

    shapes: Shapes
    flows: ObservedFlows
    edges: EdgeNotes
    contexts: Contexts
    clock: Clock
    key: bytes
    """Of the digests by which values are recognized; it leaves this process no more than they."""
    every: timedelta = timedelta(seconds=2)
    at_most: timedelta = timedelta(milliseconds=50)
    """How much of that is spent on it."""
    limit: int = 256
    """Calls that wait to be learnt from."""
    learns: Learns = always
    _waiting: deque[CallObservation] = field(default_factory=deque)
    _tasks: OrderedDict[tuple[SpaceId, ContextId], deque[Trace]] = field(
        default_factory=OrderedDict
    )
    _learnt: dict[SpaceId, _Learnt] = field(default_factory=dict)

    def note(
        self,
        act: AccessRequest,
        server: Server,
        began: datetime,
        answer: ToolResult,
        *,
        in_run: bool = False,
    ) -> None:
        """Of a tool's own failure nothing is learnt. `in_run`: it was made for a run, and the order
        in which such are made is the plan's."""
        if answer.failed or len(self._waiting) >= self.limit or answer.size > _LARGEST:
            return
        tool = ToolPlace(server.id, ToolRef.parse(act.target.tool).name)
        lesson = CallObservation(
            access_request=act,
            tool=tool,
            answer=answer,
            started=began,
            ended=self.clock.now(),
            in_run=in_run,
        )
        self._waiting.append(lesson)

    async def flush(self, at_most: timedelta | None = None) -> None:
        """All that is noted, or as much as there is time for. What cannot be written now stays
        learnt."""
        await self._learn_noted(at_most)
        for space in list(self._learnt):
            learnt = self._learnt.pop(space)
            try:
                await self._write(learnt)
            except PorticoError:
                since = self._learnt.setdefault(space, _Learnt(learnt.caller))
                since.and_then(learnt)
                raise

    async def run(self) -> None:
        await keep_written(self.every, partial(self.flush, self.at_most), self.flush)

    async def _learn_noted(self, at_most: timedelta | None) -> None:
        """What is noted meanwhile comes next time, when its task is looked at anew."""
        loop, spent = asyncio.get_running_loop(), 0.0
        read: dict[tuple[SpaceId, ContextId], Label | None] = {}
        for _ in range(len(self._waiting)):
            if at_most is not None and spent >= at_most.total_seconds():
                return
            lesson = self._waiting.popleft()
            label = await self._label(lesson, read)
            if label is not None:
                began = loop.time()
                self._learn(lesson, label)
                spent += loop.time() - began
            await asyncio.sleep(0)  # others go on in between

    async def _label(
        self, lesson: CallObservation, read: dict[tuple[SpaceId, ContextId], Label | None]
    ) -> Label | None:
        """Of all that its task has read; None if nothing is learnt from it."""
        caller = lesson.access_request.caller
        task = (caller.space, context_of(caller))
        if task not in read:
            read[task] = await self._read_in(caller) if await self.learns(caller) else None
        return read[task]

    async def _read_in(self, caller: Principal) -> Label | None:
        """How secret what a task has read is; None of one that is closed."""
        try:
            return (await self.contexts.get(caller)).label
        except ContextNotFound:
            return None

    def _learn(self, lesson: CallObservation, label: Label) -> None:
        """What is learnt of a tool is told to whoever may know of its server. A task that has read
        what is more secret could have handed that on, since a key of a result can be a word of
        somebody's: such a task teaches only what has its label."""
        act, document = lesson.access_request, step_document(lesson.answer)
        trace = Trace(
            lesson.tool,
            lesson.started,
            lesson.ended,
            took(act.arguments, self._digest),
            gave(document, self._digest),
        )
        earlier = self._earlier(act.caller, lesson.started)
        passed = came_from(earlier, trace)
        if act.target.label.covers(label):
            learnt = self._of(act.caller)
            learnt.seen(
                lesson.tool, ObservedSchema(act.target.pin, 1, shape_of(document_value(document)))
            )
            learnt.passed.update(passed)
        if not lesson.in_run:
            self.edges.note(act.caller, label, _edges(earlier, trace, passed))
        earlier.append(trace)

    def _earlier(self, caller: Principal, now: datetime) -> deque[Trace]:
        """The last calls of the same task."""
        task = (caller.space, context_of(caller))
        traces = self._tasks.setdefault(task, deque())
        self._tasks.move_to_end(task)
        while len(self._tasks) > _TASKS:
            self._tasks.popitem(last=False)
        values = sum(len(trace.gave) for trace in traces)
        while traces and (
            now - traces[0].ended > _RECENT or values > _VALUES or len(traces) >= _CALLS
        ):
            values -= len(traces.popleft().gave)
        return traces

    async def _write(self, learnt: _Learnt) -> None:
        if learnt.shapes:
            await self.shapes.learn(learnt.caller, learnt.shapes)
            learnt.shapes = {}
        if learnt.passed:
            await self.flows.learn(learnt.caller, learnt.passed)

    def _of(self, caller: Principal) -> _Learnt:
        return self._learnt.setdefault(caller.space, _Learnt(caller))

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(
            text.encode(errors="surrogatepass"), digest_size=12, key=self.key
        ).digest()


def _edges(earlier: Sequence[Trace], now: Trace, passed: AbstractSet[Passed]) -> Iterator[ToolEdge]:
    """From the last that had ended when it began, and from each that it took something of."""
    before = [trace for trace in earlier if trace.ended <= now.started]
    if before:
        last = max(before, key=lambda trace: trace.ended)
        yield ToolEdge(last.tool, now.tool, EdgeKind.FOLLOWS)
    for producer in dict.fromkeys(each.producer for each in passed):
        yield ToolEdge(producer, now.tool, EdgeKind.FEEDS)


class EdgeStore(Protocol):
    """Which tool came after which, under the label of all that the task had read by then."""

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        """Put to what is known. Of a server that is gone nothing is kept, nor under a label that
        the caller's clearance does not cover."""
        ...

    async def known(self, caller: Principal, most: int) -> KnownEdges:
        """At labels within the caller's clearance; of more than `most` those of most tasks. One
        that was seen at several labels is there several times."""
        ...

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        """Of those with this label only so many stay that were seen last."""
        ...


class LearnedCounts(Protocol):
    """Counters of one (space, label); it knows nothing of what they count."""

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        """Put to what is known. Not kept: what names a server that is gone, what does not fit,
        and anything under a label that the caller's clearance does not cover."""
        ...

    async def labels(self, caller: Principal) -> Sequence[Label]:
        """Within the caller's clearance, of which there is anything."""
        ...

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        """Of each kind the ones seen last, in the order in which they were last seen. Of no kinds:
        of all. Nothing of a label that the caller's clearance does not cover."""
        ...

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        """Of each kind with this label only so many stay that were seen last."""
        ...


def at_label(caller: Principal, label: Label) -> Principal:
    """Whoever it was learnt from may be gone by then, or cleared for less."""
    return replace(house(caller.space), clearance=label)


# What was learnt of what comes next, by label: at hand in memory, and written down a little later.
#
# A layer is read from the store when it is first needed, and again from time to time, for what
# other processes have learnt.

_AT_ONCE: Final = 500
"""Rows that are put in before others have their turn."""
_WAITING: Final = 20_000
"""Increments of a label that wait to be written; further ones are only in memory."""
_TOGETHER: Final = 8
"""Layers that one task is told from."""
_ROWS: Final = 20_000
"""Of a kind, that are read, and that stay."""
_TRIMMED: Final = 100
"""Writings of a label between two times that the others are taken away."""

Spot = tuple[SpaceId, Label]


@dataclass(slots=True)
class _Kept:
    layer: LabelModel
    read_at: float
    rows: int


@dataclass(slots=True)
class _Labels:
    known: Sequence[Label]
    read_at: float


@dataclass(slots=True, kw_only=True)
class LabelModels:
    counts: LearnedCounts
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    again: timedelta = timedelta(minutes=5)
    limit: int = 64
    """Layers in memory."""
    most_rows: int = 200_000
    """In all of them, as they were read."""
    _kept: OrderedDict[Spot, _Kept] = field(default_factory=OrderedDict)
    _labels: OrderedDict[Spot, _Labels] = field(default_factory=OrderedDict)
    _waiting: dict[Spot, tuple[Principal, list[Increment]]] = field(default_factory=dict)
    _writings: Counter[Spot] = field(default_factory=Counter)
    _took: float = 0.0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever writes or reads: so that nothing is counted twice, or not at all."""

    async def of(self, caller: Principal, label: Label) -> LabelModel:
        """That of exactly this label, in the caller's space, whoever the caller is."""
        spot = (caller.space, label)
        kept = self._kept.get(spot)
        if kept is None or self._old(kept.read_at):
            async with self._turn:
                kept = self._kept[spot] = await self._read(caller, label)
        self._kept.move_to_end(spot)
        while len(self._kept) > 1 and self._too_much():
            self._kept.popitem(last=False)
        return kept.layer

    def reading_took(self) -> float:
        """Seconds of work since this was last asked."""
        took, self._took = self._took, 0.0
        return took

    async def covered(self, caller: Principal, label: Label) -> Sequence[LabelModel]:
        """Those of labels that this one covers, its own first: what a task that has read so much
        may be told."""
        spot = (caller.space, label)
        found = self._labels.get(spot)
        if found is None or self._old(found.read_at):
            known = await self.counts.labels(at_label(caller, label))
            found = self._labels[spot] = _Labels(known, monotonic())
        self._labels.move_to_end(spot)
        while len(self._labels) > self.limit:
            self._labels.popitem(last=False)
        mine = {its for space, its in [*self._kept, *self._waiting] if space == caller.space}
        below = sorted(
            (its for its in {*found.known, *mine} - {label} if label.covers(its)), key=str
        )
        return [await self.of(caller, its) for its in [label, *below][:_TOGETHER]]

    def add(self, caller: Principal, label: Label, increments: Iterable[Increment]) -> None:
        """It is in its layer already."""
        _, waiting = self._waiting.setdefault((caller.space, label), (caller, []))
        waiting += [*increments][: max(0, _WAITING - len(waiting))]

    async def flush(self) -> None:
        """What cannot be written now stays to be written."""
        for spot in [*self._waiting]:
            async with self._turn:
                caller, waiting = self._waiting.pop(spot)
                try:
                    await self._write(caller, spot[1], waiting)
                except PorticoError:
                    since = self._waiting.get(spot, (caller, []))[1]
                    self._waiting[spot] = (caller, [*waiting, *since][:_WAITING])
                    raise

    async def run(self) -> None:
        await keep_written(self.every, self.flush)

    async def _write(self, caller: Principal, label: Label, waiting: Sequence[Increment]) -> None:
        now = self.clock.now()
        counted = {
            CountKey.of(each.kind, each.key): Count(each.tried, each.hit, now)
            for each in added_up(waiting).values()
        }
        writer, spot = at_label(caller, label), (caller.space, label)
        await self.counts.learn(writer, label, counted)
        if self._writings[spot] % _TRIMMED == 0:
            await self.counts.trim(writer, label, _ROWS)
        self._writings[spot] += 1

    async def _read(self, caller: Principal, label: Label) -> _Kept:
        layer = LabelModel(label)
        rows = await self.counts.known(at_label(caller, label), label, _ROWS)
        for start in range(0, len(rows), _AT_ONCE):
            began, some = monotonic(), rows[start : start + _AT_ONCE]
            layer.add(Increment(key.kind, key.key, its.tried, its.hit) for key, its in some)
            self._took += monotonic() - began
            await asyncio.sleep(0)  # others go on in between
        layer.add(self._waiting.get((caller.space, label), (caller, []))[1])
        return _Kept(layer, monotonic(), len(rows))

    def _too_much(self) -> bool:
        rows = sum(each.rows for each in self._kept.values())
        return len(self._kept) > self.limit or rows > self.most_rows

    def _old(self, read_at: float) -> bool:
        return monotonic() - read_at >= self.again.total_seconds()
