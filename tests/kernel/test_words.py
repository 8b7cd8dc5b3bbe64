"""Figures in sentences."""

import pytest

from portico.kernel.words import many


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools"), (1200, "1,200 tools")]
)
def test_what_is_counted_has_its_ending(count: int, told: str) -> None:
    assert many(count, "tool") == told
