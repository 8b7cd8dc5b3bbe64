"""Repeated work over MCP on a running Portico with real servers, one of them slow: calls are
foretold, then made ahead, and served; and it can be seen, and switched off."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp import Client

from tests.installation import Installation, installation
from tests.real_servers.catalogue import SERVERS
from tests.real_servers.gateway import Gateway, said
from tests.real_servers.install import install
from tests.real_servers.world import give_away

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

LIBRARY: Final = Path(__file__).with_name("slow_library.py")
SECONDS: Final = 0.15
"""That each answer of the library takes."""
SESSIONS: Final = 60
"""After which it must have been learnt."""
MARK: Final = "portico/ahead"


@dataclass(frozen=True)
class Work:
    """What came of one session."""

    card: dict[str, Any]
    served: tuple[str, ...]
    """The tools whose answer was there before it was asked for."""


@dataclass
class Town:
    house: Installation
    gateway: Gateway
    folder: Path
    sessions: int = 0
    learnt: bool = False

    async def session(self, pause: float = 0.0) -> Work:
        """Somebody looks for a book, in a task of its own, on a topic that nobody has asked for;
        and thinks for as long as anything is called ahead meanwhile, at most for `pause`."""
        self.sessions += 1
        topic = f"herons of lake {self.sessions * 7919 % 10_007}"
        task = self.gateway.ask("POST", "/contexts", {"name": topic}).json()["id"]
        async with self.gateway.client(headers={"Portico-Context": task}) as client:
            desk = Desk(client, partial(self._think, pause))
            books = await desk.ask("library.find_books", topic=topic)
            book = books["books"][0]["book_id"]
            card = await desk.ask("library.read_card", book_id=book)
            (self.folder / f"{book}.txt").write_text(topic)
            await desk.ask("library.read_author", author_id=card["author_id"])
            await desk.say("filesystem.read_text_file", path=card["text_file"])
        return Work(card, tuple(desk.served))

    def ahead(self) -> dict[str, Any]:
        found: dict[str, Any] = self.gateway.ask("GET", "/ahead").json()
        return found

    def _think(self, pause: float) -> None:
        """Not to the end where nothing is called ahead that could be waited for."""
        begun = time.monotonic()
        while (thought := time.monotonic() - begun) < pause:
            now = self.metrics()
            nothing = not now["portico_ahead_under_way"] and thought > pause / 4
            if now["portico_ahead_waiting"] or nothing:
                return
            time.sleep(0.02)

    def metrics(self) -> dict[str, float]:
        bearer = {"Authorization": f"Bearer {self.house.key}"}
        text = httpx2.get(f"{self.house.url}/metrics", headers=bearer).text
        return {
            name: float(value)
            for name, value in re.findall(r"^(portico_ahead_[a-z_]+) (\S+)$", text, re.MULTILINE)
        }

    def events(self, types: set[str]) -> dict[str, Any]:
        """The first of each of these types, with its facts."""
        found: dict[str, Any] = {}
        with (
            self.house.client() as client,
            client.stream("GET", "/events?topics=ahead", timeout=20) as stream,
        ):
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    event = json.loads(line.removeprefix("data: "))
                    found.setdefault(event.get("type"), event.get("facts"))
                if types <= set(found):
                    return found
        raise AssertionError(found)

    def until_written(self, served: int) -> dict[str, Any]:
        until = time.monotonic() + 20
        while (found := self.ahead())["figures"]["served"] < served:
            assert time.monotonic() < until, found
            time.sleep(0.1)
        return found


class Desk:
    def __init__(self, client: Client, think: Callable[[], None]) -> None:
        self._client = client
        self._think = think
        self.served: list[str] = []

    async def say(self, tool: str, verb: str = "call_read", **arguments: str) -> str:
        result = await self._client.call_tool(verb, {"tool": tool, "arguments": arguments})
        assert not result.is_error, said(result)
        if MARK in (result.meta or {}):
            self.served.append(tool)
        return said(result)

    async def ask(self, tool: str, verb: str = "call_read", **arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.say(tool, verb, **arguments))
        self._think()
        return found


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    [filesystem] = [server for server in SERVERS if server.name == "filesystem"]
    installed = install()
    with installation() as house, house.serving():
        folder, gateway = house.home.parent / "library", Gateway(house)
        folder.mkdir()
        give_away(folder)
        gateway.add("library", [sys.executable, str(LIBRARY), str(SECONDS), str(folder)])
        gateway.add("filesystem", [*installed.command(filesystem), str(folder)], folder=folder)
        gateway.approve("library", "filesystem")
        for tools in ("library.find_*", "library.read_*"):
            assert gateway.ask(
                "PUT", "/effects", {"tools": tools, "effect": "local_read"}
            ).is_success
        yield Town(house, gateway, folder)


@pytest.fixture
async def learnt(town: Town) -> Town:
    """After so much of the same work that it is foretold."""
    while not town.learnt:
        assert town.sessions < SESSIONS, (town.ahead(), town.house.log[-3000:])
        town.learnt = "library.read_author" in (await town.session()).served
    return town


async def test_work_that_repeats_itself_is_served_with_what_the_tool_says(learnt: Town) -> None:
    work = await learnt.session(pause=1)

    assert work.served == ("library.read_card", "library.read_author")
    assert work.card == {
        "book_id": work.card["book_id"],
        "author_id": work.card["author_id"],
        "text_file": str(learnt.folder / f"{work.card['book_id']}.txt"),
        "lent": False,
    }


async def test_it_is_seen_in_every_place(learnt: Town) -> None:
    before = learnt.ahead()["figures"]["served"]
    work = await learnt.session(pause=1)
    shown = learnt.until_written(before + len(work.served))
    figures = shown["figures"]
    metrics = learnt.metrics()

    told = learnt.house.run("ahead", "show").out.splitlines()
    edges = learnt.house.run("ahead", "edges").out
    stats = learnt.house.run("graph", "stats").out

    assert told[0] == "Calls that have proved right are made ahead"
    assert told[1].strip().startswith("served")
    assert "library.read_author\tlive" in edges
    assert "served" in stats
    assert 0 < figures["saved_ms"] <= figures["served"] * 2_000
    assert metrics["portico_ahead_served_total"] >= figures["served"]
    assert metrics["portico_ahead_saved_seconds_total"] > 0
    types = learnt.events({"ahead.live", "ahead.figures"})
    assert types["ahead.live"]["tool"] in {"library.read_card", "library.read_author"}
    assert types["ahead.figures"]["calls"] > 0
