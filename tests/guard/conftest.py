"""Where nearly every test of the guard begins."""

import pytest

from portico.guard.core.principals import Role
from portico.kernel.principal import Principal
from tests.guard.room import Room


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.fixture
def ana(room: Room) -> Principal:
    return room.person("ana")


@pytest.fixture
def bob(room: Room) -> Principal:
    return room.person("bob")


@pytest.fixture
def admin(room: Room) -> Principal:
    return room.person("root", Role.ADMIN)
