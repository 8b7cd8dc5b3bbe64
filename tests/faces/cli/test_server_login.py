"""Logging in to a server from a terminal."""

import json
from pathlib import Path
from typing import Any

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.test_servers import Captured, asked, gateway

LINK = {"server": "lab", "login_url": "https://login.example/a?b", "expires_at": "2026-01-01"}


def look(*, logged_in: bool) -> dict[str, Any]:
    return {"server": "lab", "logged_in": logged_in}


class Turning(dict[str, Any]):
    """Says of a login that it is there, once it was asked for before."""

    def get(self, key: str, default: Any = None) -> Any:  # ty: ignore[incompatible-method-override] # as it is asked here
        found = default if default is not None else super().get(key)
        if default is None and key == "POST /servers/lab/login":
            self["GET /servers/lab/login"] = look(logged_in=True)
        return found


def test_a_link_is_shown_and_waited_for(tmp_path: Path, capsys: Captured) -> None:
    answers = {"POST /servers/lab/login": LINK, "GET /servers/lab/login": look(logged_in=False)}
    with gateway(tmp_path, answers) as (house, server):
        server.answers = Turning(server.answers)
        assert run(house, ["servers", "login", "lab", "--no-browser"]) == 0

    told = capsys.readouterr()
    assert LINK["login_url"] in told.err
    assert "logged in to lab" in told.out


def test_a_program_gets_the_link(tmp_path: Path, capsys: Captured) -> None:
    answers = {"POST /servers/lab/login": LINK, "GET /servers/lab/login": look(logged_in=False)}
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["--json", "servers", "login", "lab", "--no-wait"]) == 0

    assert json.loads(capsys.readouterr().out) == LINK


def test_whoever_is_logged_in_is_not_sent_anywhere(tmp_path: Path) -> None:
    with gateway(tmp_path, {"GET /servers/lab/login": look(logged_in=True)}) as (house, server):
        assert run(house, ["servers", "login", "lab"]) == 0

    assert asked(server) == ["GET /servers/lab/login"]


def test_somebody_logs_out(tmp_path: Path) -> None:
    with gateway(tmp_path, {"DELETE /servers/lab/login": {}}) as (house, server):
        assert run(house, ["servers", "logout", "lab"]) == 0

    assert asked(server) == ["DELETE /servers/lab/login"]


def test_an_operator_says_as_what_portico_is_known(tmp_path: Path, capsys: Captured) -> None:
    said = {"client_id": "ours", "client_secret": "secret:lab", "issuer": None, "scope": None}
    answers = {
        "PUT /servers/lab/login-client": {"server": "lab", **said},
        "DELETE /servers/lab/login-client": {},
    }
    options = ["--client-id", "ours", "--client-secret", "secret:lab"]
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "login-config", "lab", *options]) == 0
        assert run(house, ["--json", "servers", "login-config", "lab", *options]) == 0
        assert run(house, ["servers", "login-config", "lab", "--default"]) == 0
        assert run(house, ["servers", "login-config", "lab"]) == Exit.USAGE

    assert ("PUT /servers/lab/login-client", said) in server.asked
    assert asked(server)[-1] == "DELETE /servers/lab/login-client"
    assert "ours" in capsys.readouterr().out
