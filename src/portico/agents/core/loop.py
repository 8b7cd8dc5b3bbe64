"""What a run of an agent does next, from what it was given and what its steps gave."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from portico.agents.core.agent import Limits
from portico.agents.core.asking import Usage
from portico.agents.core.errors import TurnsSpent
from portico.agents.core.noted import TurnNoted
from portico.agents.core.spending import Spending
from portico.agents.core.trace import (
    AgentRunStatus,
    PersonSaid,
    ToolUse,
    TurnTrace,
    WholeTrace,
)
from portico.kernel.errors import Kind
from portico.kernel.label import Label, join


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a run cannot go on."""

    code: str
    message: str
    fix: str | None = None
    kind: Kind = Kind.UNAVAILABLE
    step: str | None = None
    """Which to try again, should somebody take the run up again."""


@dataclass(frozen=True, slots=True)
class AskModel:
    turn: int


@dataclass(frozen=True, slots=True)
class MakeCalls:
    turn: TurnTrace
    noted: TurnNoted
    places: tuple[int, ...]
    """Of the calls that nothing is known of yet."""


@dataclass(frozen=True, slots=True)
class End:
    status: AgentRunStatus
    failed: Failed | None = None


Move = AskModel | MakeCalls | End


@dataclass(frozen=True, slots=True)
class Wasted:
    """What went into answers that nobody has."""

    tokens: int = 0
    money: Decimal = Decimal(0)

    def __add__(self, other: "Wasted") -> "Wasted":
        return Wasted(self.tokens + other.tokens, self.money + other.money)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    limits: Limits
    spending: Spending
    label: Label
    """Of all that was read so far."""
    said: tuple[PersonSaid, ...] = ()
    turns: tuple[TurnTrace, ...] = ()
    noted: TurnNoted = field(default_factory=TurnNoted)
    """Of the last turn."""
    uses: Mapping[tuple[int, int], ToolUse] = field(default_factory=lambda: MappingProxyType({}))
    """By turn and place."""
    failed: Failed | None = None
    wasted: Wasted = field(default_factory=Wasted)

    @classmethod
    def beginning(cls, limits: Limits, label: Label, whole: WholeTrace) -> "RunState":
        wasted = wasted_of(whole)
        return cls(
            limits=limits,
            spending=Spending.within(limits).after(tokens=wasted.tokens, money=wasted.money),
            label=label,
            said=whole.said,
            wasted=wasted,
        )

    def heard(self, said: tuple[PersonSaid, ...]) -> "RunState":
        known = {each.number for each in self.said}
        new = tuple(each for each in said if each.number not in known)
        return replace(self, said=self.said + new) if new else self

    def after_turn(self, turn: TurnTrace, noted: TurnNoted) -> "RunState":
        spending = self.spending.after(
            tokens=turn.counted, money=turn.money, time=turn.took, calls=noted.lost
        )
        return replace(
            self,
            turns=(*self.turns, turn),
            noted=noted,
            spending=spending,
            label=join([self.label, turn.label]),
        )

    def after_uses(self, uses: Mapping[int, ToolUse]) -> "RunState":
        """Of the last turn, by their places."""
        turn = self.turns[-1].number
        return replace(
            self,
            uses={**self.uses, **{(turn, place): use for place, use in uses.items()}},
            spending=self.spending.after(
                time=time_of(self.turns[-1], uses.values()),
                calls=min(len(uses), self.spending.calls_left),
            ),
            label=join([self.label, *(use.label for use in uses.values())]),
        )

    def without_answer(self, noted: TurnNoted, failed: Failed | None) -> "RunState":
        return replace(self, noted=noted, failed=failed)

    def halted(self) -> "RunState":
        """Somebody wants it to stop."""
        return replace(self, noted=replace(self.noted, stopped=True))

    @property
    def unheard(self) -> bool:
        """Whether somebody has said something that the last answer did not know of."""
        return any(said.number > self.turns[-1].heard for said in self.said)


def next_move(state: RunState) -> Move:
    if state.failed is not None:
        spent = state.failed.kind is Kind.EXHAUSTED
        status = AgentRunStatus.EXHAUSTED if spent else AgentRunStatus.FAILED
        return End(status, state.failed)
    if state.noted.stopped:
        return End(AgentRunStatus.STOPPED)
    number = len(state.turns) + 1
    if not state.turns:
        return AskModel(number)
    last = state.turns[-1]
    if not last.calls and not state.unheard:
        return End(AgentRunStatus.COMPLETED)
    if number > state.limits.turns:
        spent_turns = TurnsSpent(state.limits.turns)
        return End(
            AgentRunStatus.EXHAUSTED,
            Failed(spent_turns.code, str(spent_turns), spent_turns.fix, Kind.EXHAUSTED),
        )
    unknown = tuple(
        place for place in range(len(last.calls)) if (last.number, place) not in state.uses
    )
    return MakeCalls(last, state.noted, unknown) if unknown else AskModel(number)


def time_of(turn: TurnTrace, uses: Iterable[ToolUse]) -> timedelta:
    """They were made beside each other: from the end of the turn until the last of them ended, and
    no more than all of them took. What waited for people does not count."""
    made = [use for use in uses if use.approval is None]
    ended = max((use.started_at + use.took for use in made), default=turn.started_at)
    span = max(ended - (turn.started_at + turn.took), timedelta(0))
    return min(span, sum((use.took for use in made), start=timedelta(0)))


def wasted_of(whole: WholeTrace) -> Wasted:
    """A run has spent more than its turns say, if it has failed before and was taken up again."""
    turns = usage_of(whole.turns)
    spent = whole.run.usage.input + whole.run.usage.output - turns.input - turns.output
    money = whole.run.money - sum((turn.money for turn in whole.turns), start=Decimal(0))
    return Wasted(max(spent, 0), max(money, Decimal(0)))


def answer_of(turns: Iterable[TurnTrace]) -> str:
    """What was said last."""
    said = [turn.text for turn in sorted(turns, key=lambda turn: turn.number) if turn.text]
    return said[-1] if said else ""


def usage_of(turns: Iterable[TurnTrace]) -> Usage:
    usages = [turn.usage for turn in turns]
    return Usage(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cached=sum(usage.cached for usage in usages),
        reported=all(usage.reported for usage in usages),
    )
