"""No limit of a run is passed, whatever the servers of its models say and do."""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from portico.agents.activation import EagerCalls
from portico.agents.core.activation import RunState, TurnNoted
from portico.agents.core.agents import Limits
from portico.agents.core.budgets import Charge, Question, Reserved, Short, Spending
from portico.agents.core.errors import ModelBroke, ModelRefused, ModelUnavailable
from portico.agents.core.model_requests import (
    FREE,
    AssistantMessage,
    Finish,
    Message,
    ModelAsk,
    ModelInfo,
    ModelRef,
    Price,
    ReasoningChunk,
    Reply,
    ResponseChunk,
    Support,
    TextChunk,
    ToolArgumentsChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)
from portico.agents.core.tool_calls import RequestedToolCall
from portico.agents.core.traces import AgentRunStatus, TurnTrace, WholeTrace
from portico.agents.model_calls import Hearing
from portico.kernel.budget import Cost, Tokens
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.agents import (
    MemoryModelRegistry,
    ScriptedTool,
    ScriptedToolbox,
    Words,
    a_model,
)
from portico.testing.memory_store import TickingClock
from tests.agents.room import Room

MODELS = (ModelRef("near", "one"), ModelRef("far", "two"))
_count = Words().count


def size(text: str) -> int:
    return _count(text)


def size_of(message: Message) -> int:
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    asked = sum(size(call.name) + size(json.dumps(call.arguments)) for call in calls)
    return size(message.text) + asked


def prompt_of(ask: ModelAsk) -> int:
    tools = sum(size(tool.description) + size(json.dumps(tool.schema)) for tool in ask.tools)
    return size(ask.instructions) + tools + sum(size_of(message) for message in ask.messages)


@dataclass
class Truth:
    """What was really spent, as only the servers know."""

    tokens: int = 0
    money: Decimal = Decimal(0)
    asks: int = 0
    late: int = 0
    """Questions that were begun when the time was over."""
    smallest: int | None = None
    """The least that an answer was asked to have."""
    unheard: int = 0
    """Questions in which not every word of people was."""


