"""A use counts half after a week."""

from datetime import timedelta

import pytest

from portico.gateway.core.acquaintance import faded


@pytest.mark.parametrize(
    ("weeks", "left"), [(0, 8.0), (1, 4.0), (2, 2.0), (0.5, 8 / 2**0.5), (-5, 8.0)]
)
def test_a_use_fades(weeks: float, left: float) -> None:
    assert faded(8, timedelta(weeks=weeks)) == pytest.approx(left)
