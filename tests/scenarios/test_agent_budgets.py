"""No limit of a run is passed, whatever the servers of its models say and do."""

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.agents.core.asking import Usage
from portico.agents.core.calling import Wanted
from portico.agents.core.loop import RunState
from portico.agents.core.message import UserSaid
from portico.agents.core.noted import TurnNoted
from portico.agents.core.spending import Charge, Question, Reserved, Short, Spending
from portico.agents.core.trace import AgentRunStatus, TurnTrace, WholeTrace
from portico.agents.early_calls import EarlyCalls
from portico.agents.hearing import Hearing
from portico.kernel.budget import Cost
from portico.kernel.effect import Effect
from portico.kernel.tokens import Tokens
from portico.testing.agents import MemoryBook, ScriptedTool, ScriptedToolbox
from tests.agents.room import Room
from tests.scenarios.lying_servers import (
    MODELS,
    LyingServers,
    size,
    some_limits,
    some_models,
)

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
RUNS = 10_000 if FULL_SIZE else 600
TO_BE_CAUGHT = 4_000
"""Runs within which a rule that is missing has to be noticed."""

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(3600 if FULL_SIZE else 300)]


@dataclass
class Found:
    wrong: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    asks: int = 0


async def one(seed: int, found: Found) -> None:
    dice = random.Random(seed)
    limits = some_limits(dice)
    room = Room(
        None,
        book=MemoryBook(*some_models(dice).values()),
        limits=limits,
        model=str(MODELS[0]),
        fallbacks=(str(MODELS[1]),) if dice.random() < 0.5 else (),
        most_output=dice.choice([20, 200, 4_000]),
    )
    clock = room.engine.clock
    servers = LyingServers(dice, clock, limits, room.book.models, clock.now())
    toolbox = a_toolbox(room, dice)
    room.models, room.toolbox = servers, toolbox
    message = "word " * dice.choice([1, 40, 400])
    servers.people = UserSaid(message)
    run = await room.start(message)

    await room.leg(run)

    trace = await room.trace(run)
    found.ends[f"{trace.run.status} {trace.run.error_code or ''}".strip()] += 1
    found.asks += servers.truth.asks
    found.wrong += [f"run {seed}: {each}" for each in passed(trace, servers, toolbox)]


def a_toolbox(room: Room, dice: random.Random) -> ScriptedToolbox:
    async def giving(_wanted: Wanted) -> str:
        room.engine.clock.turn(timedelta(seconds=dice.choice([0, 0, 1])))
        return "much " * dice.choice([1, 50, 1_000])

    return ScriptedToolbox(
        ScriptedTool(name="files.read", gives=giving),
        ScriptedTool(name="files.write", gives=giving, effect=Effect.LOCAL_WRITE),
    )


def passed(trace: WholeTrace, servers: LyingServers, toolbox: ScriptedToolbox) -> list[str]:
    """Which limits were, by what really happened and by the books."""
    limits, truth = servers.limits, servers.truth
    said = {
        "tokens, really": truth.tokens > limits.tokens,
        "money, really": truth.money > limits.money,
        "tokens, in the books": sum(turn.counted for turn in trace.turns) > limits.tokens,
        "money, in the books": trace.run.money > limits.money,
        "turns": len(trace.turns) > limits.turns,
        "calls": len(toolbox.made) > limits.calls,
        "time": truth.late > 0,
        "not ended": not trace.run.status.over,
        "asked for nothing": truth.smallest is not None and truth.smallest < 1,
        "not in the books": any(
            size(turn.text) + size(turn.thought) > turn.counted for turn in trace.turns
        ),
        "words of people left out": truth.unheard > 0,
    }
    return [what for what, wrong in said.items() if wrong]


@pytest.mark.requirement("agents:budgets:never-passed")
async def test_no_limit_is_ever_passed() -> None:
    found = Found()

    for seed in range(RUNS):
        await one(seed, found)

    assert found.wrong == []
    assert found.ends[AgentRunStatus.COMPLETED] > RUNS // 20
    assert found.ends["exhausted agent_budget_spent"] > RUNS // 20
    assert found.ends["exhausted agent_turns_spent"] > RUNS // 50
    assert found.asks > RUNS


def believing(
    self: Spending, reserved: Reserved, read: int, usage: Usage | None, took: timedelta
) -> tuple[Spending, Charge]:
    """What the server says is what it costs."""
    said = usage if usage is not None and usage.reported else Usage()
    believed = replace(reserved, counted=0, prompt=min(said.input, reserved.prompt))
    after, charge = settle(self, reserved, 0, None, took)
    cost = Cost(tokens=Tokens(believed.prompt), money=Decimal(0), time=charge.time)
    return replace(after, budget=replace(after.budget, spent=self.budget.spent + cost)), charge


def forgiving(
    self: Spending, reserved: Reserved, read: int, usage: Usage | None, took: timedelta
) -> tuple[Spending, Charge]:
    """An answer that broke off costs nothing."""
    if usage is None:
        return self.unasked(reserved, took)
    return settle(self, reserved, read, usage, took)


def priceless(self: Spending, question: Question) -> tuple[Spending, Reserved] | Short:
    return for_question(self, replace(question, price=None))


def short_sighted(self: Spending, question: Question) -> tuple[Spending, Reserved] | Short:
    """Only what is answered counts, not what was asked."""
    return for_question(self, replace(question, prompt=0))


def listening_on(self: Hearing, tokens: int) -> bool:
    return True


def forgetful(self: RunState, turn: TurnTrace, noted: TurnNoted) -> RunState:
    return after_turn(self, turn, replace(noted, lost=0))


def eager(self: EarlyCalls, wanted: Wanted) -> None:
    self.left = 1_000
    begin(self, wanted)


def unhurried(self: Spending) -> timedelta:
    return timedelta(seconds=10)


settle, for_question, after_turn, begin = (
    Spending.settle,
    Spending.for_question,
    RunState.after_turn,
    EarlyCalls.begin,
)


@pytest.mark.requirement("agents:budgets:never-passed")
@pytest.mark.parametrize(
    ("where", "instead", "caught"),
    [
        ("portico.agents.core.spending.Spending.settle", believing, "tokens, really"),
        ("portico.agents.core.spending.Spending.settle", forgiving, "tokens, really"),
        ("portico.agents.core.spending.Spending.for_question", priceless, "money"),
        ("portico.agents.core.spending.Spending.for_question", short_sighted, "tokens, really"),
        ("portico.agents.core.spending.Spending.time_left", property(unhurried), "time"),
        ("portico.agents.hearing.Hearing._paid", listening_on, "tokens, really"),
        ("portico.agents.core.loop.RunState.after_turn", forgetful, "calls"),
        ("portico.agents.early_calls.EarlyCalls.begin", eager, "calls"),
        ("portico.agents.make_calls._refused", lambda _state, _wanted: None, "calls"),
    ],
)
async def test_a_rule_of_the_books_that_is_missing_is_noticed(
    where: str, instead: Callable[..., object], caught: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, instead)
    found = Found()

    for seed in range(TO_BE_CAUGHT):
        await one(seed, found)
        if any(caught in each for each in found.wrong):
            return

    pytest.fail(f"nobody noticed: {found.wrong[:5]}")