@dataclass
class LyingServers:
    dice: random.Random
    clock: TickingClock
    limits: Limits
    infos: dict[ModelRef, ModelInfo]
    began: datetime
    people: Message = field(default_factory=lambda: UserMessage(""))
    truth: Truth = field(default_factory=Truth)
    calls: int = 0

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        self._begun(ask)
        if self.dice.random() < 0.1:
            raise self.dice.choice(
                [ModelUnavailable(str(ask.model), "busy."), ModelRefused(str(ask.model), "no.")]
            )
        price = self.infos[ask.model].price or FREE
        self._spent(price, prompt_of(ask), 0)
        pieces = self._pieces(ask)
        said: list[ResponseChunk] = []
        breaks_off = self.dice.random() < 0.2
        last = self.dice.randrange(len(pieces) + 1)
        for place, piece in enumerate(pieces):
            if breaks_off and place == last:
                raise ModelBroke(str(ask.model), "cut.")
            if self.dice.random() < 0.5:
                await asyncio.sleep(0)  # others come to their turn meanwhile
            yield piece  # whoever hangs up here has not taken it in
            self._spent(price, 0, _piece_size(piece))
            self.clock.turn(timedelta(seconds=self.dice.choice([0, 0, 0.1, 2])))
            said.append(piece)
        if breaks_off:
            raise ModelBroke(str(ask.model), "cut.")
        yield self._reply(ask, said)

    def _begun(self, ask: ModelAsk) -> None:
        self.truth.asks += 1
        over = self.clock.now() - self.began >= timedelta(seconds=self.limits.seconds)
        self.truth.late += over
        self.truth.unheard += self.people not in ask.messages
        least = self.truth.smallest
        self.truth.smallest = (
            ask.max_output_tokens if least is None else min(least, ask.max_output_tokens)
        )

    def _spent(self, price: Price, prompt: int, answer: int) -> None:
        self.truth.tokens += prompt + answer
        self.truth.money += price.of(input_tokens=prompt, output_tokens=answer)

    def _pieces(self, ask: ModelAsk) -> list[ResponseChunk]:
        """Within what was asked for, far beyond it, or all at once."""
        dice = self.dice
        length = dice.choice(
            [0, 3, ask.max_output_tokens // 2, ask.max_output_tokens, ask.max_output_tokens * 5]
        )
        a_piece = dice.choice([1, 2, 10, 500])
        aloud = dice.random() < 0.75
        texts = [
            "word " * min(a_piece, length - at) for at in range(0, min(length, 3_000), a_piece)
        ]
        pieces = [_piece(text, aloud=aloud) for text in texts]
        wanted = dice.choice([0, 0, 1, 2, 5, 20])
        calls = [piece for _ in range(wanted) for piece in self._wanted()]
        return [*calls, *pieces] if dice.random() < 0.5 else [*pieces, *calls]

    def _wanted(self) -> list[ResponseChunk]:
        """At once, or in pieces that come to the same."""
        call = self._call()
        begun = ToolArgumentsChunk(call.id, '{"path": "a ')
        return [begun, ToolCallChunk(call)] if self.dice.random() < 0.5 else [ToolCallChunk(call)]

    def _call(self) -> ToolCall:
        self.calls += 1
        name = self.dice.choice(
            ["files__read", "files__read", "files__read", "files__write", "no_such"]
        )
        known = self.dice.random() < 0.9
        return ToolCall(f"c{self.calls}" if known else "same", name, {"path": "a b c"})

    def _reply(self, ask: ModelAsk, said: list[ResponseChunk]) -> Reply:
        text = "".join(piece.text for piece in said if isinstance(piece, TextChunk))
        calls = tuple(piece.call for piece in said if isinstance(piece, ToolCallChunk))
        if self.dice.random() < 0.05:
            text += "unsaid " * self.dice.choice([1, 100, 10_000])
        return Reply(
            text=text,
            calls=calls,
            thought="".join(piece.text for piece in said if isinstance(piece, ReasoningChunk)),
            usage=self._usage(ask, sum(map(_piece_size, said))),
            finish=Finish.CALLS if calls else Finish.STOP,
            model=ask.model.name,
            took=timedelta(seconds=1),
        )

    def _usage(self, ask: ModelAsk, answer: int) -> Usage:
        truly = (prompt_of(ask), answer)
        input_, output = self.dice.choice(
            [truly, truly, (0, 0), (1, 1), (truly[0] * 2, answer * 2), (10**9, 10**9)]
        )
        return Usage(input=input_, output=output, reported=self.dice.random() < 0.8)


def _piece(text: str, *, aloud: bool) -> ResponseChunk:
    return TextChunk(text) if aloud else ReasoningChunk(text)


def _piece_size(piece: ResponseChunk) -> int:
    match piece:
        case TextChunk(text) | ReasoningChunk(text):
            return size(text)
        case ToolCallChunk(call):
            return size(call.name) + size(json.dumps(call.arguments))
        case ToolArgumentsChunk() | Reply():
            return 0  # it is in the call


def some_limits(dice: random.Random) -> Limits:
    return Limits(
        turns=dice.choice([1, 2, 3, 10, 10]),
        tokens=dice.choice([50, 300, 2_000, 20_000, 20_000, 100_000]),
        money=Decimal(dice.choice(["0", "0.0005", "0.003", "0.05", "1", "1"])),
        seconds=dice.choice([1.0, 30.0, 1e6, 1e6]),
        calls=dice.choice([0, 1, 3, 10, 100]),
    )


def some_models(dice: random.Random) -> dict[ModelRef, ModelInfo]:
    prices = [None, FREE, *(Price(input=Decimal(i), output=Decimal(o)) for i, o in _PRICES)]
    return {
        ref: a_model(
            ref,
            window=dice.choice([None, 1_000, 4_000, 100_000]),
            max_output_tokens=dice.choice([None, 100, 2_000]),
            tools=dice.choice([Support.YES, Support.YES, Support.UNKNOWN, Support.NO]),
            price=dice.choice(prices),
        )
        for ref in MODELS
    }


_PRICES = [("0.15", "0.6"), ("3", "15"), ("0", "60"), ("1", "0")]


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
        book=MemoryModelRegistry(*some_models(dice).values()),
        limits=limits,
        model=str(MODELS[0]),
        fallbacks=(str(MODELS[1]),) if dice.random() < 0.5 else (),
        max_output_tokens=dice.choice([20, 200, 4_000]),
    )
    clock = room.engine.clock
    servers = LyingServers(dice, clock, limits, room.book.models, clock.now())
    toolbox = a_toolbox(room, dice)
    room.models, room.toolbox = servers, toolbox
    message = "word " * dice.choice([1, 40, 400])
    servers.people = UserMessage(message)
    run = await room.start(message)

    await room.leg(run)

    trace = await room.trace(run)
    found.ends[f"{trace.run.status} {trace.run.error_code or ''}".strip()] += 1
    found.asks += servers.truth.asks
    found.wrong += [f"run {seed}: {each}" for each in passed(trace, servers, toolbox)]


def a_toolbox(room: Room, dice: random.Random) -> ScriptedToolbox:
    async def giving(_wanted: RequestedToolCall) -> str:
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


def eager(self: EagerCalls, wanted: RequestedToolCall) -> None:
    self.left = 1_000
    begin(self, wanted)


def unhurried(self: Spending) -> timedelta:
    return timedelta(seconds=10)


settle, for_question, after_turn, begin = (
    Spending.settle,
    Spending.for_question,
    RunState.after_turn,
    EagerCalls.start,
)


@pytest.mark.requirement("agents:budgets:never-passed")
@pytest.mark.parametrize(
    ("where", "instead", "caught"),
    [
        ("portico.agents.core.budgets.Spending.settle", believing, "tokens, really"),
        ("portico.agents.core.budgets.Spending.settle", forgiving, "tokens, really"),
        ("portico.agents.core.budgets.Spending.for_question", priceless, "money"),
        ("portico.agents.core.budgets.Spending.for_question", short_sighted, "tokens, really"),
        ("portico.agents.core.budgets.Spending.time_left", property(unhurried), "time"),
        ("portico.agents.model_calls.Hearing._paid", listening_on, "tokens, really"),
        ("portico.agents.core.activation.RunState.after_turn", forgetful, "calls"),
        ("portico.agents.activation.EagerCalls.start", eager, "calls"),
        ("portico.agents.tool_calls._refused", lambda _state, _wanted: None, "calls"),
    ],
)
@pytest.mark.planted
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
