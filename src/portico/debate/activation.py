"""Activate a debate: leg, start, stop."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from portico.debate.core.conduct import Table
from portico.debate.core.debaters import Persona
from portico.debate.core.debates import Debate, DebateId, Note, RemainingBudget
from portico.debate.core.votes import Panel
from portico.debate.ports import DebateContexts
from portico.engine.core.errors import StoreUnavailable
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Bus, Wakeups
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokenizer
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal, PrincipalKind

_SELDOM: Final = 5.0
"""Seconds between two looks where nobody has called: a call can be lost."""


def stop_topic(run: RunId) -> str:
    """Where a run is told that somebody wants its debate to stop: that it is so is in its notes."""
    return f"~stop:{run}"


@dataclass(slots=True, kw_only=True)
class StopWatch:
    stopped: Callable[[], Awaitable[bool]]
    """Whether it is written down that it is to stop."""
    asked: bool = False
    _patiences: set[asyncio.Timeout] = field(default_factory=set)

    @asynccontextmanager
    async def watching(self, bus: Bus, space: SpaceId, run: RunId) -> AsyncIterator[None]:
        with bus.listen(space, stop_topic(run)) as ear:
            looking = asyncio.create_task(self._look(ear))
            try:
                yield
            finally:
                looking.cancel()

    @contextmanager
    def over(self, patience: asyncio.Timeout) -> Iterator[None]:
        """Ends the patience of whoever is listening as soon as it is to stop."""
        self._patiences.add(patience)
        if self.asked:
            _end(patience)
        try:
            yield
        finally:
            self._patiences.discard(patience)

    async def _look(self, ear: Wakeups) -> None:
        while not self.asked:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SELDOM):
                    await ear.wait()
            with suppress(StoreUnavailable):
                self.asked = await self.stopped()
        for patience in self._patiences:
            _end(patience)


def _end(patience: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # it is ending already
        patience.reschedule(asyncio.get_running_loop().time())


def asker_of(caller: Principal) -> JsonObject:
    """What a debate's run knows its starter again by, and the lists of tools that they had then."""
    return {"key": caller.key, "tools": [[*each] for each in caller.tools]}


@dataclass(slots=True, kw_only=True)
class Initiator:
    worker: Principal
    """Who stands in for them in the run, at the debate's own task."""
    requester: JsonObject
    as_they_are: RevalidatePrincipal
    now: Principal = field(init=False)
    """As they were when it was last looked: in this name voices are asked."""

    def __post_init__(self) -> None:
        self.now = self.worker

    async def look(self) -> None:
        """Raises `KeyEnded`, `NotPermitted`."""
        key, worker = self.requester.get("key"), self.worker
        whose = key if isinstance(key, str) else None
        now = await retry_while_unavailable(
            lambda: self.as_they_are.no_more(worker, key=whose, at=worker.context)
        )
        require_scope(now, Scope.DEBATES_RUN)
        self.now = replace(now, tools=tuple(dict.fromkeys([*now.tools, *_lists(self.requester)])))


def _lists(asker: JsonObject) -> Sequence[tuple[str, ...]]:
    lists = asker.get("tools")
    if not isinstance(lists, list):
        return ()
    return [tuple(map(str, each)) for each in lists if isinstance(each, list)]


_LONGEST_STEP: Final = 250


@dataclass(slots=True)
class Secrecy:
    """Of all that was read in a task. An analysis and its parts share one, as they share the
    task: what one of them has read, all of them may tell."""

    label: Label


@dataclass(slots=True, kw_only=True)
class Activation:
    durable: Durable
    initiator: Initiator
    debate: Debate
    notes: tuple[Note, ...]
    panel: Panel
    personas: Mapping[str, Persona]
    secrecy: Secrecy
    lost: frozenset[str]
    """Names of what was under way when somebody else was cut off, and which stays charged."""
    watch: StopWatch
    tokenizer: Tokenizer
    posted: set[str] = field(default_factory=set)
    wanted_told: bool = False
    """Whether guests were called for, in this leg."""
    waits: Counter[str] = field(default_factory=Counter)
    """How often each topic was waited for, in this leg."""
    _counted: dict[str, int] = field(default_factory=dict)

    @property
    def caller(self) -> Principal:
        """Whoever started it, at the debate's own task."""
        return self.initiator.worker

    @property
    def label(self) -> Label:
        return self.secrecy.label

    def risen(self, label: Label) -> None:
        self.secrecy.label = join([self.secrecy.label, label])

    @property
    def shared(self) -> bool:
        """Whether others see it: then its label stays as it is, or it would vanish before them."""
        return not self.debate.private or self.debate.guests > 0

    def step(self, name: str) -> str:
        """Parts of an analysis are carried out in its run."""
        whole = name if self.debate.part_of is None else f"{self.debate.id}/{name}"
        if len(whole) <= _LONGEST_STEP:
            return whole
        return hashlib.sha256(whole.encode()).hexdigest()

    def reservation(self, name: str) -> str:
        """Another one where the first was lost: what nobody knows the cost of stays charged. It is
        numbered in front, where the name of no voice is."""
        number, found = 1, name
        while found in self.lost:
            number += 1
            found = f"{number}~{name}"
        return found

    def count(self, text: str) -> int:
        """Most of what is counted was counted before."""
        if text not in self._counted:
            self._counted[text] = self.tokenizer.count(text)
        return self._counted[text]

    def table(self, left: RemainingBudget, now: datetime) -> Table:
        return Table(
            debate=replace(self.debate, label=join([self.debate.label, self.label])),
            notes=self.notes,
            panel=self.panel,
            personas=self.personas,
            left=left,
            count=self.count,
            now=now,
            posted=frozenset(self.posted),
        )


LISTS: Final = "inbox"
"""The same as on the bridge: a person who goes through lists is at one task."""
NEW: Final = "debates"
"""Where one is begun that is about no project."""


def at_debate(caller: Principal, where: DebateId | None) -> Principal:
    """A person in front of one debate, or of a list of them. Whoever says which task they are at
    stays there; and so does a program, whose task is its key, and a person whose key a model's
    window has."""
    return _at(caller, LISTS if where is None else str(where))


def at_start(caller: Principal, project: str | None) -> Principal:
    """A person who begins one has read what they have read in its project, if it has one."""
    return _at(caller, project or NEW)


def at_budget(caller: Principal, project: str) -> Principal:
    """Looking at what was spent is a task of its own: it tells of debates that were not read."""
    return _at(caller, f"budget of {project}")


def _at(caller: Principal, place: str) -> Principal:
    if caller.kind is not PrincipalKind.PERSON or caller.window or caller.context is not None:
        return caller
    return replace(caller, place=place)


_WRITE_DOWN: Final = "write_down"
"""What whoever keeps it says of something that is less secret than what was read for it."""

Written = TypeVar("Written")


async def as_read(
    leg: Activation, tasks: DebateContexts, write: Callable[[Label], Awaitable[Written]]
) -> Written:
    """An agent that takes part raises the task's mark as soon as it reads, before it answers: what
    another voice said at that moment is written once more, as secret as that."""
    while True:
        before = leg.label
        try:
            return await retry_while_unavailable(lambda: write(leg.label))
        except PorticoError as error:
            if error.code != _WRITE_DOWN:
                raise
            leg.risen((await retry_while_unavailable(lambda: tasks.at(leg.caller))).label)
            if leg.label == before:
                raise
