"""The loop: what is known, and the next move."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Self

from portico.agents.core.agents import (
    Agent,
    AgentId,
    Limits,
    limits_from,
    limits_json,
    spec_from,
    spec_json,
)
from portico.agents.core.budgets import Spending
from portico.agents.core.errors import TurnsSpent
from portico.agents.core.model_requests import ToolCall, Usage, object_of
from portico.agents.core.tool_calls import inner_arguments
from portico.agents.core.traces import AgentRunStatus, ToolUse, TurnTrace, UserInput, WholeTrace
from portico.kernel.errors import Kind
from portico.kernel.ids import ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, join

# What a run of an agent is started with. No words of people are in it: those are in its trace,
# since whoever may see that there is a run may not read what it is about.

KIND: Final = "agent"
"""Of the runs that are given this."""


def stop_topic(run: RunId) -> str:
    """Where a run is told that somebody wants it to stop: that it is so is in its trace."""
    return f"~stop:{run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    agent: Agent
    """As it was when the run was started, and as it stays for it."""
    context: ContextId
    """The task of this run alone."""
    requester: JsonObject = field(default_factory=dict)
    """The key and the task that its starter came with: what the gateway knows them again by; and
    the run that it was started in, if an agent has started it."""
    label: Label
    """How secret what it begins with is."""
    model: str
    limits: Limits
    continues: RunId | None = None
    wished: JsonObject = field(default_factory=dict)
    """What its starter wanted otherwise than the agent has it: the same, under the same key."""

    def as_json(self) -> JsonObject:
        return {
            "agent": agent_as_json(self.agent),
            "context": str(self.context),
            "asker": self.requester,
            "label": str(self.label),
            "model": self.model,
            "limits": limits_json(self.limits),
            "continues": None if self.continues is None else str(self.continues),
            "wished": self.wished,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        continues = value.get("continues")
        return cls(
            agent=agent_of(value["agent"]),
            context=ContextId.parse(str(value["context"])),
            requester=object_of(value.get("asker", {})),
            label=Label.parse(str(value["label"])),
            model=str(value["model"]),
            limits=limits_from(object_of(value.get("limits", {}))),
            continues=RunId.parse(continues) if isinstance(continues, str) else None,
            wished=object_of(value.get("wished", {})),
        )


def shown(kind: str, given: JsonObject) -> JsonObject:
    """What a run of any kind was given, as it is told to whoever may see runs: of one of ours
    neither how the agent is instructed nor which key it was started with."""
    if kind != KIND:
        return given
    agent = object_of(given["agent"])
    known = {name: agent[name] for name in ("id", "version")}
    others = {name: given[name] for name in ("label", "model", "limits", "continues")}
    return {"agent": {**known, "name": object_of(agent["spec"])["name"]}, **others}


def agent_as_json(agent: Agent) -> JsonObject:
    return {
        "id": str(agent.id),
        "space": str(agent.space),
        "principal": str(agent.principal),
        "spec": spec_json(agent.spec),
        "version": agent.version,
        "made_by": str(agent.made_by),
        "made_by_name": agent.made_by_name,
        "made_at": agent.made_at.isoformat(),
        "changed_at": agent.changed_at.isoformat(),
    }


def agent_of(value: JsonValue) -> Agent:
    """Of what `agent_as_json` gave."""
    said = object_of(value)
    return Agent(
        id=AgentId.parse(str(said["id"])),
        space=SpaceId.parse(str(said["space"])),
        principal=PrincipalId.parse(str(said["principal"])),
        spec=spec_from(object_of(said["spec"])),
        version=int(str(said["version"])),
        made_by=PrincipalId.parse(str(said["made_by"])),
        made_by_name=str(said["made_by_name"]),
        made_at=datetime.fromisoformat(str(said["made_at"])),
        changed_at=datetime.fromisoformat(str(said["changed_at"])),
    )


# What the journal notes of a turn: numbers, codes and names of tools, and no word of what was said,
# since whoever may see runs may not read what they are about.

TURN: Final = "turn-"
"""How the step of a turn is called, with its number behind."""


@dataclass(frozen=True, slots=True)
class CallTarget:
    """Which tool a call means."""

    tool: str
    inside: bool = False
    """Whether what the tool is given stands in the call's own `arguments`."""

    def arguments(self, call: ToolCall) -> JsonObject:
        return inner_arguments(call) if self.inside else call.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNoted:
    aims: tuple[CallTarget | None, ...] = ()
    """Of each call; None for one that means no tool that the model was shown."""
    lost: int = 0
    """Reads that were begun early for an answer that then came to nothing."""
    stopped: bool = False
    error: str | None = None
    """The code of why there is no such turn."""

    def as_json(self) -> JsonObject:
        return {
            "aims": [None if aim is None else [aim.tool, aim.inside] for aim in self.aims],
            "lost": self.lost,
            "stopped": self.stopped,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> Self:
        noted = object_of(value)
        error = noted.get("error")
        return cls(
            aims=tuple(_aim(each) for each in _list(noted.get("aims"))),
            lost=int(str(noted.get("lost", 0))),
            stopped=noted.get("stopped") is True,
            error=error if isinstance(error, str) else None,
        )


def _aim(value: JsonValue) -> CallTarget | None:
    match _list(value):
        case [str(tool), bool(inside)]:
            return CallTarget(tool, inside)
        case _:
            return None


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else ()


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
class CallModel:
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


Move = CallModel | MakeCalls | End


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
    said: tuple[UserInput, ...] = ()
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

    def with_input(self, said: tuple[UserInput, ...]) -> "RunState":
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
        return any(said.number > self.turns[-1].inputs_seen for said in self.said)


def next_move(state: RunState) -> Move:
    if state.failed is not None:
        spent = state.failed.kind is Kind.EXHAUSTED
        status = AgentRunStatus.EXHAUSTED if spent else AgentRunStatus.FAILED
        return End(status, state.failed)
    if state.noted.stopped:
        return End(AgentRunStatus.STOPPED)
    number = len(state.turns) + 1
    if not state.turns:
        return CallModel(number)
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
    return MakeCalls(last, state.noted, unknown) if unknown else CallModel(number)


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
