"""Where nearly every test of the bridge begins."""

import pytest

from portico.bridge.core.conversations import Conversation
from portico.kernel.principal import Principal
from tests.bridge.talk_room import TEAM, TalkRoom
from tests.bridge.things_room import Scene, a_scene


@pytest.fixture
def room() -> TalkRoom:
    return TalkRoom()


@pytest.fixture
def ana(room: TalkRoom) -> Principal:
    return room.enters("ana")


@pytest.fixture
def bob(room: TalkRoom) -> Principal:
    return room.enters("bob")


@pytest.fixture
def eve(room: TalkRoom) -> Principal:
    return room.enters("eve")


@pytest.fixture
def low(room: TalkRoom) -> Principal:
    """Somebody who may read what is the team's."""
    return room.enters("low", TEAM)


@pytest.fixture
async def talk(room: TalkRoom, ana: Principal) -> Conversation:
    """The team's; ana's, and nobody else takes part."""
    return await room.a_talk(ana, TEAM)


@pytest.fixture
async def scene() -> Scene:
    return await a_scene()
