"""Where many tests of debates begin."""

import pytest

from tests.debate.room import Room, some


@pytest.fixture
def room() -> Room:
    """Two voices of two families, which say the same."""
    return Room(*some("a:1", "b:1"))
