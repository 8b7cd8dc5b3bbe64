"""Keys and passwords never come out again: not in logs, not in errors, not in any answer."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from portico.adapters.postgres.passwords import Passwords, read
from tests.installation import Installation, installation
from tests.servers import wheel

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(200),
]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        made.run("config", "set", "log.level", "debug")
        yield made


@pytest.mark.requirement("guard:keys:never-logged")
def test_no_key_and_no_password_is_found_in_any_log_error_or_stored_row(
    house: Installation,
) -> None:
    said: list[str] = []

    with house.serving():
        made = _lead_a_busy_life(house, said)
        _break_the_database(house, said)
        dump = house.run("db", "backup", str(house.home / "all.dump"))
        said += [dump.out, dump.err]

    secrets = {house.key, *made, *_passwords(house).by_role.values()}
    secrets |= {key.rpartition("_")[2] for key in made}
    places = {
        "answers and talk": "\n".join(said),
        "server's log": house.log,
        "database's log": (house.data.parent / "server.log").read_text(),
        "every stored row": rows_of(house.home / "all.dump"),
    }
    assert len(made) >= 4
    assert "first key" in places["every stored row"]
    assert house.log.count("GET /api/v1/me") >= 3  # it does log at this level
    found = [(where, key[:12]) for where, text in places.items() for key in secrets if key in text]
    assert found == []


def rows_of(backup: Path) -> str:
    """A backup is compressed: written out, it is every row of every table."""
    return subprocess.run(
        [wheel(18)["pg_restore"], "--file=-", backup], capture_output=True, text=True, check=True
    ).stdout


def _lead_a_busy_life(house: Installation, said: list[str]) -> list[str]:
    """Makes keys in every way there is, and then uses them in every wrong way one might."""
    with house.client() as client:
        first = client.post("/keys", json={"name": "one"}, headers={"Idempotency-Key": "k"}).json()
        said.append(
            client.post("/keys", json={"name": "one"}, headers={"Idempotency-Key": "k"}).text
        )
        second = client.post(f"/keys/{first['id']}/rotate", json={}).json()
        link = client.post("/invitations", json={"name": "bob"}).json()["link"]
        token = link.partition("#")[2]
        third = client.post(
            "/invitations/accept", headers={"Authorization": f"Bearer {token}"}
        ).json()
        keys = [first["key"], second["key"], token, third["key"]]
        for key in keys:
            said += _mistakes(house, client, key)
        said.append(client.get("/keys").text)
        space = client.get("/spaces").json()["data"][0]["id"]
        said.append(client.get(f"/spaces/{space}/export").text)
    for command in (["keys", "list"], ["config", "show", "--origin"], ["status", "--verbose"]):
        done = house.run(*command)
        said += [done.out, done.err]
    for command in (
        ["join", link],
        ["keys", "revoke", keys[0]],
        ["--debug", "keys", "rotate", keys[1]],
    ):
        done = house.run(*command)
        assert done.code != 0
        said += [done.out.replace(link, ""), done.err]
    return keys


def _mistakes(house: Installation, client: httpx2.Client, key: str) -> list[str]:
    """The answers to a key sent where it does not belong."""
    bare = {"Authorization": ""}
    answers = [
        client.get("/me", headers={"Authorization": f"Bearer {key}"}),
        client.get("/me", headers={"Authorization": f"Bearer {key}x"}),
        client.get("/me", headers={"Authorization": key}),
        client.get("/me", params={"key": key}, headers=bare),
        client.get(f"/keys/{key}"),
        client.get("/keys", params={"after": key}),
        client.post("/keys", json={"name": {"a": key}, "days": key}),
        client.post("/keys", json={"name": "x" * 200 + key}),
        client.post("/principals", json={"kind": key, "name": "n"}),
        client.post("/keys", content=f'{{"name": "{key}"', headers={"Content-Type": "text/plain"}),
        client.get("/me", headers={"Host": key}),
        client.get("/me", headers={"Origin": f"http://{key}"}),
        client.request("BREW", "/keys", headers={"X-Key": key}),
    ]
    assert answers[0].status_code in {200, 409}
    assert {answer.status_code for answer in answers[1:]} <= {
        400,
        401,
        403,
        404,
        405,
        409,
        421,
        422,
    }
    return [answer.text for answer in answers]


def _break_the_database(house: Installation, said: list[str]) -> None:
    """While requests with keys are under way, so that there are errors to be told."""
    os.kill(house.postmaster(), signal.SIGKILL)
    with house.client() as client:
        said += [client.get("/me").text for _ in range(3)]
    while not house.ready():
        time.sleep(0.1)


def _passwords(house: Installation) -> Passwords:
    return read(Path(house.home) / "data" / "secrets" / "postgres.json")
