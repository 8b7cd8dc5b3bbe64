"""The three modes on a running Portico with a real server of tools that is slow: what has to be
said, what is suggested, and what is read before it is run."""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from tests.installation import Installation, installation
from tests.real_servers.gateway import Gateway
from tests.real_servers.world import give_away
from tests.scenarios.test_ahead_in_use import LIBRARY, SECONDS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]

MOST: Final = 40
"""Suggestions that are accepted before the next must be sure enough."""
TOOLS: Final = ["library.find_books", "library.lend_book"]
STRANGE: Final = "knit a green scarf for the cat"


@dataclass
class Hall:
    house: Installation
    gateway: Gateway
    topics: int = 0

    def topic(self) -> str:
        """That nobody has asked for."""
        self.topics += 1
        return f"herons {self.topics * 7919 % 10_007}"

    def suggested(self, intent: str) -> dict[str, Any]:
        answer = self.gateway.ask("POST", "/suggestions", {"intent": intent})
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def run(self, **wish: Any) -> None:
        run = self.gateway.ask("POST", "/workflows", wish).json()["run"]
        ended = self.gateway.ask("GET", f"/workflows/{run}?wait=60").json()
        assert ended["status"] == "done", ended

    def taught(self) -> None:
        """By a plan that somebody wrote."""
        topic = self.topic()
        find = {"id": "a", "tool": "library.find_books", "arguments": {"topic": topic}}
        book = {"$from": "a.json.books[0].book_id"}
        lend = {"id": "b", "tool": "library.lend_book", "arguments": {"book_id": book}}
        self.run(plan={"steps": [find, lend]}, intent=wanted(topic))

    def next(self) -> dict[str, Any]:
        """For a topic that nobody has asked for, once it is learnt what was run before."""
        until = time.monotonic() + 20
        while tools_of(found := self.suggested(wanted(self.topic()))) != TOOLS:
            assert time.monotonic() < until, found
            time.sleep(0.5)
        return found

    def served(self) -> float:
        bearer = {"Authorization": f"Bearer {self.house.key}"}
        text = httpx2.get(f"{self.house.url}/metrics", headers=bearer).text
        found = re.search(r"^portico_ahead_served_total (\S+)$", text, re.MULTILINE)
        assert found is not None
        return float(found[1])


def tools_of(suggestion: dict[str, Any]) -> list[str]:
    return [step["tool"] for step in suggestion["steps"]]


def wanted(topic: str) -> str:
    return f'find a book on the topic "{topic}" and lend it'


@pytest.fixture(scope="module")
def hall() -> Iterator[Hall]:
    with installation() as house, house.serving():
        folder, gateway = house.home.parent / "library", Gateway(house)
        folder.mkdir()
        give_away(folder)
        gateway.add("library", [sys.executable, str(LIBRARY), str(SECONDS), str(folder)])
        gateway.approve("library")
        wish = {"tools": "library.find_*", "effect": "local_read"}
        assert gateway.ask("PUT", "/effects", wish).is_success
        yield Hall(house, gateway)


@pytest.mark.requirement("seed001:12")
def test_what_had_to_be_said_is_suggested_and_then_read_before_it_is_run(hall: Hall) -> None:
    strange = hall.suggested(STRANGE)
    assert (strange["mode"], strange["plan"]) == ("explicit_required", None)

    hall.taught()
    first = hall.next()
    assert first["mode"] == "suggestion"
    assert first["staged"] == [first["steps"][1]["id"]]

    made = first
    for _ in range(MOST):
        if made["mode"] == "ran_ahead":
            break
        assert made["mode"] == "suggestion"
        hall.run(suggestion=made["suggestion"])
        made = hall.next()
    assert (made["mode"], made["ran_ahead"]) == ("ran_ahead", [made["steps"][0]["id"]])
    assert made["confidence"] >= made["threshold"] >= 0.85

    before = hall.served()
    hall.run(suggestion=made["suggestion"])
    assert hall.served() == before + 1
