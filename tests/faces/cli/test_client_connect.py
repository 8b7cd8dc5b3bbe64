"""`portico connect` and `disconnect`: what a person sees, what is asked, what a program gets."""

import io
import json
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from tests.adapters.client_files.prepared import PROGRAM, prepared
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import InTurn, Problem
from tests.faces.cli.test_approvals import served

Captured = pytest.CaptureFixture[str]

MADE = {"id": "abcdefghijkl", "principal": "prn_1", "key": "ptc_abcdefghijkl_secretsecret"}
TAKEN = Problem(409, {"code": "name_taken", "detail": "It is taken."})
REVOKE = "DELETE /keys/abcdefghijkl"


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_writes_shows_the_difference_and_says_how_to_undo_it(
    tmp_path: Path, capsys: Captured
) -> None:
    made = prepared(tmp_path, "cursor")
    before = made.file("cursor").read_bytes()

    assert run(ScriptedHouse(tmp_path), ["connect", "cursor"]) == 0
    connected = capsys.readouterr()
    assert run(ScriptedHouse(tmp_path), ["connect", "cursor"]) == 0
    again = capsys.readouterr()
    assert run(ScriptedHouse(tmp_path), ["disconnect", "cursor"]) == 0
    out = capsys.readouterr()

    assert connected.out == f"Cursor is connected: {made.file('cursor')}\n"
    assert '+    "portico": {' in connected.err
    assert "portico disconnect cursor" in connected.err
    assert "lists these itself, and Portico reads them too: figma." in connected.err
    assert "connected already" in again.out
    assert "to the byte" in out.out
    assert made.file("cursor").read_bytes() == before


def test_without_a_client_it_shows_which_there_are(tmp_path: Path, capsys: Captured) -> None:
    made = prepared(tmp_path, "cursor", "zed", "gemini")
    made.connections.write(made.connections.proposed("zed"))
    made.file("gemini").write_text("{")

    assert run(ScriptedHouse(tmp_path), ["connect"]) == 0
    lines = capsys.readouterr()
    assert run(ScriptedHouse(tmp_path), ["connect", "--json"]) == 0
    told = {each["client"]: each for each in json.loads(capsys.readouterr().out)["data"]}

    rows = {row.split("\t")[0]: row.split("\t") for row in lines.out.splitlines()}
    assert rows["cursor"][1:3] == ["yes", "not connected"]
    assert rows["zed"][2:] == ["connected", str(made.file("zed")), "portico disconnect zed"]
    assert rows["codex"][1] == "no"
    assert rows["gemini"][2] == "cannot be told"
    assert "line 1, column 2" in lines.err
    assert told["zed"]["connected"] is True
    assert told["cursor"]["command"] == "portico connect cursor"
    assert told["gemini"]["command"] is None


