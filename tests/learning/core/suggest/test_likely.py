"""Which tools a plan needs, which comes next, and which plan is the likeliest."""

import numpy as np
import pytest

from portico.kernel.effect import Effect
from portico.learning.core.suggest.asked import Asked, Searched
from portico.learning.core.suggest.choose import MOST_STEPS, choose, in_order
from portico.learning.core.suggest.likely import drawn_by, likely
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.next_tool import next_tools
from portico.learning.core.suggest.past import Near, PastPlan, PastPlans, Votes, runs_of, words_of
from tests.learning.core.suggest.errands import (
    INTENT,
    LIST,
    READ,
    READ_AND_SEND,
    SEND,
    SIGN,
    TOOLS,
    WHOLE,
    a_plan,
    a_tool,
    asked,
)

NOTHING = Learnt.of([])


def test_without_a_past_search_decides() -> None:
    found = likely(asked(), NOTHING, TOOLS)

    assert [each.tool for each in found] == [READ, SEND, LIST]
    assert 1 > found[0].probability > found[2].probability > 0


def test_a_past_plan_for_the_same_raises_what_it_had() -> None:
    before = {each.tool: each.probability for each in likely(asked(), NOTHING, TOOLS)}

    found = likely(asked((READ_AND_SEND, 0.9)), Learnt.of([READ_AND_SEND]), TOOLS)

    after = {each.tool: each.probability for each in found}
    assert after[SEND] > 0.9 > before[SEND]
    assert after[LIST] < before[LIST]


def test_where_no_past_plan_is_near_the_parts_of_the_intent_decide() -> None:
    far = asked((a_plan("far", SIGN), 0.1))

    found = likely(far, NOTHING, TOOLS)

    assert [each.tool for each in found if each.probability >= 0.5] == [READ, SEND]


@pytest.mark.requirement("seed001:06")
def test_a_likely_tool_draws_after_it_what_came_before_it_elsewhere() -> None:
    learnt = Learnt.of([a_plan(f"{number}", SIGN, SEND) for number in range(20)])

    found = {each.tool for each in likely(asked(), learnt, TOOLS)}

    assert SIGN in found
    assert SIGN not in {each.tool for each in likely(asked(), NOTHING, TOOLS)}


def test_what_is_drawn_draws_further_and_circles_end() -> None:
    learnt = Learnt.of([a_plan("a", LIST, READ, SEND), a_plan("b", SEND, LIST)])

    found = drawn_by({SEND: 0.9}, learnt, TOOLS)

    assert found[READ] > found[LIST] > found[SEND] > 0


def test_what_is_hardly_likely_draws_nothing() -> None:
    assert drawn_by({SEND: 0.01}, Learnt.of([a_plan("a", READ, SEND)]), TOOLS) == {}


def test_what_is_not_offered_does_not_exist() -> None:
    offered = {tool: TOOLS[tool] for tool in (READ, LIST)}
    learnt = Learnt.of([a_plan("a", SIGN, READ), READ_AND_SEND])
    question = asked((READ_AND_SEND, 0.9))

    chosen = choose(question, likely(question, learnt, offered), learnt, offered)

    assert {each.tool for each in likely(question, learnt, offered)} == {READ, LIST}
    assert {each.tool for each in next_tools(question, [], learnt, offered)} == {READ, LIST}
    assert chosen is not None
    assert chosen.like is None


def test_the_next_tool_is_what_came_next_before() -> None:
    learnt = Learnt.of([READ_AND_SEND])

    first, *_ = next_tools(asked((READ_AND_SEND, 0.9)), [], learnt, TOOLS)
    then, *others = next_tools(asked((READ_AND_SEND, 0.9)), [READ], learnt, TOOLS)

    assert (first.tool, then.tool) == (READ, SEND)
    assert round(then.probability + sum(each.probability for each in others), 6) == 1


def test_what_answers_a_part_that_is_left_comes_before_what_was_done() -> None:
    found = [each.tool for each in next_tools(asked(), [READ], NOTHING, TOOLS)]

    assert found.index(SEND) < found.index(READ)


def test_when_every_part_was_answered_all_of_them_count_again() -> None:
    assert next_tools(asked(), [READ, SEND], NOTHING, TOOLS)


def test_where_nothing_is_found_nothing_comes_next() -> None:
    empty = Asked(intent="hm", searched=())

    assert next_tools(empty, [], NOTHING, TOOLS) == []
    assert likely(empty, NOTHING, TOOLS) == []
    assert choose(empty, [], NOTHING, TOOLS) is None


def test_a_plan_that_was_made_before_is_chosen_over_one_put_together() -> None:
    learnt = Learnt.of([READ_AND_SEND])
    question = asked((READ_AND_SEND, 0.9), (a_plan("other", READ, SEND), 0.85))

    chosen = choose(question, likely(question, learnt, TOOLS), learnt, TOOLS)

    assert chosen is not None
    assert (chosen.like, chosen.tools) == (READ_AND_SEND, (READ, SEND))
    assert chosen.share > 0.9
    assert chosen.raw > -1


def test_a_nearer_plan_with_the_same_tools_says_how_they_hang_together() -> None:
    far, near = a_plan("far", READ, SEND), a_plan("near", SEND, READ)
    learnt = Learnt.of([far, near])
    question = asked((far, 0.5), (near, 0.9))

    chosen = choose(question, likely(question, learnt, TOOLS), learnt, TOOLS)

    assert chosen is not None
    assert chosen.like is near


