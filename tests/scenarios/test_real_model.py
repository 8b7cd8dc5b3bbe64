"""Agents on a real model: a small one on llama.cpp, through a whole house, four of them at once."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.installation import Installation, installation
from tests.models.llama_server import LlamaServer, llama_server

PATIENCE = 240.0
BRIEF, LENGTHY = "brief", "lengthy"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaServer]:
    with llama_server() as made:
        yield made


@pytest.fixture(scope="module")
def house(model: LlamaServer) -> Iterator[Installation]:
    with installation() as made:
        with (made.home / "config" / "portico.toml").open("a") as stream:
            stream.write(
                "\n[models]\ndiscover = false\n\n[models.providers.llama]\n"
                f'kind = "compatible"\nurl = "{model.url}/v1"\n'
            )
        with made.serving(), made.client() as client:
            for name, most in {BRIEF: 48, LENGTHY: 2_000}.items():
                spec = {"name": name, "model": f"llama:{model.model}", "most_output": most}
                answer = client.post("/agents", json=spec)
                assert answer.status_code == 201, answer.text
            yield made


def _client(house: Installation) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {house.key}"}
    return httpx2.AsyncClient(
        base_url=f"{house.url}/api/v1", headers=headers, timeout=PATIENCE, trust_env=False
    )


async def _started(client: httpx2.AsyncClient, agent: str, message: str) -> str:
    answer = await client.post(f"/agents/{agent}/runs", json={"message": message})
    assert answer.status_code == 202, answer.text
    run: str = answer.json()["run"]
    return run


async def _followed(
    client: httpx2.AsyncClient, run: str, *, stop_at_first: bool = False
) -> list[tuple[str, dict[str, Any]]]:
    """Each event and what it says, to the end."""
    told: list[tuple[str, dict[str, Any]]] = []
    event = ""
    async with client.stream("GET", f"/agents/runs/{run}/events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("event:"):
                event = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                told.append((event, json.loads(line.removeprefix("data:"))))
                if stop_at_first and event == "text.added":
                    stop_at_first = False
                    answer = await client.post(f"/agents/runs/{run}/stop")
                    assert answer.is_success, answer.text
    return told


def _ended(told: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    (ended,) = [facts for event, facts in told if event == "run.ended"]
    return ended


async def test_four_agents_at_once_stream_their_answers_and_what_they_used_is_in_the_trace(
    house: Installation,
) -> None:
    async with _client(house) as client:
        wishes = [f"Say something about the number {number}." for number in range(4)]
        runs = await asyncio.gather(*(_started(client, BRIEF, wish) for wish in wishes))
        told = await asyncio.gather(*(_followed(client, run) for run in runs))
        traces = [(await client.get(f"/traces/{run}")).json() for run in runs]

    for events, trace in zip(told, traces, strict=True):
        ended = _ended(events)
        assert ended["status"] == "completed", ended
        assert ended["answer"]
        assert any(event == "text.added" for event, _ in events)
        (turn,) = trace["turns"]
        assert turn["text"] == ended["answer"] == trace["run"]["answer"]
        assert turn["usage"]["reported"]
        assert turn["usage"]["input"] > 10
        assert 0 < turn["usage"]["output"] <= 48
        assert trace["run"]["usage"] == turn["usage"]


async def test_a_run_that_is_stopped_keeps_what_was_said_and_the_model_is_free_again(
    house: Installation,
) -> None:
    async with _client(house) as client:
        run = await _started(client, LENGTHY, "Tell a very long story of a heron.")
        ended = _ended(await _followed(client, run, stop_at_first=True))
        after = await _started(client, BRIEF, "Say hello.")
        again = _ended(await _followed(client, after))

    assert ended["status"] == "stopped", ended
    assert ended["answer"]
    assert again["status"] == "completed", again
