"""Debates in a running Portico: models over HTTP, and the clients of OpenAI and of MCP."""

import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.faces.mcp.gateway import ERAS
from tests.installation import Installation, installation
from tests.scenarios.voting_models import MODELS, VotingModels, vote, voting_models

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]

VOICES: Final = [f"script:{model}" for model in MODELS]
PATIENCE: Final = 60.0


@dataclass
class DebateHouse:
    house: Installation
    models: VotingModels
    process: "subprocess.Popen[bytes]"

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

    def key(self, name: str, **more: Any) -> str:
        agent = self.ask("POST", "/principals", {"kind": "agent", "name": name, **more})
        made = self.ask("POST", "/keys", {"name": name, "principal": agent["id"], **more})
        return str(made["key"])


@asynccontextmanager
async def mcp_client(town: DebateHouse, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http:
        transport = streamable_http_client(f"{town.house.url}/mcp/debate", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@contextmanager
def debate_house() -> Iterator[DebateHouse]:
    with voting_models() as models, installation() as house:
        settings = house.home / "config" / "portico.toml"
        before = settings.read_text() if settings.exists() else ""
        provider = f'\n[models.providers.script]\nkind = "compatible"\nurl = "{models.url}"\n'
        voices = f"\n[debate]\nvoices = {json.dumps(VOICES)}\n"
        settings.write_text(f"{before}{voices}{provider}window = 100000\nstructured = true\n")
        with house.serving() as process:
            yield DebateHouse(house, models, process)


@pytest.fixture(scope="module")
def town() -> Iterator[DebateHouse]:
    with debate_house() as house:
        yield house


@pytest.fixture(autouse=True)
def agreeing(town: DebateHouse) -> None:
    town.models.says = lambda _model, _text: vote("yes")


def test_voices_are_asked_and_what_they_say_is_decided(town: DebateHouse) -> None:
    debate = town.debate("Is the heron a bird?")
    told = town.events(debate["id"])
    whole = town.ask("GET", f"/debates/{debate['id']}")

    assert (debate["status"], debate["decision"]["answer"]) == ("decided", "yes")
    assert [voice["name"] for voice in debate["voices"]] == VOICES
    names = [name for name, _ in told]
    assert (names[0], names[-1]) == ("round.began", "debate.ended")
    assert names.count("voice.answered") == debate["decision"]["asked"]
    asked = town.models.asked_about("Is the heron a bird?")
    assert len(asked) == debate["decision"]["asked"] == debate["spent"]["calls"]
    assert all(call.most is not None for call in asked)
    assert whole["notes"][-1]["kind"] == "decision"


def test_a_split_is_told_as_no_decision(town: DebateHouse) -> None:
    """Of two that have no record yet: the other two get one below."""
    halves = {MODELS[2]: "yes", MODELS[3]: "no"}
    town.models.says = lambda model, _text: vote(halves[model])

    debate = town.debate("Is the egret a fish?", voices=VOICES[2:], preset="vote")

    assert debate["status"] == "no_decision"
    assert debate["decision"]["why"] == "tie"
    assert debate["told"].startswith("No decision: ")


def test_a_budget_is_never_passed(town: DebateHouse) -> None:
    needed = town.ask(
        "POST", "/debate-estimate", {"question": "Is the ibis a bird?", "voices": VOICES[:2]}
    )["most"]["tokens"]
    before = len(town.models.asked)
    with town.house.client() as client:
        small = client.post(
            "/debates", json={"question": "Is the ibis a bird?", "cap": {"tokens": 50}}
        )
    debate = town.debate("Is the ibis a bird?", cap={"tokens": needed})

    assert (small.status_code, small.json()["code"]) == (429, "budget_too_small")
    assert debate["spent"]["tokens"] <= needed
    assert len(town.models.asked) - before == debate["spent"]["calls"]


def test_an_open_question_is_answered_by_a_text(town: DebateHouse) -> None:
    """The judge likes the answer of one of them, in whichever order they are shown."""

    def says(model: str, text: str) -> str:
        if '"better"' in text:
            shown = sorted(MODELS, key=lambda each: text.find(f"says {each}") % 10**9)
            return json.dumps({"why": "it says more", "better": _liked(shown)})
        if '"text"' in text and '"confidence"' not in text:
            return json.dumps({"text": "Herons wade, and nest in trees."})
        return vote(f"Herons wade, says {model}.")

    town.models.says = says

    debate = town.debate("How do herons live?", kind="open", thoroughness=0.2)

    assert debate["question"]["kind"] == "open"
    assert debate["status"] == "decided", debate
    assert debate["decision"]["answer"] or debate["decision"]["synthesis"]


def _liked(shown: list[str]) -> str:
    return "A" if shown[0] == MODELS[0] else "B"


def test_openai_s_own_client_hears_the_answer(town: DebateHouse) -> None:
    with openai.OpenAI(base_url=f"{town.house.url}/v1", api_key=town.house.key) as client:
        models = [each.id for each in client.models.list()]
        messages: Any = [{"role": "user", "content": "Is the stork a bird?"}]
        whole = client.chat.completions.create(model="debate/vote", messages=messages)
        stream = client.chat.completions.create(
            model="debate/quorum",
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)

    assert {"debate/vote", "debate/debate", "debate/quorum"} <= set(models)
    assert (whole.choices[0].message.content or "").startswith("yes\n\n> Decided: yes (")
    assert whole.usage is not None
    assert whole.usage.total_tokens > 0
    said = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
    assert said.startswith("yes\n\n> Decided: yes (")
    assert chunks[-1].usage is not None


async def test_the_official_client_debates_in_both_eras(town: DebateHouse) -> None:
    for mode in ERAS:
        async with mcp_client(town, town.house.key, mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("debate", {"question": f"Is it so, {mode}?"})

        assert "debate_status" in tools
        assert result.structured_content is not None
        assert result.structured_content["decision"]["answer"] == "yes"


async def test_a_guest_with_a_key_of_its_own_is_a_voice(town: DebateHouse) -> None:
    key = town.key("visitor", clearance="team")
    begun = town.ask(
        "POST",
        "/debates",
        {"question": "Is the crane a bird?", "voices": VOICES[:1], "guests": 1},
    )
    async with mcp_client(town, key) as guest:
        told = await guest.call_tool("join_debate", {"debate": begun["id"], "wait": 30})
        assert told.structured_content is not None
        assert "asked" in told.structured_content, (told, town.house.log[-4000:])
        answer = {"debate": begun["id"], "answer": "yes", "rationale": "It has feathers."}
        answered = await guest.call_tool("join_debate", answer)
        hidden = await guest.call_tool("debate_status", {"debate": begun["id"]})
    whole = town.ended(begun["id"])

    assert not answered.is_error
    assert hidden.is_error
    assert whole["debate"]["status"] == "decided"
    assert "guest:visitor" in whole["debate"]["decision"]["options"][0]["voices"]
    log = town.ask("GET", f"/debates/{begun['id']}/log")
    assert "guest:visitor" in log


def test_what_turned_out_wrong_changes_what_voices_weigh(town: DebateHouse) -> None:
    town.models.says = lambda model, _text: vote("yes" if model == MODELS[0] else "no")
    for number in range(3):
        debate = town.debate(f"Is number {number} so?", topic="numbers", voices=VOICES[:2])
        outcome = town.ask("POST", f"/debates/{debate['id']}/outcome", {"answer": "yes"})
        assert outcome["shown"] == "yes"
    after = town.debate("Is number 9 so?", topic="numbers", voices=VOICES[:2])

    weights = after["decision"]["weights"]
    assert weights[VOICES[0]] > weights[VOICES[1]]


def test_a_question_is_analysed_in_parts(town: DebateHouse) -> None:
    def says(_model: str, text: str) -> str:
        if '"parts"' in text:
            parts = [
                {"question": f"Do herons {what}?", "kind": "yes_no"} for what in ("fly", "swim")
            ]
            return json.dumps({"parts": parts})
        if '"text"' in text and '"confidence"' not in text:
            return json.dumps({"text": "They do both."})
        return vote("yes")

    town.models.says = says

    analysis = town.debate("What can herons do?", analyze=True, parts_most=2)
    whole = town.ended(analysis["id"])

    assert whole["debate"]["status"] == "decided", whole
    assert [part["decision"]["answer"] for part in whole["parts"]] == ["yes", "yes"]


def test_one_that_is_stopped_asks_nobody_else(town: DebateHouse) -> None:
    town.models.hold.clear()
    try:
        begun = town.ask("POST", "/debates", {"question": "Is the tern a bird?"})
        until = time.monotonic() + PATIENCE
        while not town.models.asked_about("Is the tern a bird?"):
            assert time.monotonic() < until, town.house.log[-4000:]
            time.sleep(0.05)
        town.ask("POST", f"/debates/{begun['id']}/stop")
        whole = town.ended(begun["id"])
    finally:
        town.models.hold.set()

    assert whole["debate"]["status"] in {"stopped", "no_decision"}
    assert len(town.models.asked_about("Is the tern a bird?")) <= 2


def test_what_is_confidential_stays_so(town: DebateHouse) -> None:
    low = town.key("robin", clearance="team")
    debate = town.debate("Is the plan sound?", label="confidential")
    with town.house.client() as client:
        client.headers["Authorization"] = f"Bearer {low}"
        listed = client.get("/debates").json()
        shown = client.get(f"/debates/{debate['id']}")
        absent = client.get(f"/debates/dbt_{'0' * 26}")

    assert debate["label"] == "confidential"
    assert listed["data"] == []
    assert (shown.status_code, shown.json()["code"]) == (404, absent.json()["code"])
