"""What is learnt from calls that were made: noted in passing, worked out and written down later."""

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import Passed, SeenShape, ToolPlace, shape_of
from portico.gateway.core.servers import Server
from portico.gateway.ports import Shapes, keep_written
from portico.guard.core.access_request import Act
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import EdgeKind, ToolEdge
from portico.learning.core.provenance import Trace, came_from, gave, took
from portico.learning.ports import EdgeNotes, Learns, SeenFlows, always
from portico.workflows.core.plan_values import document_value, step_document

_LARGEST: Final = 200_000
"""Characters of an answer that anything is learnt from."""
_TASKS: Final = 100
_CALLS: Final = 64
"""Of one task, whose values are recognized."""
_VALUES: Final = 2_000
"""Of all calls of one task together."""
_RECENT: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A call that was made, and what came of it."""

    act: Act
    tool: ToolPlace
    answer: Answer
    began: datetime
    ended: datetime
    in_run: bool


@dataclass(slots=True)
class _Learnt:
    """Of one space, and not written down yet; `caller` is somebody of it."""

    caller: Principal
    shapes: dict[ToolPlace, SeenShape] = field(default_factory=dict)
    passed: Counter[Passed] = field(default_factory=Counter)

    def seen(self, tool: ToolPlace, shape: SeenShape) -> None:
        before = self.shapes.get(tool)
        self.shapes[tool] = shape if before is None else before.and_then(shape)

    def and_then(self, later: "_Learnt") -> None:
        for tool, shape in later.shapes.items():
            self.seen(tool, shape)
        self.passed.update(later.passed)


@dataclass(slots=True, kw_only=True)
class Lessons:
    """A call pays for nothing but being noted; when more are made than can be learnt from, some
    are not learnt from."""

    shapes: Shapes
    flows: SeenFlows
    edges: EdgeNotes
    contexts: Contexts
    clock: Clock
    key: bytes
    """Of the digests by which values are recognized; it leaves this process no more than they."""
    every: timedelta = timedelta(seconds=2)
    at_most: timedelta = timedelta(milliseconds=50)
    """How much of that is spent on it."""
    most: int = 256
    """Calls that wait to be learnt from."""
    learns: Learns = always
    _waiting: deque[Lesson] = field(default_factory=deque)
    _tasks: OrderedDict[tuple[SpaceId, ContextId], deque[Trace]] = field(
        default_factory=OrderedDict
    )
    _learnt: dict[SpaceId, _Learnt] = field(default_factory=dict)

    def note(
        self,
        act: Act,
        server: Server,
        began: datetime,
        answer: Answer,
        *,
        in_run: bool = False,
    ) -> None:
        """Of a tool's own failure nothing is learnt. `in_run`: it was made for a run, and the order
        in which such are made is the plan's."""
        if answer.failed or len(self._waiting) >= self.most or answer.size > _LARGEST:
            return
        tool = ToolPlace(server.id, ToolRef.parse(act.aim.tool).name)
        lesson = Lesson(
            act=act,
            tool=tool,
            answer=answer,
            began=began,
            ended=self.clock.now(),
            in_run=in_run,
        )
        self._waiting.append(lesson)

    async def write_down(self, at_most: timedelta | None = None) -> None:
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
        await keep_written(self.every, partial(self.write_down, self.at_most), self.write_down)

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
        self, lesson: Lesson, read: dict[tuple[SpaceId, ContextId], Label | None]
    ) -> Label | None:
        """Of all that its task has read; None if nothing is learnt from it."""
        caller = lesson.act.caller
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

    def _learn(self, lesson: Lesson, label: Label) -> None:
        """What is learnt of a tool is told to whoever may know of its server. A task that has read
        what is more secret could have handed that on, since a key of a result can be a word of
        somebody's: such a task teaches only what has its label."""
        act, document = lesson.act, step_document(lesson.answer)
        trace = Trace(
            lesson.tool,
            lesson.began,
            lesson.ended,
            took(act.arguments, self._digest),
            gave(document, self._digest),
        )
        earlier = self._earlier(act.caller, lesson.began)
        passed = came_from(earlier, trace)
        if act.aim.label.covers(label):
            learnt = self._of(act.caller)
            learnt.seen(lesson.tool, SeenShape(act.aim.pin, 1, shape_of(document_value(document))))
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
    before = [trace for trace in earlier if trace.ended <= now.began]
    if before:
        last = max(before, key=lambda trace: trace.ended)
        yield ToolEdge(last.tool, now.tool, EdgeKind.FOLLOWS)
    for producer in dict.fromkeys(each.producer for each in passed):
        yield ToolEdge(producer, now.tool, EdgeKind.FEEDS)
