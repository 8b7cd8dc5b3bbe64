"""A face on a socket, for one test."""

from collections.abc import AsyncIterator

import pytest

from tests.interfaces.mcp.gateway import ERAS, Gateway, Site, serving
from tests.interfaces.mcp.rooms import BridgeSite, DebateSite, bridge_serving, debates_serving


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Gateway()) as made:
        yield made


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
async def bridge() -> AsyncIterator[BridgeSite]:
    async with bridge_serving() as made:
        yield made


@pytest.fixture
async def debates() -> AsyncIterator[DebateSite]:
    async with debates_serving() as made:
        yield made
