"""The room that most tests of the gateway begin in."""

import pytest

from tests.gateway.open_room import OpenRoom


@pytest.fixture
def room() -> OpenRoom:
    return OpenRoom()
