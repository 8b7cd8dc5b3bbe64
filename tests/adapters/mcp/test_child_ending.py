"""Whoever does not wait for the end of a server leaves nothing of it running."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.resolve import Command
from portico.adapters.mcp.stdio import Starting, start
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.watch import Watch
from tests.adapters.mcp.pools import until
from tests.children import lives

pytestmark = pytest.mark.timeout(40)

ROOT = Path(__file__).parents[3]
PARENT = "from tests.adapters.mcp.servers.parent import main; main()"


async def test_an_end_that_is_cancelled_half_way_ends_the_servers_children_too(
    tmp_path: Path,
) -> None:
    pids, words = tmp_path / "pids", LastWords()
    words.begin()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = ("-S", "-c", PARENT, str(pids), "stubborn")
    command = Command(sys.executable, arguments, environment, None, frozenset())
    server = await start(
        Starting(command, environment, None, Watch()), words, Terms(grace=timedelta(seconds=20))
    )
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    family = [int(pid) for pid in pids.read_text().split()]

    ending = asyncio.ensure_future(server.close())
    await asyncio.sleep(1)  # it has been asked to end, and does not want to
    still = [lives(pid) for pid in family]
    ending.cancel()
    await asyncio.wait([ending])

    assert still == [True, True]
    await until(lambda: not any(map(lives, family)))
