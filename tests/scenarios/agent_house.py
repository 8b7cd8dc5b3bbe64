"""A running Portico with a model that plays what it is told to, and a real server of tools."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.installation import Installation, Process, installation
from tests.real_servers.gateway import Gateway
from tests.real_servers.world import give_away
from tests.scenarios.scripted_model import MODEL, ScriptedModel, scripted_model

LIBRARY: Final = Path(__file__).with_name("slow_library.py")
PATIENCE: Final = 60.0


@dataclass
class AgentHouse:
    house: Installation
    gateway: Gateway
    model: ScriptedModel
    process: Process

    def agent(self, name: str, **said: Any) -> dict[str, Any]:
        spec = {"name": name, "model": f"script:{MODEL}", "tools": ["library.*"], **said}
        made: dict[str, Any] = self.ask("POST", "/agents", spec)
        return made

    def start(self, agent: str, message: str, **said: Any) -> str:
        return str(self.ask("POST", f"/agents/{agent}/runs", {"message": message, **said})["run"])

    def ended(self, run: str, *statuses: str) -> dict[str, Any]:
        """Once it is over, or is as said."""
        until = time.monotonic() + PATIENCE
        wanted = set(statuses) or {"completed", "stopped", "exhausted", "failed", "cancelled"}
        while (trace := self.trace(run))["run"]["status"] not in wanted:
            assert time.monotonic() < until, (trace, self.house.log[-4000:])
            time.sleep(0.1)
        return trace

    def trace(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"/traces/{run}")
        return found

    def waiting(self, run: str) -> dict[str, Any]:
        """What this run asks people for, as soon as it does."""
        until = time.monotonic() + PATIENCE
        while True:
            asked = self.ask("GET", "/approvals?status=waiting")["data"]
            if its := [each for each in asked if each["run"] == run]:
                found: dict[str, Any] = its[0]
                return found
            assert time.monotonic() < until, self.house.log[-4000:]
            time.sleep(0.1)

    def answer(self, approval: str, verdict: str) -> None:
        self.ask("POST", f"/approvals/{approval}/answer", {"answer": verdict})

    def events(self, run: str) -> list[tuple[str, dict[str, Any]]]:
        """All that is told of a run, to its end."""
        told: list[tuple[str, dict[str, Any]]] = []
        name = ""
        with (
            self.house.client() as client,
            client.stream("GET", f"/agents/runs/{run}/events", timeout=PATIENCE) as stream,
        ):
            assert stream.status_code == 200, stream.read()
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: ") and name == "end":
                    break
                elif line.startswith("data: "):
                    told.append((name, json.loads(line.removeprefix("data: "))))
        return told

    def audit(self, action: str) -> list[dict[str, Any]]:
        """What was done of this kind, newest first."""
        return [each["act"] for each in self.ask("GET", f"/audit?action={action}")["data"]]

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answered = self.gateway.ask(method, path, body)
        assert answered.is_success, (method, path, answered.text, self.house.log[-4000:])
        return answered.json() if answered.content else None


@contextmanager
def agent_house(model: ScriptedModel, house: Installation) -> Iterator[AgentHouse]:
    """Serving. What is lent by the library has to be approved."""
    settings = house.home / "config" / "portico.toml"
    before = settings.read_text() if settings.exists() else ""
    provider = f'\n[models.providers.script]\nkind = "compatible"\nurl = "{model.url}"\n'
    settings.write_text(f"{before}{provider}tools = true\nwindow = 100000\nstructured = true\n")
    with house.serving() as process:
        folder, gateway = house.home.parent / "library", Gateway(house)
        folder.mkdir()
        give_away(folder)
        gateway.add("library", [sys.executable, str(LIBRARY), "0", str(folder)])
        gateway.approve("library")
        for tools in ("library.find_*", "library.read_*"):
            effect = {"tools": tools, "effect": "local_read"}
            assert gateway.ask("PUT", "/effects", effect).is_success
        rule = {"name": "ask-to-lend", "decision": "ask", "tools": ["library.lend_book"]}
        made = gateway.ask("POST", "/policy/rules", rule)
        assert made.is_success, made.text
        yield AgentHouse(house, gateway, model, process)


@contextmanager
def a_house() -> Iterator[AgentHouse]:
    with scripted_model() as model, installation() as house, agent_house(model, house) as made:
        yield made
