"""How sure an edge is."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.gateway.core.graph.confidence import at_least, fresh, share
from portico.gateway.core.graph.edge import Sightings
from portico.testing.kernel import BEGINNING


def test_of_one_sighting_nothing_is_sure() -> None:
    assert share(1, 1) == pytest.approx(1 / 3)
    assert at_least(1, 1) < 0.1


def test_with_many_it_comes_near_the_share_that_was_seen() -> None:
    assert share(80, 100) == pytest.approx(0.784, abs=0.001)
    assert at_least(80, 100) == pytest.approx(0.711, abs=0.001)


@given(some.floats(0, 1e6), some.floats(0, 1e6))
def test_the_lower_bound_is_below_the_share_and_both_are_shares(part: float, rest: float) -> None:
    assert 0 <= at_least(part, part + rest) <= share(part, part + rest) + 1e-12
    assert share(part, part + rest) < 1


@given(some.floats(0.1, 1e5), some.floats(1.1, 10))
def test_the_same_share_of_more_is_surer(part: float, times: float) -> None:
    assert at_least(part * times, 2 * part * times) > at_least(part, 2 * part)


def test_what_is_long_ago_counts_for_less() -> None:
    seen = Sightings(8, 1, BEGINNING)

    assert fresh(seen, BEGINNING) == 8
    assert fresh(seen, BEGINNING + timedelta(days=60)) == 4
    assert fresh(seen, BEGINNING - timedelta(days=1)) == 8
