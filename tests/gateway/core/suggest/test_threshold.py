"""The threshold follows what callers accepted, inside its bounds, and never drifts off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.suggest.threshold import (
    ENOUGH,
    HIGHEST,
    LATEST,
    LOWEST,
    START,
    Outcome,
    threshold,
    wilson_lower,
)

YES, NO = Outcome.ACCEPTED, Outcome.REJECTED


@pytest.mark.parametrize("few", range(ENOUGH))
def test_with_few_outcomes_it_stays_where_it_starts(few: int) -> None:
    assert threshold([NO] * few) == START


def test_whoever_accepts_everything_brings_it_down_little_by_little() -> None:
    found = [threshold([YES] * many) for many in (20, 50, 100, 200)]

    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(0.902, abs=0.001)
    assert found[-1] == LOWEST


@pytest.mark.requirement("seed001:14")
def test_whoever_rejects_brings_it_up_to_its_highest() -> None:
    assert threshold([NO] * 20) == HIGHEST
    assert threshold([YES] * 10 + [NO] * 10) == HIGHEST


def test_two_hundred_accepted_do_not_bring_it_below_its_lowest_and_more_change_nothing() -> None:
    assert threshold([YES] * 200) == threshold([YES] * 100_000) == LOWEST


def test_only_the_latest_count() -> None:
    assert threshold([NO] * LATEST + [YES] * 10_000) == HIGHEST


@pytest.mark.parametrize("other", [Outcome.REJECTED, Outcome.MODIFIED, Outcome.UNCLAIMED])
def test_whatever_is_not_accepted_counts_against_it(other: Outcome) -> None:
    assert threshold([YES] * 30 + [other] * 10) > threshold([YES] * 40)


@given(st.lists(st.sampled_from([*Outcome]), max_size=300))
def test_it_never_leaves_its_bounds(outcomes: list[Outcome]) -> None:
    assert LOWEST <= threshold(outcomes) <= HIGHEST


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_lower_bound_is_below_what_was_seen(hits: int, tried: int) -> None:
    hits = min(hits, tried)

    assert 0 <= wilson_lower(hits, tried) <= hits / tried
