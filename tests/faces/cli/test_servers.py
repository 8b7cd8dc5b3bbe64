"""Servers of tools from the command line, against a gateway that says what it is told to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


GRANTS = {"read": [], "write": ["/srv/lab"], "network": "public", "reach": []}
CONFINED = {
    "hold": "boxed",
    "reaches": "network: public · writes /srv/lab · own home",
    "stated": False,
    "profile": GRANTS,
}


def a_tool(name: str = "read", **changes: Any) -> dict[str, Any]:
    return {
        "tool": f"lab.{name}",
        "standing": "pending",
        "effect": "unknown",
        "proposed": "local_read",
        "why": "'read' reads",
        "refused": None,
        "tokens": 50,
        "description": "Reads a file.\nAnd more.",
        "changes": [],
    } | changes


def a_review(*tools: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": "lab",
        "origin": "api",
        "command": "npx lab",
        "confinement": CONFINED,
        "launch_pin": "p1",
        "launch_approved": True,
        "loaders": [],
        "pin": "p2",
        "listed": True,
        "tools": [*tools],
        "said": [],
    } | changes


def a_server(**changes: Any) -> dict[str, Any]:
    return {
        "name": "lab",
        "origin": "portico.toml",
        "enabled": True,
        "launch_approved": True,
        "approved": True,
        "failure": None,
        "tools": {"live": 2},
        "tokens": 100,
        "vitals": {"phase": "idle"},
        "confinement": CONFINED,
        "label": "team",
        "clearance": "confidential",
        "trusted": False,
    } | changes


def live(**effects: str) -> dict[str, Any]:
    lines = [{"tool": f"lab.{name}", "effect": effect} for name, effect in effects.items()]
    return {"data": lines, "next": None}


@contextmanager
def gateway(root: Path, answers: dict[str, Any]) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    accepting = {
        "POST /servers/lab/approve-launch": {},
        "POST /servers/lab/restart": {},
        "POST /servers/lab/accept": {"name": "lab"},
        "GET /servers/lab": {"name": "lab"},
        "GET /tools": live(read="local_read"),
    }
    with answering(accepting | answers) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


def asked(server: ScriptedServer) -> list[str]:
    return [each for each, _ in server.asked]


def typing(monkeypatch: Patch, text: str) -> TtyText:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "25")
    screen = a_screen(monkeypatch)
    monkeypatch.setattr("sys.stdin", TtyText(text))
    return screen


def test_what_was_granted_is_said(tmp_path: Path, capsys: Captured) -> None:
    tools = [a_tool(), a_tool("write", proposed="local_write"), a_tool("wipe", proposed="unknown")]
    answers = {
        "GET /servers/lab/review": a_review(*tools),
        "GET /tools": live(read="local_read", write="unknown", wipe="unknown"),
    }
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab", "--yes"]) == 0

    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "lab is approved: 1 as read, 2 as destructive; --all takes what is proposed"
    assert ("POST /servers/lab/accept", {"pin": "p2", "proposed": "reads"}) in server.asked


def test_a_program_gets_the_server_that_was_approved(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {"GET /servers/lab/review": a_review(a_tool())}) as (house, _):
        assert run(house, ["--json", "servers", "approve", "lab", "--yes"]) == 0

    assert json.loads(capsys.readouterr().out) == {"name": "lab"}


def test_whoever_approves_sees_what_each_tool_says(tmp_path: Path, monkeypatch: Patch) -> None:
    tools = [a_tool(description="Reads a file, " + "word " * 60), a_tool("odd", description="")]
    screen = typing(monkeypatch, "y\n")
    with gateway(tmp_path, {"GET /servers/lab/review": a_review(*tools)}) as (house, server):
        assert run(house, ["servers", "approve", "lab"]) == 0

    shown = screen.getvalue()
    assert "says" in shown.splitlines()[0]
    assert "Reads a file, word" in shown
    assert shown.count("word") < 30
    assert max(map(len, shown.splitlines())) <= 80
    assert ("POST /servers/lab/accept", {"pin": "p2", "proposed": "all"}) in server.asked


def test_whoever_declines_the_tools_is_told_that_the_server_may_start(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = typing(monkeypatch, "y\nn\n")
    answers = {"GET /servers/lab/review": a_review(a_tool(), launch_approved=False)}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab"]) == Exit.APPROVAL

    assert "Nothing was changed" not in screen.getvalue()
    assert "The server may be started; its tools wait." in screen.getvalue()
    assert "POST /servers/lab/approve-launch" in asked(server)
    assert "POST /servers/lab/accept" not in asked(server)


def test_whoever_declines_the_command_has_changed_nothing(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = typing(monkeypatch, "n\n")
    answers = {"GET /servers/lab/review": a_review(launch_approved=False, loaders=["NODE_OPTIONS"])}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab"]) == Exit.APPROVAL

    assert "Nothing was changed" in screen.getvalue()
    assert "NODE_OPTIONS decides which code runs" in screen.getvalue()
    assert asked(server) == ["GET /servers/lab/review"]


def test_where_nothing_waits_nobody_is_asked(tmp_path: Path, monkeypatch: Patch) -> None:
    screen = typing(monkeypatch, "")
    tool = a_tool(standing="live", proposed="local_write")
    answers = {"GET /servers/lab/review": a_review(tool), "GET /tools": live(read="unknown")}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab"]) == 0

    assert screen.getvalue().splitlines() == [
        "Nothing waits for approval.",
        "lab is approved: 1 as destructive; --all takes what is proposed",
    ]
    assert "POST /servers/lab/accept" not in asked(server)


def test_all_decides_what_was_left_undecided(tmp_path: Path, capsys: Captured) -> None:
    tool = a_tool(standing="live", proposed="local_write")
    answers = {"GET /servers/lab/review": a_review(tool), "GET /tools": live(read="local_write")}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab", "--yes", "--all"]) == 0

    assert ("POST /servers/lab/accept", {"pin": "p2", "proposed": "all"}) in server.asked
    assert capsys.readouterr().out.endswith("lab is approved: 1 as write\n")


def test_one_that_is_gone_is_shown_so_and_not_approved(tmp_path: Path, capsys: Captured) -> None:
    answers = {
        "GET /servers": [a_server(gone=True)],
        "GET /servers/lab/review": a_review(a_tool(standing="live"), gone=True),
        "POST /servers/lab/restart": None,
    }
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "list"]) == 0
        assert run(house, ["servers", "approve", "lab", "--yes"]) == Exit.FAILED

    reaches = CONFINED["reaches"]
    assert capsys.readouterr().out == f"lab\tgone\tteam\t2\t100\tidle\tportico.toml\t{reaches}\n"
    assert "POST /servers/lab/accept" not in asked(server)


def test_a_diff_shows_the_command_and_what_a_new_tool_says(
    tmp_path: Path, capsys: Captured
) -> None:
    change = {"path": "arguments.0", "before": "lab@1", "after": "lab@2"}
    answers = {
        "GET /servers/lab/review": a_review(
            a_tool("fresh", standing="new"),
            a_tool("bad", standing="refused", refused="hides U+200B"),
            a_tool("old", standing="changed", changes=[change | {"path": "title"}]),
            a_tool("same", standing="live"),
            launch_changes=[change],
            said=[change | {"path": "instructions"}],
        )
    }
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["servers", "diff", "lab"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "\thow it starts\tcommand arguments.0\tlab@1\tlab@2",
        "fresh\tnew\t\t\tReads a file.",
        "bad\trefused\t\t\thides U+200B",
        "old\tchanged\ttitle\tlab@1\tlab@2",
        "\tbeside its tools\tinstructions\tlab@1\tlab@2",
    ]


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        ("live", "It is as it was approved."),
        (
            "pending",
            "It waits for approval. Look at all of it: portico servers approve lab",
        ),
    ],
)
def test_a_diff_without_differences_is_no_table(
    tmp_path: Path, monkeypatch: Patch, standing: str, said: str
) -> None:
    screen = a_screen(monkeypatch)
    answers = {"GET /servers/lab/review": a_review(a_tool(standing=standing))}
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["servers", "diff", "lab"]) == 0

    assert screen.getvalue().splitlines() == [said]


@pytest.mark.parametrize(
    ("option", "pair", "rest"),
    [
        ("--env", "API_KEY=sk-abcdefghijklmnopqrstuvwx", ["--", "npx", "lab"]),
        ("--env", "PASSWORD=hunter2", ["--", "npx", "lab"]),
        ("--header", "Authorization=Bearer abc123def456", ["--url", "https://tools.example"]),
    ],
)
def test_a_secret_is_not_taken_as_it_is(
    tmp_path: Path, capsys: Captured, option: str, pair: str, rest: list[str]
) -> None:
    with gateway(tmp_path, {}) as (house, server):
        assert run(house, ["servers", "add", "lab", option, pair, *rest]) == Exit.USAGE

    name, _, value = pair.partition("=")
    said = capsys.readouterr().err
    assert f"{option} '{name}=secret:github'" in said
    assert value not in said
    assert server.asked == []


def test_a_reference_and_what_is_no_secret_are_taken(tmp_path: Path) -> None:
    environment = ["--env", "API_KEY=$LAB_KEY", "--env", "MODE=fast", "--env", "X=secret:lab"]
    command = ["--", "npx", "-y", "lab", "keyring:lab/ana"]
    with gateway(tmp_path, {"POST /servers": {"name": "lab"}}) as (house, server):
        assert run(house, ["servers", "add", "lab", *environment, *command]) == 0

    [(_, body)] = server.asked
    assert body["launch"]["environment"] == {
        "API_KEY": {"env": "LAB_KEY"},
        "MODE": "fast",
        "X": {"secret": "secret:lab"},
    }
    assert body["launch"]["arguments"] == ["-y", "lab", {"secret": "keyring:lab/ana"}]


def test_tools_are_let_in_one_by_one(tmp_path: Path) -> None:
    tools = [
        a_tool(),
        a_tool("write", proposed="local_write"),
        a_tool("wipe", standing="live", effect="irreversible", proposed="local_read"),
    ]
    with gateway(tmp_path, {"GET /servers/lab/review": a_review(*tools)}) as (house, server):
        named = ["--tool", "read", "--tool", "write", "--tool", "wipe"]
        assert run(house, ["servers", "approve", "lab", "--yes", *named]) == 0
        assert run(house, ["servers", "approve", "lab", "--yes", "--tool", "no"]) == Exit.USAGE

    [accepted] = [body for each, body in server.asked if each == "POST /servers/lab/accept"]
    effects = {"read": "local_read", "write": "unknown", "wipe": "irreversible"}
    assert accepted == {"pin": "p2", "proposed": "reads", "effects": effects}


def test_how_secret_a_server_is_can_be_shown_and_said(tmp_path: Path, capsys: Captured) -> None:
    said = {"label": "team", "clearance": "team", "trusted": True}
    answers = {"GET /servers/lab": a_server(), "PUT /servers/lab/label": said}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "label", "lab"]) == 0
        shown = capsys.readouterr().out
        assert run(house, ["servers", "label", "lab", "team", "--trusted", "--json"]) == 0
        assert run(house, ["servers", "label", "lab", "--untrusted", "--clearance", "team"]) == 0

    assert "confidential" in shown
    bodies = [body for each, body in server.asked if each == "PUT /servers/lab/label"]
    assert bodies == [
        {"label": "team", "trusted": True},
        {"clearance": "team", "trusted": False},
    ]


def test_an_effect_is_said_of_many_tools_at_once(tmp_path: Path, capsys: Captured) -> None:
    done = [{"tool": "lab.read", "before": "unknown", "after": "local_read"}]
    with gateway(tmp_path, {"PUT /effects": done}) as (house, server):
        assert run(house, ["tools", "effect", "lab.*", "local_read"]) == 0

    assert ("PUT /effects", {"tools": "lab.*", "effect": "local_read"}) in server.asked
    assert "lab.read" in capsys.readouterr().out


def test_a_list_of_servers_says_why_one_failed(tmp_path: Path, capsys: Captured) -> None:
    broken = a_server(name="broken", failure="it ended with 1; " + "x" * 300)
    off = a_server(name="off", failure="long ago", enabled=False)
    with gateway(tmp_path, {"GET /servers": [a_server(), broken, off]}) as (house, _):
        assert run(house, ["servers", "list"]) == 0

    told = capsys.readouterr().err
    assert "broken failed: it ended with 1; xxx" in told
    assert "… (portico servers show broken)" in told
    assert "lab failed" not in told
    assert "off failed" not in told


def test_a_task_is_opened_listed_and_closed(tmp_path: Path, capsys: Captured) -> None:
    task = {
        "id": "ctx_1",
        "name": "quarter",
        "label": "team",
        "untrusted": True,
        "opened_at": "2026-01-01T12:00:00+00:00",
    }
    answers = {"POST /contexts": task, "GET /contexts": [task], "DELETE /contexts/ctx_1": {}}
    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["contexts", "open", "quarter"]) == 0
        assert capsys.readouterr().out == "ctx_1\n"
        assert run(house, ["contexts", "list"]) == 0
        listed = capsys.readouterr().out
        assert run(house, ["contexts", "close", "ctx_1"]) == 0

    assert "quarter" in listed
    assert ("DELETE /contexts/ctx_1", None) in server.asked


def test_a_label_above_what_may_be_sent_is_warned_of(tmp_path: Path, capsys: Captured) -> None:
    said = {"label": "confidential", "clearance": "team", "trusted": False}
    with gateway(tmp_path, {"PUT /servers/lab/label": said}) as (house, _):
        assert run(house, ["servers", "label", "lab", "confidential"]) == 0

    err = " ".join(capsys.readouterr().err.split())
    assert "portico servers label lab --clearance confidential" in err
