"""Programs that act for the user come in as an agent: a real installation, before and after."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.guard.core.principals import FOR_AGENTS
from tests.installation import Installation, installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


def agent_file(house: Installation) -> Path:
    return house.home / "config" / "agent.key"


def agents(house: Installation) -> list[str]:
    with house.client() as client:
        everybody = client.get("/principals").json()["data"]
    return [each["name"] for each in everybody if each["kind"] == "agent"]


def test_what_programs_come_in_with_is_an_agents(house: Installation) -> None:
    file = agent_file(house)

    with house.serving(), house.client() as client:
        listed = client.get("/keys").json()["data"]
        roles = {each["id"]: each for each in client.get("/principals").json()["data"]}
    kept = next(each for each in listed if each["id"] == file.read_text().split("_")[1])

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().strip() != house.key
    assert kept["scopes"] == sorted(FOR_AGENTS)
    holder = roles[kept["principal"]]
    assert (holder["name"], holder["kind"], holder["roles"]) == ("desktop", "agent", ["member"])
    assert kept["clearance"] == holder["clearance"] == "team"


def test_an_installation_without_one_gets_it_when_it_is_next_started(house: Installation) -> None:
    file = agent_file(house)
    before = file.read_text()
    file.unlink()

    with house.serving():
        after = file.read_text()
        known = agents(house)
    again = house.run("init", "--json", "--no-import")

    assert after != before
    assert known == ["desktop"]
    assert json.loads(again.out)["agent_key_file"] == str(file)
    assert file.read_text() == after


def test_recovering_leaves_one_that_works(house: Installation) -> None:
    agent_file(house).write_text("ptc_nothing\n")

    said = house.run("init", "--recover", "--json", "--no-import")
    with house.serving(), house.client(agent_file(house).read_text().strip()) as client:
        answered = client.get("/tools")
        forbidden = client.post("/keys", json={"name": "another"}, headers=_key("a"))

    assert said.code == 0, said.err
    assert answered.status_code == 200
    assert forbidden.status_code == 403


def test_stdio_speaks_for_the_agent_and_not_for_the_user(house: Installation) -> None:
    with house.serving():
        house.run("keys", "list")
        spoken = _stdio(house)
        with house.client() as client:
            listed = client.get("/keys").json()["data"]
        named = _stdio(house, "--key-file", str(house.home / "nowhere.key"))

    used = next(
        each for each in listed if each["id"] == agent_file(house).read_text().split("_")[1]
    )
    assert json.loads(spoken.stdout)["result"]["serverInfo"]["name"] == "portico"
    assert used["last_used_at"] is not None
    assert "nowhere.key" in named.stderr


def _stdio(house: Installation, *more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [house.program, "stdio", *more],
        env=house.environment,
        input=json.dumps(_HELLO) + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text * 16}
