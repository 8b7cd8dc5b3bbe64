"""As sure as it turned out to be right."""

import pytest

from portico.bench.reliability import Bin, expected_error, reliability


def test_the_curve_tells_what_was_said_and_what_was() -> None:
    bins = reliability([0.11, 0.19, 1.0], [False, True, True])

    assert bins[0].said == pytest.approx(0.15)
    assert [(each.was, each.count) for each in bins] == [(0.5, 2), (1.0, 1)]
    assert bins[1] == Bin(1.0, 1.0, 1)
    assert expected_error(bins) == pytest.approx(0.35 * 2 / 3)
    assert expected_error([]) == 0
