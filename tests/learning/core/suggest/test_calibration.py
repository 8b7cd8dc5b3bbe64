"""As sure as it turned out to be right, and how sure it has to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.learning.core.suggest.calibration import SHIPPED, Calibration, Judged
from portico.learning.core.suggest.threshold import (
    ENOUGH,
    HIGHEST,
    LATEST,
    LOWEST,
    START,
    Outcome,
    threshold,
    wilson_lower,
)

OUTCOMES = st.lists(
    st.builds(Judged, st.floats(-20, 7), st.booleans(), st.floats(0.01, 1)), max_size=60
)


def test_what_seems_likelier_is_said_to_be_surer() -> None:
    assert 0 < SHIPPED.confidence(-9) < SHIPPED.confidence(-1) < SHIPPED.confidence(3) < 1


def test_without_outcomes_nothing_changes() -> None:
    assert SHIPPED.fitted([]).confidence(-1) == pytest.approx(SHIPPED.confidence(-1))


def test_a_few_outcomes_move_it_little_and_many_a_lot() -> None:
    before = SHIPPED.confidence(0)

    one, many = SHIPPED.fitted([Judged(0.0, False)]), SHIPPED.fitted([Judged(0.0, False)] * 200)

    assert before - 0.1 < one.confidence(0) < before
    assert many.confidence(0) < 0.1


def test_it_comes_to_say_what_was() -> None:
    taught = Calibration(0.5, 1.5).fitted([*_came(-3.0, 10), *_came(1.0, 90)])

    assert taught.confidence(-3) == pytest.approx(0.1, abs=0.05)
    assert taught.confidence(1) == pytest.approx(0.9, abs=0.05)


def test_what_few_runs_allow_is_no_reason_to_expect_less_of_what_has_many() -> None:
    taught = Calibration(0.5, 1.5).fitted([*_came(-3.0, 5, 0.5), *_came(1.0, 45, 0.5)])

    assert taught.confidence(1, 0.5) == pytest.approx(0.45, abs=0.05)
    assert taught.confidence(1) == pytest.approx(0.9, abs=0.1)


def _came(raw: float, right: int, backing: float = 1.0) -> list[Judged]:
    """Of a hundred."""
    return [Judged(raw, number < right, backing) for number in range(100)]


def test_it_never_says_less_of_what_seemed_likelier() -> None:
    taught = SHIPPED.fitted([Judged(3.0, False), Judged(-9.0, True)] * 100)

    assert taught.slope == 0


@given(OUTCOMES)
def test_whatever_comes_it_stays_a_probability(outcomes: list[Judged]) -> None:
    taught = SHIPPED.fitted(outcomes)

    assert 0 <= taught.confidence(-20) <= taught.confidence(7) <= 1


YES, NO = Outcome.ACCEPTED, Outcome.REJECTED


def test_with_few_outcomes_it_stays_where_it_starts() -> None:
    for few in range(ENOUGH):
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


def test_only_the_latest_count() -> None:
    assert threshold([NO] * LATEST + [YES] * 10_000) == HIGHEST


def test_whatever_is_not_accepted_counts_against_it() -> None:
    rows: list[Outcome] = [Outcome.REJECTED, Outcome.MODIFIED, Outcome.UNCLAIMED]

    for other in rows:
        assert threshold([YES] * 30 + [other] * 10) > threshold([YES] * 40)


@given(st.lists(st.sampled_from([*Outcome]), max_size=300))
def test_it_never_leaves_its_bounds(outcomes: list[Outcome]) -> None:
    assert LOWEST <= threshold(outcomes) <= HIGHEST


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_lower_bound_is_below_what_was_seen(hits: int, tried: int) -> None:
    hits = min(hits, tried)

    assert 0 <= wilson_lower(hits, tried) <= hits / tried
