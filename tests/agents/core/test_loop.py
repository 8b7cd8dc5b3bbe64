"""What a run does next."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given as supposing
from hypothesis import strategies as st

from portico.agents.core.agent import Limits
from portico.agents.core.asking import Usage
from portico.agents.core.loop import (
    AskModel,
    End,
    Failed,
    MakeCalls,
    RunState,
    Wasted,
    answer_of,
    next_move,
    time_of,
    usage_of,
)
from portico.agents.core.message import ToolCall
from portico.agents.core.noted import Aim, TurnNoted
from portico.agents.core.trace import AgentRunStatus, TurnTrace, WholeTrace
from portico.guard.core.authentication import as_principal
from portico.kernel.errors import Kind
from portico.kernel.ids import ApprovalId
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.agent_data import TEAM, a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy

RUN = an_agent_run(as_principal(an_identity("ana")))
CALLS = (ToolCall("a", "files__read", {}), ToolCall("b", "files__read", {}))
TWO = TurnNoted(aims=(Aim("files.read"), Aim("files.read")))


def begun(*, turns: int = 10, tokens: int = 200_000, calls: int = 100) -> RunState:
    limits = Limits(turns=turns, tokens=tokens, calls=calls)
    return RunState.beginning(limits, TEAM, a_trace())


def a_trace(*turns: TurnTrace) -> WholeTrace:
    return WholeTrace(run=RUN, said=(a_saying(RUN),), turns=turns, uses=())


def test_a_run_asks_until_there_is_an_answer_without_calls_to_all_that_was_said() -> None:
    assert next_move(begun()) == AskModel(1)

    state = begun().after_turn(a_turn(RUN), TurnNoted())

    assert next_move(state) == End(AgentRunStatus.COMPLETED)

    state = begun().heard((a_saying(RUN, "And?", 2),)).after_turn(a_turn(RUN), TurnNoted())

    assert next_move(state) == AskModel(2)


def test_the_calls_of_a_turn_are_made_and_then_the_model_is_asked() -> None:
    turn = a_turn(RUN, calls=CALLS)
    state = begun().after_turn(turn, TWO)
    made = state.after_uses({0: a_use(RUN), 1: a_use(RUN, place=1)})

    assert next_move(state) == MakeCalls(turn, TWO, (0, 1))
    assert next_move(made) == AskModel(2)
    assert made.spending.calls_left == state.spending.calls_left - 2


def test_calls_that_nobody_would_hear_of_are_not_made() -> None:
    move = next_move(begun(turns=1).after_turn(a_turn(RUN, calls=CALLS), TWO))

    assert isinstance(move, End)
    assert move.status is AgentRunStatus.EXHAUSTED
    assert move.failed is not None
    assert move.failed.code == "agent_turns_spent"


def test_a_run_that_is_stopped_or_halted_ends_before_its_calls() -> None:
    state = begun().after_turn(a_turn(RUN), TurnNoted(stopped=True))

    assert next_move(state) == End(AgentRunStatus.STOPPED)

    state = begun().after_turn(a_turn(RUN, calls=CALLS), TWO)

    assert next_move(state.halted()) == End(AgentRunStatus.STOPPED)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (Kind.EXHAUSTED, AgentRunStatus.EXHAUSTED),
        (Kind.UNAVAILABLE, AgentRunStatus.FAILED),
    ],
)
def test_a_turn_that_nobody_answered_ends_it(kind: Kind, status: AgentRunStatus) -> None:
    failed = Failed("code", "Why.", kind=kind)

    assert next_move(begun().without_answer(TurnNoted(error="code"), failed)) == End(status, failed)


def test_what_a_turn_and_its_calls_cost_is_spent_and_no_more_calls_than_there_were() -> None:
    turn = replace(a_turn(RUN, calls=CALLS), counted=500, money=Decimal("0.25"))
    state = begun(tokens=1_000).after_turn(turn, replace(TWO, lost=3))

    assert state.spending.budget.spent.tokens == 500
    assert state.spending.budget.spent.money == Decimal("0.25")
    assert state.spending.calls_left == 97

    state = begun(calls=1).after_turn(a_turn(RUN, calls=CALLS), TWO)

    assert state.after_uses({0: a_use(RUN), 1: a_use(RUN, place=1)}).spending.calls_left == 0


def test_what_was_read_makes_the_run_as_secret() -> None:
    secret = Label(Level.RESTRICTED)
    turn = a_turn(RUN, calls=CALLS)
    state = RunState.beginning(Limits(), PUBLIC, a_trace()).after_turn(turn, TWO)

    assert state.after_uses({0: replace(a_use(RUN), label=secret)}).label == secret


def test_calls_made_beside_each_other_take_as_long_as_until_the_last_has_ended() -> None:
    turn = replace(a_turn(RUN), started_at=BEGINNING, took=timedelta(seconds=5))
    at = BEGINNING + timedelta(seconds=5)
    one = replace(a_use(RUN), started_at=at, took=timedelta(seconds=4))
    other = replace(a_use(RUN), started_at=at + timedelta(seconds=1), took=timedelta(seconds=4))
    asked = replace(one, took=timedelta(days=1), approval=ApprovalId.mint(at, SeededEntropy()))

    assert time_of(turn, [one, other]) == timedelta(seconds=5)
    assert time_of(turn, [one, asked]) == timedelta(seconds=4)
    assert time_of(turn, [replace(one, started_at=at + timedelta(days=1))]) == one.took
    assert time_of(turn, [asked]) == time_of(turn, []) == timedelta(0)


def test_what_was_wasted_before_a_run_was_taken_up_again_is_spent() -> None:
    turn = a_turn(RUN)
    spent = replace(RUN, usage=Usage(input=1_100, output=20), money=Decimal("0.5"))
    whole = replace(a_trace(turn), run=spent)
    state = RunState.beginning(Limits(), TEAM, whole)

    assert state.wasted == Wasted(1_000, Decimal("0.498"))
    assert state.spending.budget.spent.tokens == 1_000
    assert state.wasted + Wasted(1, Decimal("0.002")) == Wasted(1_001, Decimal("0.5"))
    assert RunState.beginning(Limits(), TEAM, a_trace(turn)).wasted == Wasted()


def test_what_was_said_last_is_the_answer_and_usage_is_added_up() -> None:
    assert answer_of([a_turn(RUN, 2, ""), a_turn(RUN, 1, "First.")]) == "First."
    assert answer_of([]) == ""

    turn = replace(a_turn(RUN), usage=Usage(input=1, output=2, cached=3, reported=False))

    assert usage_of([turn, turn]) == Usage(input=2, output=4, cached=6, reported=False)

    first, second = a_saying(RUN), a_saying(RUN, "More.", 2)

    assert begun().heard((first, second)).said == (first, second)
    assert begun().heard((first,)).said == (first,)


@supposing(st.lists(st.integers(0, 3), max_size=15), st.integers(1, 5))
def test_a_run_never_has_more_turns_than_it_may(calls: list[int], turns: int) -> None:
    state = begun(turns=turns)
    for number, wanted in enumerate(calls, 1):
        move = next_move(state)
        if isinstance(move, End):
            break
        turn = a_turn(RUN, number, calls=CALLS[:1] * wanted)
        state = state.after_turn(turn, TurnNoted(aims=(None,) * wanted))
        if isinstance(next_move(state), MakeCalls):
            uses = {place: a_use(RUN, number, place) for place in range(wanted)}
            state = state.after_uses(uses)

    assert len(state.turns) <= turns
