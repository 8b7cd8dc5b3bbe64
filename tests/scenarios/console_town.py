"""A running Portico with something in every room, for whoever looks at it through the console: a
real server of tools from npm and one of ours, models that play what they are told, plans that ran,
wait and failed, people and agents at a table, a debate."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.installation import Installation, installation
from tests.real_servers.gateway import Gateway
from tests.real_servers.world import give_away
from tests.scenarios.agent_house import LIBRARY
from tests.scenarios.node_packages import BIN, installed
from tests.scenarios.scripted_model import MODEL, calls, play, says, scripted_model
from tests.scenarios.voting_models import MODELS, vote, voting_models

PATIENCE: Final = 90.0
EVERYTHING: Final = ("@modelcontextprotocol/server-everything", "2026.8.31")


@dataclass
class Town:
    house: Installation
    gateway: Gateway

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        with self.house.client() as client:
            answered = client.request(method, path, json=body, headers=headers, timeout=PATIENCE)
        assert answered.is_success, (method, path, answered.text, self.house.log[-4000:])
        return answered.json() if answered.content else None

    def person(self, name: str, clearance: str, *roles: str) -> str:
        """Invited, and come: their key."""
        who = {"name": name, "roles": [*roles] or ["member"], "clearance": clearance}
        link = self.ask("POST", "/invitations", who)["link"]
        with self.house.client(link.partition("#")[2]) as client:
            accepted = client.post("/invitations/accept")
        assert accepted.is_success, accepted.text
        return str(accepted.json()["key"])

    def plan(self, steps: list[Mapping[str, Any]], *, wait: int = 0, intent: str = "") -> str:
        wish = {"plan": {"steps": steps}, "intent": intent or None}
        return str(self.ask("POST", "/workflows", wish, Prefer=f"wait={wait}")["run"])

    def chat(self, *turns: Mapping[str, Any], say: str) -> str:
        message = play(*turns, say=say)
        return str(self.ask("POST", "/agents/librarian/runs", {"message": message})["run"])

    def until(self, path: str, true: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not true(found := self.ask("GET", path)):
            assert time.monotonic() < deadline, (path, found, self.house.log[-4000:])
            time.sleep(0.1)
        return found

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GET", "/approvals?status=waiting")["data"]
        return found


@contextmanager
def console_town(*, everything: bool = True) -> Iterator[Town]:
    """Serving, with nothing but its servers, an agent and models in it. The server from npm is
    left out where no test calls it."""
    with voting_models() as voters, scripted_model() as model, installation() as house:
        voters.says = _votes
        with (house.home / "config" / "portico.toml").open("a", encoding="utf-8") as settings:
            settings.write(_settings(model.url, voters.url))
        with house.serving():
            town = Town(house, Gateway(house))
            _furnish(town, everything=everything)
            yield town


def _settings(script: str, voters: str) -> str:
    provider = 'kind = "compatible"\nwindow = 100000\nstructured = true\ntools = true\n'
    return (
        "\n[models]\ndiscover = false\n"
        f'\n[models.providers.script]\nurl = "{script}"\n{provider}'
        f'\n[models.providers.voters]\nurl = "{voters}"\n{provider}'
    )


def _votes(model: str, _text: str) -> str:
    answer = "SQLite" if model == MODELS[3] else "PostgreSQL"
    return vote(answer, 0.7, f"{answer} is what I would take, and here is why: it lasts.")


def _furnish(town: Town, *, everything: bool) -> None:
    folder = town.house.home.parent / "library"
    folder.mkdir()
    give_away(folder)
    town.gateway.add("library", [sys.executable, str(LIBRARY), "0", str(folder)])
    if everything:
        program = installed(*EVERYTHING) / "dist" / "index.js"
        town.gateway.add("everything", [str(BIN / "node"), str(program), "stdio"])
    town.gateway.approve("library", *(["everything"] if everything else []))
    for tools in ("library.find_*", "library.read_*"):
        town.ask("PUT", "/effects", {"tools": tools, "effect": "local_read"})
    rule = {"name": "ask-to-lend", "decision": "ask", "tools": ["library.lend_book"]}
    town.ask("POST", "/policy/rules", rule)
    spec = {"name": "librarian", "model": f"script:{MODEL}", "tools": ["library.*"]}
    town.ask("POST", "/agents", {**spec, "instructions": "You look after books."})


@dataclass(frozen=True)
class Filled:
    """The ids of what is there."""

    done: str
    waiting: str
    failed: str
    chat: str
    project: str
    conversation: str
    debate: str


def a_plan(topic: str) -> list[Mapping[str, Any]]:
    """Found, read twice side by side, and lent, which somebody has to approve."""
    first, second = ({"$from": f"found.json.books[{place}].book_id"} for place in (0, 1))
    return [
        {"id": "found", "tool": "library.find_books", "arguments": {"topic": topic}},
        {"id": "card", "tool": "library.read_card", "arguments": {"book_id": first}},
        {"id": "other", "tool": "library.read_card", "arguments": {"book_id": second}},
        {
            "id": "author",
            "tool": "library.read_author",
            "arguments": {"author_id": {"$from": "card.json.author_id"}},
        },
        {
            "id": "lend",
            "tool": "library.lend_book",
            "arguments": {"book_id": {"$from": "card.json.book_id"}},
            "after": ["author", "other"],
        },
    ]


def fill(town: Town) -> Filled:
    done = town.plan(a_plan("rivers")[:4], wait=30, intent="Find two books on rivers")
    waiting = town.plan(a_plan("tides"), intent="Lend me a book on tides")
    missing = {"id": "card", "tool": "library.read_card", "arguments": {"book_id": 7}}
    failed = town.plan(
        [
            *a_plan("salt")[:1],
            {**missing, "arguments": {"book_id": {"$from": "found.json.nothing[0]"}}},
        ],
        wait=30,
    )
    town.until("/approvals?status=waiting", lambda found: found["data"])
    chat = town.chat(
        calls(("library.find_books", {"topic": "tides"}), say="I look."),
        says("There is **On tides**. Shall I lend it to you?"),
        say="Do you have a book about tides?",
    )
    town.until(f"/traces/{chat}", lambda found: found["run"]["status"] == "completed")
    project = town.ask("POST", "/projects", {"name": "Harbour", "label": "team"})["id"]
    talk = {"project": project, "title": "Which store do we take?", "label": "team"}
    conversation = town.ask("POST", "/conversations", talk)["id"]
    for text in ("We need one that survives a crash.", "And that *two* of us can read at once."):
        town.ask("POST", f"/conversations/{conversation}/messages", {"body": text})
    secret = {"body": "The budget is 40 k.", "label": "confidential"}
    town.ask("POST", f"/conversations/{conversation}/messages", secret)
    wish = {
        "question": "Which store fits?",
        "choices": ["PostgreSQL", "SQLite"],
        "voices": [f"voters:{model}" for model in MODELS],
    }
    debate = town.ask("POST", "/debates", wish, Prefer="wait=60")["id"]
    return Filled(done, waiting, failed, chat, project, conversation, debate)
