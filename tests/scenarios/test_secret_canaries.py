"""What Portico was given in trust reaches the child it was meant for, and nobody else."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import quote, quote_plus

import httpx2
import pytest

from portico.adapters.postgres.addresses import read
from tests.adapters.telemetry.receiver import Receiver, receiver
from tests.installation import Installation, installation
from tests.real_servers.gateway import echo, write_plan
from tests.real_servers.recording import Recording, recording
from tests.servers import wheel

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]

LEAKY: Final = Path(__file__).with_name("leaky_server.py")
CANARIES: Final[Mapping[str, str]] = {
    name: f'c4nary+{number}/"{name}'
    for number, name in enumerate(
        ("vaulted", "header", "oauth", "refused", "variable", "file", "plain", "toml", "password"),
        1,
    )
}
"""With what is written otherwise in JSON, in addresses and in forms."""
DECLARED: Final = ("vaulted", "variable", "file", "plain")
"""What the server `leaky` is given; the rest is for others, or for nobody."""


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setenv("CANARY_VARIABLE", CANARIES["variable"])
    with installation() as made:
        yield made


@pytest.mark.requirement("guard:secrets:canaries")
@pytest.mark.requirement("guard:keys:never-logged")
def test_no_secret_is_found_where_it_was_not_meant_to_be(house: Installation) -> None:
    told: list[str] = []
    with (
        receiver() as collector,
        _web(house) as web,
        _configured(house, collector, web).serving() as process,
    ):
        with _listening(house, told):
            _give(house, told)
            keys = _lead_a_busy_life(house, told)
            _break_the_database(house, told)
        children = _environments(process.pid) | _environments(house.postmaster())
        commands = "\n".join(_command_lines(process.pid))
        dump = house.run("db", "backup", str(house.home / "all.dump"))
        told += [dump.out, dump.err]

    declared = [pid for pid, text in children.items() if "LEAK_VAULTED" in text]
    places = {
        **{f"told: {text[:70]}": text for text in told},
        "standard error": house.log,
        "log file": _all_files(house.home / "state"),
        "every stored row": _rows_of(house.home / "all.dump"),
        "the database's log": (house.data.parent / "server.log").read_text(),
        "traces": collector.got("/v1/traces").decode("latin-1"),
        "metrics": collector.got("/v1/metrics").decode("latin-1"),
        "other children": "\n".join(text for pid, text in children.items() if pid not in declared),
        "command lines": commands,
    }
    passwords = read(house.home / "data" / "secrets" / "postgres.json").by_role
    secrets = {**CANARIES, **passwords, "our own key": house.key}
    secrets |= {f"key {number}": key for number, key in enumerate(keys)}
    secrets |= {f"secret of key {n}": key.rpartition("_")[2] for n, key in enumerate(keys)}
    found = [
        f"{name} ({spelling}) in {place}: …{text[max(0, text.index(written) - 90) :][:200]}"
        for place, text in places.items()
        for name, secret in secrets.items()
        for spelling, written in _spellings(secret).items()
        if written in text
    ]
    assert not found, "\n".join(found)
    _is_where_it_must_be(children, declared, web, places)


def _is_where_it_must_be(
    children: Mapping[int, str], declared: list[int], web: Recording, places: Mapping[str, str]
) -> None:
    """Or else nothing was shown: each got there, was told, and was blacked out on the way."""
    assert declared
    for name in DECLARED:
        assert all(CANARIES[name] in children[pid] for pid in declared)
    sent = [{name.lower(): value for name, value in asked.headers} for asked in web.asked]
    assert any(headers.get("x-leak") == CANARIES["toml"] for headers in sent)
    assert any(headers.get("authorization") == f"Bearer {CANARIES['header']}" for headers in sent)
    for place in ("log file", "every stored row"):
        assert "********" in places[place], place
    assert "tools/call" in places["traces"] or "POST /api/v1/calls" in places["traces"]
    assert "approval.answered" in "".join(places.values())
    assert str(LEAKY) in places["command lines"]


def _spellings(secret: str) -> dict[str, str]:
    """Of base64, what is the same wherever in a text it begins."""
    inside = {
        f"base64 at {shift}": base64.b64encode(b"x" * shift + secret.encode())[4:-4].decode()
        for shift in range(3)
    }
    return {
        "raw": secret,
        "JSON": json.dumps(secret)[1:-1],
        "JSON in JSON": json.dumps(json.dumps(secret)[1:-1])[1:-1],
        "address": quote(secret, safe=""),
        "form": quote_plus(secret),
        **inside,
    }


@contextmanager
def _web(house: Installation) -> Iterator[Recording]:
    plan = {"name": "web", "tools": [echo("say")], "prompts": [], "resources": []}
    with recording(write_plan(house.home.parent / "plan.json", plan)) as made:
        yield made


def _configured(house: Installation, collector: Receiver, web: Recording) -> Installation:
    kept = house.home.parent / "kept.secret"
    kept.write_text(f"{CANARIES['file']}\n")
    kept.chmod(0o600)
    program = [sys.executable, "-I", "-S", str(LEAKY)]
    launch = f"command = {json.dumps(program[0])}\nargs = {json.dumps(program[1:])}\n"
    with (house.home / "config" / "portico.toml").open("a") as settings:
        settings.write(
            f"""
