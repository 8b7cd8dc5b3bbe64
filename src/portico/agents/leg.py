"""One leg of a run of an agent: who acts, with what, and what is written down of it so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.agents.core.calling import Acts
from portico.agents.core.conversation import NOT_KEPT, Line, lines_of, lines_of_trace
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.given import RunGiven
from portico.agents.core.happening import Happening
from portico.agents.core.loop import RunState
from portico.agents.core.message import UserSaid
from portico.agents.core.trace import (
    AgentRunStatus,
    News,
    RunTrace,
    ToolUse,
    TurnTrace,
    WholeTrace,
)
from portico.agents.ports import Traces
from portico.engine.ports import Wakeups
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

_MOST_CONTINUED: Final = 100
"""Runs that one continues, one after another."""


@dataclass(slots=True, kw_only=True)
class Leg:
    durable: Durable
    given: RunGiven
    acts: Acts = field(init=False)
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
    news: News | None = None
    """What has come in by the time that the last call was written down."""
    untold: list[Happening] = field(default_factory=list)
    """What is told together with whatever comes next."""
    _before: Sequence[Line] | None = None
    _counted: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, durable: Durable, given: RunGiven, whole: WholeTrace) -> "Leg":
        return cls(
            durable=durable,
            given=given,
            trace=whole.run,
            turns={turn.number: turn for turn in whole.turns},
            uses={(use.turn, use.place): use for use in whole.uses},
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

    async def lines(self, traces: Traces, state: RunState) -> Sequence[Line]:
        """All that was said, in the runs that this one continues as well."""
        if self._before is None:
            continued = await _continued(traces, self.writer, self.given.continues)
            self._before = [*continued, *(Line(message) for message in self.trace.history)]
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


async def _continued(traces: Traces, caller: Principal, run: RunId | None) -> Sequence[Line]:
    """What is not there any more is said to be missing."""
    parts: list[Sequence[Line]] = []
    while run is not None:
        try:
            earlier = await traces.read(caller, run)
        except AgentRunNotFound:
            earlier = None
        if earlier is None or len(parts) == _MOST_CONTINUED:
            parts.append([Line(UserSaid(NOT_KEPT))])
            break
        parts.append(lines_of_trace(earlier))
        run = earlier.run.continues
    return [line for part in reversed(parts) for line in part]
