"""Secrets at a terminal: typed unseen, or read from standard input, never an argument."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from portico.guard.rotate_vault import Rotated
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]
CANARY = "canary-cli-5512"
SECRET = {
    "name": "github",
    "where": "age",
    "set_at": "2026-01-01T12:00:00+00:00",
    "set_by": "ana",
    "used_by": ["tracker"],
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    answers = {
        "PUT /secrets/github": SECRET,
        "GET /secrets": [SECRET],
        "DELETE /secrets/github": {},
    }
    with answering(answers) as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    (tmp_path / "client.key").write_text("ptc_key")
    made = ScriptedHouse(tmp_path)
    made.remote = server.url
    return made


def test_a_secret_is_read_from_standard_input(
    house: ScriptedHouse,
    server: ScriptedServer,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n"))

    assert run(house, ["secrets", "set", "github"]) == 0

    said = capsys.readouterr()
    assert server.asked == [("PUT /secrets/github", {"value": CANARY})]
    assert "github is set, and kept in the encrypted file." in said.out
    assert "tracker" in said.err
    assert CANARY not in said.out + said.err


def test_a_person_types_it_unseen(
    house: ScriptedHouse, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setattr("sys.stdin", TtyText())
    monkeypatch.setattr("getpass.getpass", lambda _question: CANARY)

    assert run(house, ["secrets", "set", "github"]) == 0

    assert server.asked == [("PUT /secrets/github", {"value": CANARY})]
    assert CANARY not in screen.getvalue()


@pytest.mark.parametrize("text", ["", "\n"])
def test_nothing_is_no_secret(
    house: ScriptedHouse, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert run(house, ["secrets", "set", "github"]) == 2

    assert server.asked == []


def test_it_is_never_an_argument(house: ScriptedHouse, server: ScriptedServer) -> None:
    assert run(house, ["secrets", "set", "github", CANARY]) == 2

    assert server.asked == []


def test_nobody_is_asked_who_said_so(
    house: ScriptedHouse, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_screen(monkeypatch)
    monkeypatch.setattr("sys.stdin", TtyText())

    assert run(house, ["secrets", "set", "github", "--no-input"]) == 2

    assert server.asked == []


def test_they_are_listed_with_who_uses_them(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["secrets", "list"]) == 0
    assert run(house, ["secrets", "list", "--json"]) == 0

    table, _, told = capsys.readouterr().out.partition("[")
    assert "github" in table
    assert "tracker" in table
    assert json.loads(f"[{told}") == [SECRET]


def test_one_is_forgotten(house: ScriptedHouse, server: ScriptedServer) -> None:
    assert run(house, ["secrets", "unset", "github"]) == 0

    assert server.asked == [("DELETE /secrets/github", None)]


def test_the_key_of_the_vault_is_exchanged(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["secrets", "rotate"]) == 0

    assert "Sealed anew: 3. The key is now 0a1b2c3d." in capsys.readouterr().out


def test_what_is_lost_or_left_is_told(house: ScriptedHouse, capsys: Captured) -> None:
    house.rotated = Rotated("0a1b2c3d", sealed_anew=1, lost=2, left=("99887766",))

    assert run(house, ["secrets", "rotate"]) == 0

    said = capsys.readouterr().err
    assert "2 cannot be opened" in said
    assert "99887766" in said


@pytest.mark.parametrize(
    ("value", "warned"), [("s3cr3t", True), ("password", True), (CANARY, False)]
)
def test_a_value_that_cannot_be_blacked_out_is_warned_of(
    house: ScriptedHouse,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    warned: bool,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(value))

    assert run(house, ["secrets", "set", "github"]) == 0

    err = capsys.readouterr().err
    assert ("too short, or too plain a word" in err) is warned
    assert value not in err