[approvals]
wait_seconds = 0
[log]
level = "debug"
[telemetry]
otlp_endpoint = "{collector.url}"
[servers.leaky]
{launch}
[servers.leaky.env]
LEAK_VAULTED = "secret:vaulted"
LEAK_VARIABLE = "env:CANARY_VARIABLE"
LEAK_FILE = "file:{kept}"
LEAK_PLAIN = {json.dumps(CANARIES["plain"])}
[servers.other]
{launch}
[servers.desk]
url = "{web.url}"
[servers.web]
url = "{web.url}"
[servers.web.headers]
X-Leak = {json.dumps(CANARIES["toml"])}
Authorization = "Bearer secret:header"
"""
        )
    return house


@contextmanager
def _listening(house: Installation, told: list[str]) -> Iterator[None]:
    """To all that is told of while it is open, and has been told of before."""
    heard: list[str] = []

    def listen() -> None:
        try:
            with (
                house.client() as client,
                client.stream("GET", "/events", params={"topics": "approvals"}) as stream,
            ):
                heard.extend(stream.iter_lines())
        except httpx2.TransportError:  # when the server ends
            pass

    thread = Thread(target=listen, daemon=True)
    thread.start()
    yield
    assert any("approval" in line for line in heard)
    told.append("\n".join(heard))


def _give(house: Installation, told: list[str]) -> None:
    for name in ("vaulted", "header", "oauth"):
        given = subprocess.run(
            [house.program, "secrets", "set", name],
            env=house.environment,
            input=CANARIES[name],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        told += [given.stdout, given.stderr]
    for name in ("leaky", "other", "web"):
        done = house.run("servers", "approve", name, "--yes", "--all")
        assert done.code == 0, done.err
        told += [done.out, done.err]
    with house.client() as client:
        for tool in ("*.tell*", "*.fail", "*.die", "web.say"):
            body = {"tools": tool, "effect": "local_read"}
            assert client.put("/effects", json=body).is_success


def _lead_a_busy_life(house: Installation, told: list[str]) -> list[str]:
    """Has every secret told in every way there is; the keys that were made meanwhile."""
    agent = (house.home / "config" / "agent.key").read_text().strip()
    with house.client() as person, house.client(agent) as bot:
        keys = _keys(house, person, told)
        known = {"path": CANARIES["vaulted"], "password": CANARIES["password"]}
        _have_it_told(bot, known)
        # Whoever is asked is shown the call as it is, but for what the house knows to be secret.
        told += _approved(person, bot, {"path": CANARIES["vaulted"]})
        told += _mistakes(person, bot, keys[0])
        told.append(bot.post("/calls", json={"tool": "leaky.die", "arguments": known}).text)
        space = person.get("/spaces").json()["data"][0]["id"]
        for path in (
            "/servers",
            "/servers/leaky",
            "/servers/leaky/logs",
            "/servers/leaky/review",
            "/servers/web",
            "/calls",
            "/secrets",
            "/runs",
            "/approvals",
            "/audit/export",
            f"/spaces/{space}/export",
        ):
            told.append(person.get(path).text)
    for command in (
        ["status", "--verbose", "--json"],
        ["doctor", "--json"],
        ["secrets", "list", "--json"],
        ["servers", "show", "leaky"],
        ["servers", "diff", "leaky"],
        ["config", "show", "--origin"],
        ["--debug", "call", "leaky.die"],
        ["servers", "restart", "leaky"],
    ):
        done = house.run(*command)
        told += [done.out, done.err]
    with house.client(agent) as bot:  # it has died, and stands there again
        again = bot.post("/calls", json={"tool": "leaky.tell"})
        assert again.status_code == 200, again.text
    return keys


def _keys(house: Installation, person: httpx2.Client, told: list[str]) -> list[str]:
    """Made in every way there is, and used in every wrong way one might."""
    once = {"Idempotency-Key": "k"}
    first = person.post("/keys", json={"name": "a key"}, headers=once).json()
    told.append(person.post("/keys", json={"name": "a key"}, headers=once).text)
    second = person.post(f"/keys/{first['id']}/rotate", json={}).json()
    link = person.post("/invitations", json={"name": "bob"}).json()["link"]
    token = link.partition("#")[2]
    bearer = {"Authorization": f"Bearer {token}"}
    third = person.post("/invitations/accept", headers=bearer).json()
    keys = [first["key"], second["key"], token, third["key"]]
    told += [text for key in keys for text in _misplaced(person, key)]
    told.append(person.get("/keys").text)
    for command in (["keys", "revoke", keys[0]], ["--debug", "keys", "rotate", keys[1]]):
        done = house.run(*command)
        assert done.code != 0
        told += [done.out, done.err]
    return keys


def _misplaced(person: httpx2.Client, key: str) -> list[str]:
    """The answers to a key sent where it does not belong."""
    bare = {"Authorization": ""}
    answers = [
        person.get("/me", headers={"Authorization": f"Bearer {key}x"}),
        person.get("/me", headers={"Authorization": key}),
        person.get("/me", params={"key": key}, headers=bare),
        person.get(f"/keys/{key}"),
        person.get("/keys", params={"after": key}),
        person.post("/keys", json={"name": {"a": key}, "days": key}),
        person.post("/principals", json={"kind": key, "name": "n"}),
        person.post("/keys", content=f'{{"name": "{key}"', headers={"Content-Type": "text/plain"}),
        person.get("/me", headers={"Host": key}),
        person.get("/me", headers={"Origin": f"http://{key}"}),
        person.request("BREW", "/keys", headers={"X-Key": key}),
    ]
    assert all(400 <= answer.status_code < 500 for answer in answers)
    return [answer.text for answer in answers]


def _break_the_database(house: Installation, told: list[str]) -> None:
    """While requests with keys are under way, so that there are errors to be told."""
    os.kill(house.postmaster(), signal.SIGKILL)
    with house.client() as client:
        told += [client.get("/me").text for _ in range(3)]
    while not house.ready():
        time.sleep(0.1)


def _rows_of(backup: Path) -> str:
    """A backup is compressed: written out, it is every row of every table."""
    return subprocess.run(
        [wheel(18)["pg_restore"], "--file=-", backup], capture_output=True, text=True, check=True
    ).stdout


def _have_it_told(bot: httpx2.Client, known: Mapping[str, str]) -> None:
    """What a tool answers is for whoever has called it, without what its server was given."""
    for tool in ("leaky.tell", "leaky.tell_long", "leaky.fail", "other.tell", "web.say"):
        answered = bot.post("/calls", json={"tool": tool, "arguments": known})
        assert answered.status_code == 200, answered.text
        text = answered.json()["content"][0]["text"]
        meant = DECLARED if tool.startswith("leaky.") else ()
        assert [name for name in DECLARED if f"LEAK_{name.upper()}" in text] == [*meant]


def _approved(person: httpx2.Client, bot: httpx2.Client, known: dict[str, str]) -> list[str]:
    asked = bot.post("/calls", json={"tool": "leaky.wipe", "arguments": known})
    assert asked.status_code == 202, asked.text
    path = f"/approvals/{asked.json()['approval']}"
    shown = [person.get(path).text]
    answered = person.post(f"{path}/answer", json={"answer": "once", "reason": "as agreed"})
    assert answered.status_code == 200, answered.text
    deadline = time.monotonic() + 60
    while (outcome := bot.get(path)).json()["outcome"] is None:
        assert time.monotonic() < deadline, outcome.text
        time.sleep(0.1)
    assert outcome.json()["result"]["content"][0]["text"].startswith("wipe ")
    run = outcome.json()["run"]
    shown += [person.get(path).text, person.get(f"/runs/{run}/events").text]
    return [*shown, asked.text, answered.text]


def _mistakes(person: httpx2.Client, bot: httpx2.Client, key: str) -> list[str]:
    """The answers to a secret sent where it does not belong."""
    lost, vaulted = CANARIES["refused"], CANARIES["vaulted"]
    client = {"client_id": "portico", "client_secret": "secret:oauth"}
    launch: dict[str, Any] = {"type": "stdio", "command": "x", "environment": {"A": {"b": vaulted}}}
    kept = person.put("/servers/desk/login-client", json=client)
    assert kept.is_success, kept.text
    answers = [
        kept,
        person.put("/servers/desk/login-client", json={**client, "client_secret": lost}),
        person.put("/secrets/lost", json={"value": f"{lost}\0"}),
        person.put("/secrets/no name", json={"value": lost}),
        person.put("/secrets/lost", json={"value": [lost]}),
        person.post("/servers", json={"name": "odd", "launch": launch}),
        person.post("/keys", json={"name": "x" * 200 + key}),
        bot.post("/calls", json={"tool": "leaky.tell", "arguments": {"path": [vaulted]}}),
        bot.post("/calls", json={"tool": "leaky.tell", "arguments": vaulted}),
    ]
    assert not any(answer.is_success for answer in answers[1:])
    return [answer.text for answer in answers]


def _environments(parent: int) -> dict[int, str]:
    """Of every process below this one that is still there."""
    found = {}
    for pid in _below(parent):
        try:
            found[pid] = Path(f"/proc/{pid}/environ").read_bytes().decode("latin-1")
        except OSError:
            continue
    return found


def _command_lines(parent: int) -> Iterator[str]:
    for pid in [parent, *_below(parent)]:
        try:
            yield Path(f"/proc/{pid}/cmdline").read_bytes().decode("latin-1")
        except OSError:
            continue


def _below(parent: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        for child in {int(pid) for file in children for pid in file.read_text().split()}:
            yield child
            yield from _below(child)
    except OSError:
        return


def _all_files(folder: Path) -> str:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return "\n".join(file.read_bytes().decode("latin-1") for file in files)