def test_without_a_past_the_likely_tools_are_put_together() -> None:
    sure = [Searched(INTENT, {READ: 0.9, SEND: 0.85}), *asked().searched[1:]]
    question = asked(searched=sure)

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.like is None
    assert set(chosen.tools) == {READ, SEND}


def test_if_none_is_likely_the_likeliest_is_chosen_and_not_surely() -> None:
    question = asked(searched=[Searched(INTENT, {READ: 0.05, SEND: 0.04})])

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.tools == (READ,)
    assert chosen.raw < -3


def test_a_past_plan_with_too_many_steps_or_none_is_not_followed() -> None:
    long = a_plan("long", *[READ] * (MOST_STEPS + 1))
    question = asked((long, 0.9), (PastPlan(id="none", steps=()), 0.9))

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.like is None


def test_nothing_comes_before_what_it_needs() -> None:
    learnt = Learnt.of([a_plan(f"{number}", SEND, READ) for number in range(5)])

    assert in_order(frozenset({READ, SEND}), asked(), learnt, TOOLS) == (SEND, READ)


def test_what_needs_one_another_still_gets_an_order() -> None:
    both = [a_plan(f"{number}", SEND, READ, SEND) for number in range(5)]

    order = in_order(frozenset({READ, SEND}), asked(searched=()), Learnt.of(both), TOOLS)

    assert set(order) == {READ, SEND}


def test_tools_of_which_nothing_is_known_are_in_the_order_of_their_names() -> None:
    some = {f"a.{name}": a_tool(f"a.{name}", Effect.PURE) for name in "cab"}

    order = in_order(frozenset(some), asked(searched=[WHOLE]), NOTHING, some)

    assert order == ("a.a", "a.b", "a.c")


NO_VECTORS = np.zeros((2, 0), np.float32)
ONE, OTHER = a_plan("one", READ, SEND), a_plan("other", LIST)


def test_the_nearest_by_meaning_come_first() -> None:
    past = PastPlans.of([ONE, OTHER], np.array([[1, 0], [0, 1]], np.float32))

    found = past.nearest(np.array([0.6, 0.8], np.float32), frozenset())

    assert [(each.plan.id, round(each.similarity, 2)) for each in found] == [
        ("other", 0.8),
        ("one", 0.6),
    ]
    assert len(past.nearest(np.array([0.6, 0.8], np.float32), frozenset(), most=1)) == 1


def test_without_a_vector_of_the_same_kind_words_decide() -> None:
    rows: list[np.ndarray | None] = [None, np.zeros(3, np.float32)]

    for vector in rows:
        words = [words_of("read the letter"), words_of("list the folder")]
        past = PastPlans.of([ONE, OTHER], NO_VECTORS, words)

        first, second = past.nearest(vector, words_of("list letters in the folder"))

        assert first.plan is OTHER, vector
        assert second.similarity == 0, vector


def test_without_any_word_nothing_is_alike() -> None:
    past = PastPlans.of([ONE, OTHER], NO_VECTORS)

    assert [each.similarity for each in past.nearest(None, frozenset())] == [0, 0]


def test_of_no_plans_none_is_near() -> None:
    assert PastPlans.of([], NO_VECTORS).nearest(None, frozenset()) == []


def test_a_vector_with_no_numbers_is_near_nothing() -> None:
    past = PastPlans.of([ONE], np.array([[np.nan, 1]], np.float32))

    assert past.nearest(np.array([1, 0], np.float32), frozenset())[0].similarity == 0


def test_what_was_rejected_counts_less_and_what_is_run_all_day_no_more_than_five_times() -> None:
    assert PastPlan(id="a", steps=(), times=1).weight == 1
    assert PastPlan(id="a", steps=(), times=1_000).weight == 5
    assert PastPlan(id="a", steps=(), times=2, accepted=2, rejected=2).weight == 1
    assert PastPlan(id="a", steps=(), times=1, rejected=5).weight < 0.1


def test_runs_with_the_same_tools_count_by_how_near_they_are() -> None:
    same = a_plan("again", SEND, READ, times=7, rejected=7)
    near = [Near(ONE, 0.9), Near(same, 0.9), Near(OTHER, 0.9), Near(ONE, 0.1)]

    assert runs_of(frozenset({READ, SEND}), near) == pytest.approx(1 + 7 / 3, abs=0.01)
    assert runs_of(frozenset({SEND}), near) == 0
    assert runs_of(frozenset({SEND}), []) == 0


def test_near_plans_say_more_than_far_ones() -> None:
    votes = Votes.of([Near(ONE, 0.9), Near(OTHER, 0.7)]).for_tools()

    assert votes[READ] == votes[SEND] > 5 * votes[LIST]
    assert 0.95 < votes[READ] + votes[LIST] < 1


def test_where_none_is_near_none_says_much() -> None:
    votes = Votes.of([Near(ONE, 0.05), Near(OTHER, 0.05)]).for_tools()

    assert max(votes.values()) < 0.1


def test_without_plans_nothing_is_said() -> None:
    assert Votes.of([]).for_tools() == {}


def test_what_came_next_is_known_by_what_came_before() -> None:
    votes = Votes.of([Near(ONE, 0.9), Near(a_plan("two", READ, LIST), 0.9)])

    assert votes.after(READ).keys() == {SEND, LIST}
    assert votes.after(None).keys() == {READ}
    assert votes.after(SEND) == {}
