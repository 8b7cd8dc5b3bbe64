"""Where most tests of the engine begin."""

import pytest

from tests.engine.room import Room
from tests.engine.watching import House, a_house


@pytest.fixture
def room() -> Room:
    """With a kind of work that does nothing."""
    return Room()


@pytest.fixture
def house() -> House:
    """A log that can be followed."""
    return a_house()
