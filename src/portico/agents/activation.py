"""Activate an agent: leg, turn, stop, early calls."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.agents.core.activation import RunInput, RunState
from portico.agents.core.conversations import (
    NOT_KEPT,
    TranscriptLine,
    lines_of,
    lines_of_trace,
    words_of,
)
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.events import AgentEvent, RunNotice, ToolCallFinished
from portico.agents.core.model_calls import Ledger
from portico.agents.core.model_requests import ToolCall, UserMessage
from portico.agents.core.tool_calls import SEARCH, Early, RequestedToolCall, RunIdentity
from portico.agents.core.traces import (
    AgentRunStatus,
    RunTrace,
    ToolUse,
    TraceUpdates,
    TurnTrace,
    WholeTrace,
)
from portico.agents.ports import AgentEventSink, Toolbox, Traces
from portico.engine.core.errors import StoreUnavailable
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Wakeups
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal

_MOST_CONTINUED: Final = 100
"""Runs that one continues, one after another."""


@dataclass(slots=True, kw_only=True)
class Activation:
    durable: Durable
    given: RunInput
    acts: RunIdentity = field(init=False)
    """As its starter and the agent are when a turn begins."""
    trace: RunTrace
    """As it was when the leg began."""
    turns: dict[int, TurnTrace] = field(default_factory=dict)
    """That are written down, by their numbers."""
    uses: dict[tuple[int, int], ToolUse] = field(default_factory=dict)
    acts_since: datetime | None = None
    ear: Wakeups | None = None
    """Rings when somebody wants the run to stop."""
    rung: bool = False
    """Whether it has rung, and nobody has looked yet."""
    taken: set[int] = field(default_factory=set)
    """Turns that were taken in this leg."""
    news: TraceUpdates | None = None
    """What has come in by the time that the last call was written down."""
    untold: list[AgentEvent] = field(default_factory=list)
    """What is told together with whatever comes next."""
    _before: Sequence[TranscriptLine] | None = None
    _counted: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, durable: Durable, given: RunInput, whole: WholeTrace) -> "Activation":
        return cls(
            durable=durable,
            given=given,
            trace=whole.run,
            turns={turn.number: turn for turn in whole.turns},
            uses={(use.turn, use.position): use for use in whole.uses},
        )

    @property
    def run(self) -> RunId:
        return self.durable.run

    @property
    def writer(self) -> Principal:
        """In whose name it is written down what happens."""
        return self.durable.caller

    @property
    def cut_off(self) -> bool:
        """Whether a process may have ended while a model was being asked."""
        return self.durable.again and self.trace.status is AgentRunStatus.RUNNING

    @property
    def broken_off(self) -> bool:
        """Whether a process may have ended before it had told all that it had written down. Where a
        run waits, all is told."""
        return self.durable.again and self.trace.status is not AgentRunStatus.WAITING

    @property
    def to_be_looked_at(self) -> bool:
        """Whether somebody may want it to stop, for all that is known here."""
        return self.ear is None or self.rung or self.ear.rung

    async def lines(self, traces: Traces, state: RunState) -> Sequence[TranscriptLine]:
        """All that was said, in the runs that this one continues as well."""
        if self._before is None:
            continued = await _continued(traces, self.writer, self.given.continues)
            self._before = [
                *continued,
                *(TranscriptLine(message) for message in self.trace.history),
            ]
        return [*self._before, *lines_of(state.said, state.turns, state.uses.values())]

    def counting(self, tokenizer: Tokenizer) -> "Counting":
        return Counting(tokenizer, self._counted)


@dataclass(frozen=True, slots=True)
class Counting:
    """Most of what is counted was counted the turn before."""

    tokenizer: Tokenizer
    known: dict[str, int]

    def __call__(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = self.tokenizer.count(text)
        return self.known[text]


async def _continued(
    traces: Traces, caller: Principal, run: RunId | None
) -> Sequence[TranscriptLine]:
    """What is not there any more is said to be missing."""
    parts: list[Sequence[TranscriptLine]] = []
    while run is not None:
        try:
            earlier = await traces.read(caller, run)
        except AgentRunNotFound:
            earlier = None
        if earlier is None or len(parts) == _MOST_CONTINUED:
            parts.append([TranscriptLine(UserMessage(NOT_KEPT))])
            break
        parts.append(lines_of_trace(earlier))
        run = earlier.run.continues
    return [line for part in reversed(parts) for line in part]


_OFTEN: Final = 0.5
"""Seconds between two looks where nobody is there to wake it."""
_SELDOM: Final = 5.0
"""And where somebody is: a call can be lost."""


@dataclass(slots=True, kw_only=True)
class StopWatch:
    traces: Traces
    activation: Activation
    asked: bool = False

    @asynccontextmanager
    async def over(self, patience: asyncio.Timeout) -> AsyncIterator[None]:
        """Ends the patience of whoever is listening as soon as the run is to stop."""
        looking = asyncio.create_task(self._look(patience))
        try:
            yield
        finally:
            looking.cancel()

    async def _look(self, patience: asyncio.Timeout) -> None:
        while not self.asked:
            await self._moment()
            with suppress(StoreUnavailable):
                self.asked = await self.traces.stop_asked(
                    self.activation.writer, self.activation.run
                )
                self.activation.rung = False
        patience.reschedule(asyncio.get_running_loop().time())

    async def _moment(self) -> None:
        if self.activation.ear is None:
            await asyncio.sleep(_OFTEN)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_SELDOM):
                await self.activation.ear.wait()
            self.activation.rung = True


async def tell_untold(talk: AgentEventSink, leg: Activation, label: Label) -> None:
    told, leg.untold = leg.untold, []
    await retry_while_unavailable(lambda: talk.publish(leg.writer, leg.run, *told, label=label))


async def tell_left_over(talk: AgentEventSink, leg: Activation) -> None:
    """Of the last turn, what a process that is gone had written down and not told yet: else the
    card of a call would stay open for ever."""
    last = max(leg.turns, default=0)
    uses = [use for (turn, _), use in sorted(leg.uses.items()) if turn == last]
    if not leg.broken_off or not uses:
        return
    told = await retry_while_unavailable(lambda: talk.ended_calls(leg.writer, leg.run))
    left = [use for use in uses if use.call not in told]
    if left:
        leg.untold.extend(map(tool_ended, left))
        await tell_untold(talk, leg, join(use.label for use in left))


def tool_ended(use: ToolUse) -> ToolCallFinished:
    return ToolCallFinished(
        turn=use.turn,
        call=use.call,
        tool=use.tool,
        text=use.text,
        failed=use.failed,
        seconds=use.took.total_seconds(),
    )


# Reads that are begun while the model is still speaking.
#
# They were asked for, so this is no guess. What one gives is handed to the step that makes the call
# as its own; after a crash there is nothing to hand over, and the step makes it.

AT_ONCE: Final = 8
"""Of one turn."""


@dataclass(frozen=True, slots=True)
class _Begun:
    call: ToolCall
    at: datetime
    task: "asyncio.Task[Early | None]"


@dataclass(frozen=True, slots=True)
class ReadEarly:
    early: Early
    started: datetime


@dataclass(slots=True, kw_only=True)
class EagerCalls:
    """Of one turn."""

    toolbox: Toolbox
    acts: RunIdentity
    group: asyncio.TaskGroup
    clock: Clock
    left: int
    """Calls that the budget of the run has left."""
    lost: int = 0
    """That were begun for an answer that came to nothing."""
    _begun: dict[int, _Begun] = field(default_factory=dict)

    def start(self, wanted: RequestedToolCall) -> None:
        if len(self._begun) < min(AT_ONCE, self.left - self.lost):
            task = self.group.create_task(self._read(wanted))
            self._begun[wanted.position] = _Begun(wanted.call, self.clock.now(), task)

    def void(self) -> None:
        """The answer that they were begun for does not count."""
        for begun in self._begun.values():
            begun.task.cancel()
        self.lost += len(self._begun)
        self._begun.clear()

    async def of(self, place: int, call: ToolCall) -> ReadEarly | None:
        begun = self._begun.get(place)
        if begun is None or (begun.call.name, begun.call.arguments) != (call.name, call.arguments):
            return None
        early = await begun.task
        return None if early is None else ReadEarly(early, begun.at)

    async def _read(self, wanted: RequestedToolCall) -> Early | None:
        try:
            if wanted.tool != SEARCH:
                effect = await self.toolbox.effect(self.acts, wanted.tool)
                if not effect.is_read_only:
                    return None
            return await self.toolbox.early(self.acts, wanted)
        except PorticoError:  # the step that makes the call is told the same
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    activation: Activation
    number: int
    lines: Sequence[TranscriptLine]
    label: Label
    eager_calls: EagerCalls
    stop: StopWatch

    @property
    def text(self) -> str:
        return words_of(self.lines)


async def note(talk: AgentEventSink, turn: Turn, ledger: Ledger, code: str, message: str) -> None:
    ledger.notes.append(message)
    turn.activation.untold.append(RunNotice(code=code, message=message))
    await tell_untold(talk, turn.activation, turn.label)
