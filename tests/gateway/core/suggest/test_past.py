"""Plans that were for much the same."""

import numpy as np
import pytest

from portico.gateway.core.suggest.past import (
    Near,
    PastPlan,
    PastPlans,
    Votes,
    runs_of,
    words_of,
)
from tests.gateway.core.suggest.errands import LIST, READ, SEND, a_plan

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
