"""Which of several texts is best."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.debate.core.comparing import pairs, settled_pairs, strengths


def test_a_pair_whose_two_orders_disagree_is_a_tie() -> None:
    assert settled_pairs([("a", "b", "a"), ("b", "a", "b")]) == {("a", "b"): None}
    assert settled_pairs([("a", "b", "a"), ("b", "a", "a")]) == {("a", "b"): "a"}
    assert settled_pairs([("a", "b", None)]) == {("a", "b"): None}


def test_who_wins_more_is_stronger() -> None:
    found = strengths(["a", "b", "c"], [("a", "b", "a"), ("b", "c", "b"), ("a", "c", "a")])

    assert found["a"] > found["b"] > found["c"] > 0
    assert sum(found.values()) == pytest.approx(1)


def test_whoever_is_not_in_it_is_left_out() -> None:
    assert strengths(["a", "b"], [("a", "x", "x"), ("x", "b", "b")]) == {"a": 0.5, "b": 0.5}
    assert strengths([], []) == {}


@given(some.lists(some.sampled_from(["a", "b", None]), max_size=8))
def test_names_make_no_difference(better: list[str | None]) -> None:
    swapped = {"a": "b", "b": "a", None: None}
    one = strengths(["a", "b"], [("a", "b", each) for each in better])
    other = strengths(["a", "b"], [("b", "a", swapped[each]) for each in better])

    assert one["a"] == pytest.approx(other["b"])


def test_all_are_connected_before_any_pair_is_added() -> None:
    assert pairs(["a", "b", "c"], 9) == [("a", "b"), ("b", "c"), ("a", "c")]
    assert pairs(["a"], 9) == []
