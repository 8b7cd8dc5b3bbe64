"""The room that nearly every test of suggestions begins in."""

import pytest

from tests.learning.suggest.suggest_room import SuggestRoom


@pytest.fixture
def room() -> SuggestRoom:
    return SuggestRoom()
