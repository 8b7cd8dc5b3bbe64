"""`portico bridge watch`: woken by a stream, it reads from where it stands."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.bridge_answers import (
    OTHER_ID,
    PLAN,
    PLAN_ID,
    TABLE,
    a_conversation,
    a_message,
    messages,
    page,
)
from tests.faces.cli.scripted_server import InTurn, ScriptedServer, Streamed
from tests.faces.cli.test_approvals import served

Captured = pytest.CaptureFixture[str]

NEWS = f'event: news\ndata: {{"conversation": "{PLAN_ID}"}}\n\n'
RESET = "event: reset\ndata: {}\n\n"
END = "event: end\ndata: {}\n\n"
OTHER = a_conversation(id=OTHER_ID, title="rest", label="public")


def watched(
    root: Path, stream: Streamed, pages: list[Any], *arguments: str
) -> tuple[int, ScriptedServer]:
    some = {
        "GET /conversations": page(PLAN, OTHER),
        "GET /bridge/cursor": {"cursor": "tail"},
        "GET /bridge/events": stream,
        "GET /bridge/messages": InTurn(*pages),
        "POST /bridge/read": {},
        f"GET /conversations/{PLAN_ID}/messages": messages(a_message(1), a_message(3)),
        f"GET /conversations/{OTHER_ID}/messages": messages(a_message(2, conversation=OTHER_ID)),
    }
    with served(root, TABLE | some) as (house, server):
        return run(house, ["bridge", "watch", *arguments]), server


def test_what_was_said_last_comes_first_and_then_what_is_said(
    tmp_path: Path, capsys: Captured
) -> None:
    pages = [messages(a_message(4), more=True), messages(a_message(5), cursor="there")]

    code, server = watched(tmp_path, Streamed([NEWS + END]), pages, "plan")

    assert code == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if "number" in line]
    assert shown == ["number 1", "number 3", "number 4", "number 5"]
    asked = [each.partition("?")[2] for each in server.addresses if "bridge/messages" in each]
    assert asked == [
        f"conversation={PLAN_ID}&cursor=tail&limit=200",
        f"conversation={PLAN_ID}&cursor=later&limit=200",
    ]
    assert [body for path, body in server.asked if path == "POST /bridge/read"] == [
        {"conversations": [PLAN_ID], "cursor": "later", "upto": None},
        {"conversations": [PLAN_ID], "cursor": "there", "upto": None},
    ]


def test_several_are_followed_in_the_order_in_which_things_are_said(
    tmp_path: Path, capsys: Captured
) -> None:
    watched(tmp_path, Streamed([END]), [messages()], "plan", "rest", "--last", "2")

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "number" not in line][1:] == [
        "12:02  ana  …m00002 · in rest · team",
        "12:03  ana  …m00003 · in plan",
    ]


def test_a_broken_stream_is_taken_up_again_and_nothing_is_told_twice(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    stream = Streamed([NEWS, RESET + NEWS + END])
    pages = [messages(a_message(4)), messages(), messages(a_message(5))]

    watched(tmp_path, stream, pages, "plan", "--last", "0", "--keep-unread", "--upto", "team")

    said = capsys.readouterr()
    assert [line.strip() for line in said.out.splitlines() if "number" in line] == [
        "number 4",
        "number 5",
    ]
    assert "The server has gone" in said.err
    assert "What you may see has changed." in said.err


def test_a_program_gets_a_line_each(tmp_path: Path, capsys: Captured) -> None:
    watched(tmp_path, Streamed([NEWS + END]), [messages(a_message(4))], "plan", "--json")

    found = [json.loads(line)["body"] for line in capsys.readouterr().out.splitlines()]
    assert found == ["number 1", "number 3", "number 4"]


def test_more_than_sixteen_are_too_many(tmp_path: Path) -> None:
    assert watched(tmp_path, Streamed([END]), [messages()], *["plan"] * 17)[0] == Exit.USAGE
