"""The lowest point of a function."""

import numpy as np
import pytest

from portico.bench.minimise import Point, minimise


def bowl(point: Point) -> tuple[float, Point]:
    steep = np.array([1.0, 30.0, 0.2])
    apart = point - np.array([3.0, -1.0, 5.0])
    return float(steep @ apart**2), 2 * steep * apart


def banana(point: Point) -> tuple[float, Point]:
    x, y = point
    slope = np.array([-400 * x * (y - x * x) - 2 * (1 - x), 200 * (y - x * x)])
    return float(100 * (y - x * x) ** 2 + (1 - x) ** 2), slope


def test_the_bottom_of_a_bowl_is_found() -> None:
    assert minimise(bowl, np.zeros(3), 100) == pytest.approx([3, -1, 5], abs=1e-4)


def test_a_bent_valley_is_followed() -> None:
    assert minimise(banana, np.array([-1.2, 1.0]), 200) == pytest.approx([1, 1], abs=1e-3)


def test_no_step_is_taken_at_the_bottom_or_where_none_leads_down() -> None:
    bottom = np.array([3.0, -1.0, 5.0])

    assert minimise(bowl, bottom, 10) is bottom
    uphill = minimise(lambda point: (float(np.abs(point).sum()), -np.ones(1)), np.zeros(1), 10)
    assert uphill.tolist() == [0]
