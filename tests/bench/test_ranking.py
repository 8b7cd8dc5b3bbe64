"""How good a ranking is, and how sure one can be of it."""

import numpy as np
import pytest

from portico.bench.ranking_figures import area_under_curve, interval, ndcg, recall


@pytest.mark.parametrize(
    ("places", "quality"),
    [([0], 1.0), ([1], 0.6309), ([0, 1], 1.0), ([10], 0.0), ([0, 50], 0.6131)],
)
def test_a_later_place_is_worth_less(places: list[int], quality: float) -> None:
    assert ndcg(places) == pytest.approx(quality, abs=1e-4)


def test_recall_is_the_share_within_a_depth() -> None:
    assert recall([0, 4, 5, 80], 5) == 0.5


@pytest.mark.parametrize(
    ("fitting", "strange", "area"),
    [([3, 4], [1, 2], 1.0), ([1, 2], [3, 4], 0.0), ([1, 1], [1, 1], 0.5), ([2, 0], [1, 1], 0.5)],
)
def test_the_area_is_how_often_what_fits_stands_above(
    fitting: list[int], strange: list[int], area: float
) -> None:
    assert area_under_curve(np.array(fitting, float), np.array(strange, float)) == area


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    group = np.array([0.0, 1.0] * 50)

    low, high = interval([group, group])

    assert low < 0.5 < high
    assert (low, high) == interval([group, group])
