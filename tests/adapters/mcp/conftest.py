"""A pool of servers for each test that wants no other."""

from collections.abc import AsyncIterator

import pytest

from portico.adapters.mcp.pool import UpstreamPool
from tests.adapters.mcp.pools import a_pool


@pytest.fixture
async def pool() -> AsyncIterator[UpstreamPool]:
    async with a_pool() as made:
        yield made
