"""`portico connect` and `disconnect`: what a person sees, what is asked, what a program gets."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.client_configs.prepared import PROGRAM, prepared
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.scripted_server import InTurn, Problem

MADE = {"id": "abcdefghijkl", "principal": "prn_1", "key": "ptc_abcdefghijkl_secretsecret"}
TAKEN = Problem(409, {"code": "name_taken", "detail": "It is taken."})
REVOKE = "DELETE /keys/abcdefghijkl"


def test_it_writes_shows_the_difference_and_says_how_to_undo_it(cli: CommandLine) -> None:
    made = prepared(cli.root, "cursor")
    before = made.file("cursor").read_bytes()

    connected = cli("connect cursor")
    again = cli("connect cursor")
    out = cli("disconnect cursor")

    assert (connected.code, again.code, out.code) == (0, 0, 0)
    assert connected.out == f"Cursor is connected: {made.file('cursor')}\n"
    assert '+    "portico": {' in connected.err
    assert "portico disconnect cursor" in connected.err
    assert "lists these itself, and Portico reads them too: figma." in connected.err
    assert "connected already" in again.out
    assert "to the byte" in out.out
    assert made.file("cursor").read_bytes() == before


def test_without_a_client_it_shows_which_there_are(cli: CommandLine) -> None:
    made = prepared(cli.root, "cursor", "zed", "gemini")
    made.connections.write(made.connections.proposed("zed"))
    made.file("gemini").write_text("{")

    got = cli("connect")
    told = {each["client"]: each for each in cli("connect --json").json["data"]}

    rows = {row[0]: row for row in got.rows}
    assert rows["cursor"][1:3] == ["yes", "not connected"]
    assert rows["zed"][2:] == ["connected", str(made.file("zed")), "portico disconnect zed"]
    assert rows["codex"][1] == "no"
    assert rows["gemini"][2] == "cannot be told"
    assert "line 1, column 2" in got.err
    assert told["zed"]["connected"] is True
    assert told["cursor"]["command"] == "portico connect cursor"
    assert told["gemini"]["command"] is None


def test_it_can_be_printed_or_tried_without_a_change(cli: CommandLine) -> None:
    made = prepared(cli.root, "codex")
    before = made.all_bytes()

    printed = cli("connect codex --print").out
    entry = cli("connect codex --print --json").json["entry"]
    tried = cli("connect codex --dry-run")
    nothing = cli("disconnect codex --dry-run")

    assert printed == (
        f'[mcp_servers.portico]\ncommand = "{PROGRAM}"\nargs = ["stdio", "--start"]\n'
        "startup_timeout_sec = 60\n"
    )
    assert entry["command"] == PROGRAM
    assert "+[mcp_servers.portico]" in tried.err
    assert tried.out == "Nothing was changed.\n"
    assert made.all_bytes() == before
    assert (nothing.code, "Nothing to do" in nothing.out) == (0, True)


def test_over_http_what_is_printed_can_be_pasted_once_there_is_a_key(cli: CommandLine) -> None:
    prepared(cli.root, "claude-code")

    got = cli("connect claude-code --http --print")

    [servers] = got.json.values()
    assert servers["portico"]["headers"] == {"Authorization": "Bearer KEY"}
    assert "portico keys create claude-code --agent" in got.err


def test_json_says_what_was_done(cli: CommandLine) -> None:
    file = prepared(cli.root, "zed").file("zed")

    connected = cli("connect zed --json").json
    tried = cli("disconnect --all --dry-run --json").json
    file.write_text(file.read_text().replace("// ", "//  ", 1))
    out = cli("disconnect --all --json").json

    assert (connected["changed"], connected["standing"]) == (True, "not connected")
    assert connected["file"] == str(file)
    assert Path(connected["copy"]).exists()
    assert tried["data"][0]["as_before"] is True
    assert out["data"][0]["as_before"] is False


def test_a_client_that_is_not_here_is_said_to_be_absent(cli: CommandLine) -> None:
    made = prepared(cli.root)

    refused = cli("connect windsurf")
    there = made.file("windsurf").exists()
    codes = [cli("connect windsurf", typed="y\n").code, cli("connect gemini --yes").code]
    out = cli("disconnect --all")

    assert (refused.code != 0, there, codes, out.code) == (True, False, [0, 0], 0)
    assert "client_absent" in refused.err
    assert "--yes" in refused.err
    assert "the file is gone again" in out.out
    assert made.all_bytes() == dict.fromkeys(made.all_bytes())


@pytest.mark.parametrize("answer", [None, "n\n", "y\n"])
def test_another_entry_of_that_name_is_asked_about(cli: CommandLine, answer: str | None) -> None:
    made = prepared(cli.root)
    made.file("cursor").parent.mkdir()
    before = '{"mcpServers": {"portico": {"command": "porch"}}}'
    made.file("cursor").write_text(before)

    got = cli("connect cursor", typed=answer)

    said_yes = answer == "y\n"
    assert (got.code == 0) is said_yes
    assert (made.file("cursor").read_text() == before) is not said_yes
    assert ("client_entry_differs" in got.err) is not said_yes
    assert "porch" in got.err, "the difference is shown"


def test_an_entry_that_somebody_has_changed_is_asked_about(cli: CommandLine) -> None:
    made = prepared(cli.root, "cursor")
    file = made.file("cursor")
    made.connections.write(made.connections.proposed("cursor"))
    text = file.read_text().replace(PROGRAM, "/bin/x").replace("stdio", "x")
    file.write_text(text)

    assert cli("disconnect cursor").code != 0
    assert file.read_text() == text
    said_yes = cli("disconnect cursor", typed="y\n")

    assert said_yes.code == 0
    assert "as it was before it was connected" in said_yes.err
    assert "portico" not in file.read_text()


@pytest.mark.parametrize(
    "command",
    [
        "connect cursor --http --scope project",
        "connect claude-desktop --http",
        "connect emacs",
        "disconnect",
        "disconnect cursor --all",
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix(cli: CommandLine, command: str) -> None:
    prepared(cli.root)

    got = cli(command)

    assert got.code != 0
    assert "fix" in got.err


def test_init_names_the_clients_that_could_be_connected(cli: CommandLine) -> None:
    prepared(cli.root, "cursor", "zed")

    assert cli("init --no-import").err.endswith(
        "\nNext: portico up\n      portico connect cursor\n      portico connect zed\n"
    )


def test_over_http_it_has_a_key_of_its_own_that_goes_with_it(cli: CommandLine) -> None:
    made = prepared(cli.root, "cursor")
    before = made.file("cursor").read_bytes()
    some = {"POST /keys": MADE, REVOKE: None}

    connected = cli("connect cursor --http", some)
    text = made.file("cursor").read_text()
    again = cli("connect cursor --http", some)
    out = cli("disconnect cursor", some)

    assert connected.asked == [("POST /keys", {"name": "cursor", "agent": True})]
    assert (again.asked, out.routes) == ([], [REVOKE])
    assert f'"Bearer {MADE["key"]}"' in text
    assert not any(MADE["key"] in got.out + got.err for got in (connected, again, out))
    assert made.file("cursor").read_bytes() == before


@pytest.mark.parametrize("kind", ["agent", "person"])
def test_who_was_connected_before_is_the_same_agent(cli: CommandLine, kind: str) -> None:
    prepared(cli.root, "cursor")
    people = {"data": [{"id": "prn_7", "name": "cursor", "kind": kind}], "next": None}

    got = cli(
        "connect cursor --http", {"POST /keys": InTurn(TAKEN, MADE), "GET /principals": people}
    )

    again = [{"name": "cursor", "principal": "prn_7"}] if kind == "agent" else []
    assert (got.code == 0) is (kind == "agent")
    assert got.sent[1:] == again


def test_a_key_that_could_not_be_written_down_is_revoked(cli: CommandLine) -> None:
    made = prepared(cli.root, "cursor")
    folder = made.file("cursor").parent
    cli.file("state", "no folder")

    got = cli("connect cursor --http", {"POST /keys": MADE, REVOKE: None})

    assert (got.code != 0, got.routes[-1]) == (True, REVOKE)
    assert [each.name for each in folder.iterdir()] == ["mcp.json"]


def test_a_key_that_cannot_be_revoked_is_named(cli: CommandLine) -> None:
    prepared(cli.root, "cursor")
    some: dict[str, Any] = {"POST /keys": MADE, REVOKE: Problem(503, {"detail": "Not now."})}

    cli("connect cursor --http", some)
    out = cli("disconnect cursor", some)

    assert out.code == 0
    assert "portico keys revoke abcdefghijkl" in out.err