def test_it_can_be_printed_or_tried_without_a_change(tmp_path: Path, capsys: Captured) -> None:
    made = prepared(tmp_path, "codex")
    before = made.all_bytes()

    assert run(ScriptedHouse(tmp_path), ["connect", "codex", "--print"]) == 0
    printed = capsys.readouterr().out
    assert run(ScriptedHouse(tmp_path), ["connect", "codex", "--print", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["entry"]
    assert run(ScriptedHouse(tmp_path), ["connect", "codex", "--dry-run"]) == 0
    tried = capsys.readouterr()
    assert run(ScriptedHouse(tmp_path), ["disconnect", "codex", "--dry-run"]) == 0

    assert printed == (
        f'[mcp_servers.portico]\ncommand = "{PROGRAM}"\nargs = ["stdio", "--start"]\n'
        "startup_timeout_sec = 60\n"
    )
    assert entry["command"] == PROGRAM
    assert "+[mcp_servers.portico]" in tried.err
    assert tried.out == "Nothing was changed.\n"
    assert made.all_bytes() == before
    assert "Nothing to do" in capsys.readouterr().out


def test_over_http_what_is_printed_can_be_pasted_once_there_is_a_key(
    tmp_path: Path, capsys: Captured
) -> None:
    prepared(tmp_path, "claude-code")

    assert run(ScriptedHouse(tmp_path), ["connect", "claude-code", "--http", "--print"]) == 0

    told = capsys.readouterr()
    [servers] = json.loads(told.out).values()
    assert servers["portico"]["headers"] == {"Authorization": "Bearer KEY"}
    assert "portico keys create claude-code --agent" in told.err


def test_json_says_what_was_done(tmp_path: Path, capsys: Captured) -> None:
    made = prepared(tmp_path, "zed")

    assert run(ScriptedHouse(tmp_path), ["connect", "zed", "--json"]) == 0
    connected = json.loads(capsys.readouterr().out)
    assert run(ScriptedHouse(tmp_path), ["disconnect", "--all", "--dry-run", "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)
    written_anew_zed(made.file("zed"))
    assert run(ScriptedHouse(tmp_path), ["disconnect", "--all", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)

    assert (connected["changed"], connected["standing"]) == (True, "not connected")
    assert connected["file"] == str(made.file("zed"))
    assert Path(connected["copy"]).exists()
    assert tried["data"][0]["as_before"] is True
    assert out["data"][0]["as_before"] is False


def written_anew_zed(file: Path) -> None:
    file.write_text(file.read_text().replace("// ", "//  ", 1))


def test_a_client_that_is_not_here_is_said_to_be_absent(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepared(tmp_path)

    assert run(ScriptedHouse(tmp_path), ["connect", "windsurf"]) != 0
    refused = capsys.readouterr().err
    assert not made.file("windsurf").exists()
    monkeypatch.setattr("sys.stdin", Typed("y\n"))
    assert run(ScriptedHouse(tmp_path), ["connect", "windsurf"]) == 0
    assert run(ScriptedHouse(tmp_path), ["connect", "gemini", "--yes"]) == 0
    assert run(ScriptedHouse(tmp_path), ["disconnect", "--all"]) == 0

    assert "client_absent" in refused
    assert "--yes" in refused
    assert "the file is gone again" in capsys.readouterr().out
    assert made.all_bytes() == dict.fromkeys(made.all_bytes())


@pytest.mark.parametrize("answer", ["", "n\n", "y\n"])
def test_another_entry_of_that_name_is_asked_about(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    made = prepared(tmp_path)
    made.file("cursor").parent.mkdir()
    before = '{"mcpServers": {"portico": {"command": "porch"}}}'
    made.file("cursor").write_text(before)
    monkeypatch.setattr("sys.stdin", Typed(answer) if answer else io.StringIO())

    code = run(ScriptedHouse(tmp_path), ["connect", "cursor"])

    said = capsys.readouterr().err
    assert (code == 0) is (answer == "y\n")
    assert (made.file("cursor").read_text() == before) is (answer != "y\n")
    assert ("client_entry_differs" in said) is (answer != "y\n")
    assert "porch" in said, "the difference is shown"


def test_an_entry_that_somebody_has_changed_is_asked_about(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepared(tmp_path, "cursor")
    made.connections.write(made.connections.proposed("cursor"))
    text = made.file("cursor").read_text().replace(PROGRAM, "/bin/x").replace("stdio", "x")
    made.file("cursor").write_text(text)

    assert run(ScriptedHouse(tmp_path), ["disconnect", "cursor"]) != 0
    assert made.file("cursor").read_text() == text
    monkeypatch.setattr("sys.stdin", Typed("y\n"))
    assert run(ScriptedHouse(tmp_path), ["disconnect", "cursor"]) == 0

    assert "as it was before it was connected" in capsys.readouterr().err
    assert "portico" not in made.file("cursor").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["connect", "cursor", "--http", "--scope", "project"],
        ["connect", "claude-desktop", "--http"],
        ["connect", "emacs"],
        ["disconnect"],
        ["disconnect", "cursor", "--all"],
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix(
    tmp_path: Path, capsys: Captured, arguments: list[str]
) -> None:
    assert run(ScriptedHouse(tmp_path), arguments) != 0
    assert "fix" in capsys.readouterr().err


def test_init_names_the_clients_that_could_be_connected(tmp_path: Path, capsys: Captured) -> None:
    prepared(tmp_path, "cursor", "zed")

    assert run(ScriptedHouse(tmp_path), ["init", "--no-import"]) == 0

    assert capsys.readouterr().err.endswith(
        "\nNext: portico up\n      portico connect cursor\n      portico connect zed\n"
    )


def test_over_http_it_has_a_key_of_its_own_that_goes_with_it(
    tmp_path: Path, capsys: Captured
) -> None:
    made = prepared(tmp_path, "cursor")
    before = made.file("cursor").read_bytes()
    with served(tmp_path, {"POST /keys": MADE, REVOKE: None}) as (house, server):
        assert run(house, ["connect", "cursor", "--http"]) == 0
        text = made.file("cursor").read_text()
        assert run(house, ["connect", "cursor", "--http"]) == 0
        assert run(house, ["disconnect", "cursor"]) == 0

    said = capsys.readouterr()
    assert [each[0] for each in server.asked] == ["POST /keys", REVOKE]
    assert server.asked[0][1] == {"name": "cursor", "agent": True}
    assert f'"Bearer {MADE["key"]}"' in text
    assert MADE["key"] not in said.out + said.err
    assert made.file("cursor").read_bytes() == before


@pytest.mark.parametrize("kind", ["agent", "person"])
def test_who_was_connected_before_is_the_same_agent(tmp_path: Path, kind: str) -> None:
    prepared(tmp_path, "cursor")
    people = {"data": [{"id": "prn_7", "name": "cursor", "kind": kind}], "next": None}
    answers = {"POST /keys": InTurn(TAKEN, MADE), "GET /principals": people}
    with served(tmp_path, answers) as (house, server):
        code = run(house, ["connect", "cursor", "--http"])

    assert (code == 0) is (kind == "agent")
    if kind == "agent":
        assert server.asked[-1][1] == {"name": "cursor", "principal": "prn_7"}


def test_a_key_that_could_not_be_written_down_is_revoked(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor")
    folder = made.file("cursor").parent
    with served(tmp_path, {"POST /keys": MADE, REVOKE: None}) as (house, server):
        (tmp_path / "state").write_text("no folder")
        assert run(house, ["connect", "cursor", "--http"]) != 0

    assert server.asked[-1][0] == REVOKE
    assert [each.name for each in folder.iterdir()] == ["mcp.json"]


def test_a_key_that_cannot_be_revoked_is_named(tmp_path: Path, capsys: Captured) -> None:
    prepared(tmp_path, "cursor")
    answers = {"POST /keys": MADE, REVOKE: Problem(503, {"detail": "Not now."})}
    with served(tmp_path, answers) as (house, _):
        assert run(house, ["connect", "cursor", "--http"]) == 0
        assert run(house, ["disconnect", "cursor"]) == 0

    assert "portico keys revoke abcdefghijkl" in capsys.readouterr().err
