"""What a run does next, and what it may cost."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import given as supposing
from hypothesis import strategies as st

from portico.agents.core.activation import (
    CallModel,
    CallTarget,
    End,
    Failed,
    MakeCalls,
    RunState,
    TurnNoted,
    Wasted,
    answer_of,
    next_move,
    time_of,
    usage_of,
)
from portico.agents.core.agents import Limits
from portico.agents.core.budgets import (
    LEAST_ANSWER,
    SLACK,
    WIDEST_MARGIN,
    Question,
    Reserved,
    Short,
    Spending,
    learnt,
)
from portico.agents.core.model_requests import FREE, Price, ToolCall, Usage
from portico.agents.core.traces import AgentRunStatus, TurnTrace, WholeTrace
from portico.guard.core.authentication import as_principal
from portico.kernel.errors import Kind
from portico.kernel.ids import ApprovalId
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.agent_data import TEAM, a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy

RUN = an_agent_run(as_principal(an_identity("ana")))
CALLS = (ToolCall("a", "files__read", {}), ToolCall("b", "files__read", {}))
TWO = TurnNoted(aims=(CallTarget("files.read"), CallTarget("files.read")))


def begun(*, turns: int = 10, tokens: int = 200_000, calls: int = 100) -> RunState:
    limits = Limits(turns=turns, tokens=tokens, calls=calls)
    return RunState.beginning(limits, TEAM, a_trace())


def a_trace(*turns: TurnTrace) -> WholeTrace:
    return WholeTrace(run=RUN, said=(a_saying(RUN),), turns=turns, uses=())


def test_a_run_asks_until_there_is_an_answer_without_calls_to_all_that_was_said() -> None:
    assert next_move(begun()) == CallModel(1)

    state = begun().after_turn(a_turn(RUN), TurnNoted())

    assert next_move(state) == End(AgentRunStatus.COMPLETED)

    state = begun().with_input((a_saying(RUN, "And?", 2),)).after_turn(a_turn(RUN), TurnNoted())

    assert next_move(state) == CallModel(2)


def test_the_calls_of_a_turn_are_made_and_then_the_model_is_asked() -> None:
    turn = a_turn(RUN, calls=CALLS)
    state = begun().after_turn(turn, TWO)
    made = state.after_uses({0: a_use(RUN), 1: a_use(RUN, place=1)})

    assert next_move(state) == MakeCalls(turn, TWO, (0, 1))
    assert next_move(made) == CallModel(2)
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

    assert begun().with_input((first, second)).said == (first, second)
    assert begun().with_input((first,)).said == (first,)


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


PLENTY = Limits(tokens=100_000, money=Decimal(10), seconds=600.0, calls=10)
DEAR = Price(input=Decimal(3), output=Decimal(15))
SECOND = timedelta(seconds=1)


def reserved(limits: Limits = PLENTY, **question: Any) -> tuple[Spending, Reserved]:
    asked = replace(Question(prompt=1_000, max_output_tokens=500, price=DEAR), **question)
    found = Spending.within(limits).for_question(asked)
    assert not isinstance(found, Short)
    return found


def short(limits: Limits, **question: Any) -> tuple[str, ...]:
    asked = replace(Question(prompt=1_000, max_output_tokens=500, price=DEAR), **question)
    found = Spending.within(limits).for_question(asked)
    assert isinstance(found, Short)
    return found.dimensions


def test_a_prompt_is_reserved_with_a_margin_and_an_answer_with_slack_as_far_as_money_goes() -> None:
    spending, held = reserved()

    assert (held.prompt, held.asked, held.answer) == (1_500, 500, 750)
    assert spending.budget.committed.tokens == 2_250
    assert spending.budget.committed.money == DEAR.of(input_tokens=1_500, output_tokens=750)

    _, held = reserved(replace(PLENTY, money=Decimal(0)), price=FREE)

    assert held.asked == 500

    _, held = reserved(replace(PLENTY, money=Decimal(0)), price=None)

    assert held.cost.money == 0


def test_the_answer_shrinks_to_what_is_left_and_can_be_paid_and_has_room() -> None:
    _, held = reserved(replace(PLENTY, tokens=1_800))

    assert (held.asked, held.answer) == (200, 300)

    _, held = reserved(replace(PLENTY, money=Decimal("0.0075")))

    assert held.answer <= 200
    assert held.cost.money <= Decimal("0.0075")

    assert reserved(room=100)[1].asked == 100
    assert reserved(room=-5)[1].asked == 1


def test_what_cannot_be_asked_says_why() -> None:
    assert short(replace(PLENTY, tokens=1_550)) == ("tokens",)
    assert short(replace(PLENTY, money=Decimal("0.001"))) == ("money",)
    assert short(replace(PLENTY, seconds=0.0)) == ("time",)
    assert short(replace(PLENTY, tokens=0, money=Decimal(0))) == ("tokens", "money")

    assert short(replace(PLENTY, tokens=1_530)) == ("tokens",)
    assert reserved(replace(PLENTY, tokens=1_530), max_output_tokens=10)[1].asked == 10
    assert LEAST_ANSWER > 10

    money = Decimal("0.00044" + "9" * 40)
    price = Price(input=Decimal(0), output=Decimal(3))

    assert short(replace(PLENTY, money=money), price=price, max_output_tokens=100) == ("money",)

    limits = Limits(tokens=-1, money=Decimal(-1), seconds=-1.0, calls=-1)

    assert Spending.within(limits).budget.cap.tokens == 0


def test_the_larger_count_is_charged() -> None:
    spending, held = reserved()
    _, ours = spending.settle(held, 100, Usage(input=10, output=1), SECOND)
    _, theirs = spending.settle(held, 100, Usage(input=1_100, output=200), SECOND)

    assert (ours.input, ours.output) == (1_000, 100)
    assert (theirs.input, theirs.output, theirs.tokens) == (1_100, 200, 1_300)


def test_no_more_than_was_reserved_is_charged() -> None:
    spending, held = reserved()

    after, charge = spending.settle(held, 10**6, Usage(input=1, output=10**9), timedelta(days=9))

    assert (charge.input, charge.output, charge.time) == (1_000, 750, held.time)
    assert after.time_left == timedelta(0)


def test_a_prompt_that_was_longer_than_reserved_is_charged_as_far_as_it_can_be_believed() -> None:
    usage = Usage(input=10**9, output=1)
    spending, held = reserved()
    rich, charge = spending.settle(held, 1, usage, SECOND)
    spending, held = reserved(replace(PLENTY, tokens=2_300, money=Decimal("0.02")))
    poor, less = spending.settle(held, 1, usage, SECOND)

    assert (charge.input, charge.money) == (4_000, DEAR.of(input_tokens=4_000, output_tokens=1))
    assert rich.budget.spent.tokens == 4_001
    assert (less.input, poor.budget.spent.tokens) == (2_299, 2_300)
    assert poor.budget.spent.over(poor.budget.cap) == ()


@pytest.mark.parametrize("usage", [None, Usage(input=5_000, output=5_000, reported=False)])
def test_where_a_server_says_nothing_our_count_is_charged(usage: Usage | None) -> None:
    spending, held = reserved()

    _, charge = spending.settle(held, 7, usage, -SECOND)

    assert (charge.input, charge.output, charge.time) == (1_000, 7, timedelta(0))


def test_what_was_spent_before_is_spent_and_what_was_refused_costs_only_time() -> None:
    spending, held = reserved()

    after, charge = spending.unasked(held, SECOND)

    assert (charge.tokens, charge.money, charge.time) == (0, Decimal(0), SECOND)
    assert after.time_left == timedelta(seconds=599)

    spending = Spending.within(PLENTY).after(
        tokens=100, money=Decimal(1), time=timedelta(hours=1), calls=4
    )

    assert spending.budget.spent.tokens == 100
    assert (spending.time_left, spending.calls_left) == (timedelta(0), 6)
    assert "100 of 100,000 tokens" in spending.told


def test_a_margin_only_grows_and_not_without_end() -> None:
    assert learnt(120, 100, Usage(input=110)) == 120
    assert learnt(120, 100, Usage(input=150)) == 155
    assert learnt(120, 100, Usage(input=10**9)) == WIDEST_MARGIN


@pytest.mark.parametrize("usage", [Usage(input=999, reported=False), Usage(input=0)])
def test_nothing_is_learnt_where_nothing_is_said(usage: Usage) -> None:
    assert learnt(130, 100, usage) == 130
    assert learnt(130, 0, Usage(input=10)) == 130


PRICES = st.none() | st.builds(
    Price,
    input=st.decimals(0, 1_000, places=4),
    output=st.decimals(0, 1_000, places=4),
)


@given(
    st.integers(0, 10_000),
    st.decimals(0, 5, places=6),
    st.lists(
        st.tuples(
            st.integers(0, 3_000),
            st.integers(1, 3_000),
            PRICES,
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.booleans(),
        ),
        max_size=8,
    ),
)
def test_no_series_of_questions_passes_a_limit(
    tokens: int,
    money: Decimal,
    questions: list[tuple[int, int, Price | None, int, int, int, bool]],
) -> None:
    spending = Spending.within(replace(PLENTY, tokens=tokens, money=money))
    for prompt, most, price, read, input_, output, reported in questions:
        found = spending.for_question(Question(prompt=prompt, max_output_tokens=most, price=price))
        if isinstance(found, Short):
            continue
        spending, held = found
        usage = Usage(input=input_, output=output, reported=reported)
        spending, charge = spending.settle(held, min(read, held.answer), usage, SECOND)

        assert held.asked >= 1
        assert held.answer * 100 <= held.asked * SLACK + 100
        assert charge.input >= prompt
        assert charge.output >= min(read, held.answer)
    assert spending.budget.spent.over(spending.budget.cap) == ()
