"""Debates in a running Portico whose voices are real: four on a live model; and a model, an agent
and a program side by side."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.installation import Installation, Process, installation
from tests.models.llama_server import LlamaServer, llama_server
from tests.scenarios.voting_models import MODELS, VotingModels, vote, voting_models

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(400),
]
PATIENCE = 60.0
LIVE = ("one", "two", "three", "four")
PROGRAM = """#!/bin/sh
case "$1" in --version) echo 1.0; exit 0;; esac
cat > /dev/null
echo '{"type": "system", "model": "claude-stand-in"}'
echo '%s'
"""


@dataclass
class DebateHouse:
    house: Installation
    models: VotingModels
    process: Process

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        with self.house.client() as client:
            answered = client.request(method, path, json=body, timeout=PATIENCE, **more)
        assert answered.is_success, (method, path, answered.text, self.house.log[-4000:])
        if not answered.headers.get("content-type", "").startswith("application/json"):
            return answered.text
        return answered.json()

    def debate(self, question: str, **wish: Any) -> Any:
        """Once it is over, or after half a minute."""
        return self.ask(
            "POST", "/debates", {"question": question, **wish}, headers={"Prefer": "wait=30"}
        )

    def ended(self, debate: str) -> Any:
        until = time.monotonic() + PATIENCE
        while (whole := self.ask("GET", f"/debates/{debate}"))["debate"]["status"] == "running":
            assert time.monotonic() < until, (whole, self.house.log[-4000:])
            time.sleep(0.1)
        return whole

    def events(self, debate: str) -> list[tuple[str, dict[str, Any]]]:
        told: list[tuple[str, dict[str, Any]]] = []
        name = ""
        path = f"/debates/{debate}/events"
        with (
            self.house.client() as client,
            client.stream("GET", path, timeout=PATIENCE) as stream,
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


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaServer]:
    with llama_server() as server:
        yield server


@pytest.fixture(scope="module")
def town(llama: LlamaServer) -> Iterator[DebateHouse]:
    with ExitStack() as around:
        models = around.enter_context(voting_models())
        house = around.enter_context(installation())
        with (house.home / "config" / "portico.toml").open("a", encoding="utf-8") as stream:
            stream.write(_settings(house, models, llama))
        yield DebateHouse(house, models, around.enter_context(house.serving()))


def _settings(house: Installation, models: VotingModels, llama: LlamaServer) -> str:
    live = "".join(
        f'\n[models.providers.{name}]\nkind = "compatible"\nurl = "{llama.url}/v1"\n'
        for name in LIVE
    )
    return (
        f'\n[debate.programs]\nclaude = "{_program(house.home.parent)}"\n'
        "\n[models]\ndiscover = false\n"
        f'\n[models.providers.script]\nkind = "compatible"\nurl = "{models.url}"\n'
        f"window = 100000\nstructured = true\ntools = true\n{live}"
    )


def _program(folder: Path) -> Path:
    """Says what `claude` would: its settings are those of whoever runs Portico, and not of a
    test."""
    end = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": vote("no", 0.6, "The program thinks so."),
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 9_000, "output_tokens": 40},
    }
    file = folder / "claude"
    file.write_text(PROGRAM % json.dumps(end).replace("'", ""))
    file.chmod(0o755)
    return file


@pytest.mark.requirement("debate:voices:live-model")
def test_four_voices_of_a_live_model_hold_a_debate(town: DebateHouse, llama: LlamaServer) -> None:
    started = town.ask(
        "POST",
        "/debates",
        {
            "question": "Is Paris the capital of France?",
            "voices": [f"{name}:{llama.model}" for name in LIVE],
            "preset": "vote",
            "thoroughness": 1.0,
            "deadline_seconds": 240,
        },
    )
    told = town.events(started["id"])
    whole = town.ended(started["id"])

    names = [name for name, _ in told]
    heard = {each["voice"] for name, each in told if name == "voice.spoke"}
    over = [each["voice"] for name, each in told if name in {"voice.answered", "voice.failed"}]
    assert names[-1] == "debate.ended"
    assert whole["debate"]["status"] in {"decided", "no_decision"}
    assert len(over) == len(set(over)) >= 2
    assert heard <= set(over)
    said = [note for note in whole["notes"] if note["kind"] == "said"]
    assert said, whole["notes"]
    assert {note["body"]["shown"] for note in said} <= {"yes", "no"}
    assert whole["debate"]["spent"]["tokens"] == sum(
        note["cost"]["tokens"] for note in whole["notes"]
    )


@pytest.mark.requirement("debate:voices:programs")
def test_a_model_an_agent_and_a_program_hold_a_debate(town: DebateHouse) -> None:
    town.models.says = lambda _model, _text: vote("yes", 0.9)
    agent = {"name": "clerk", "model": f"script:{MODELS[1]}", "instructions": "You are a clerk."}
    town.ask("POST", "/agents", agent)
    voices = [f"script:{MODELS[0]}", "agent:clerk", "program:claude"]
    wish: dict[str, Any] = {
        "question": "Is the ibis a bird?",
        "voices": voices,
        "preset": "vote",
        "thoroughness": 1.0,
    }

    with town.house.client() as client:
        refused = client.post("/debates", json=wish)
    states = {each["name"]: each for each in town.ask("GET", "/debate-voices?fresh=true")["data"]}
    debate = town.debate(**wish, unbounded=True)
    whole = town.ask("GET", f"/debates/{debate['id']}")

    assert (refused.status_code, refused.json()["code"]) == (422, "voice_unbounded")
    assert all(states[name]["available"] for name in voices[1:]), states
    assert states["program:gemini"]["available"] is False
    by_voice = {note["voice"]: note for note in whole["notes"] if note["kind"] == "said"}
    assert sorted(by_voice) == sorted(voices)
    assert by_voice["program:claude"]["cost"]["money"].startswith("0.01")
    assert by_voice["program:claude"]["overrun"] > 0
    assert by_voice["agent:clerk"]["body"]["shown"] == "yes"
    assert debate["decision"]["answer"] == "yes"
