"""What agents tell people, followed from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from tests.faces.cli.scripted_server import Streamed
from tests.faces.cli.test_approvals import served

Captured = pytest.CaptureFixture[str]


def told(title: str, at: str, text: str = "") -> dict[str, Any]:
    facts = {"from": "helper", "title": title, "text": text}
    return {"topic": "notifications", "type": "notification", "at": at, "facts": facts}


def an_event(name: str, data: dict[str, Any]) -> str:
    return f"id: 1\nevent: {name}\ndata: {json.dumps(data)}\n\n"


OLD = told("long ago", "2020-01-01T00:00:00Z")
NEW = told("all\x1b[2J done", "2999-01-01T00:00:00Z", "one\ntwo")


def follow(root: Path, *more: str) -> int:
    events = an_event("notification", OLD) + an_event("notification", NEW)
    stream = Streamed([events + an_event("reset", {"topic": "x"}) + an_event("end", {})])
    with served(root, {"GET /events": stream}) as (house, _):
        return run(house, ["notifications", *more])


def test_what_is_new_is_told_with_who_said_it(tmp_path: Path, capsys: Captured) -> None:
    assert follow(tmp_path) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("helper: all�[2J done")
    assert [line.strip() for line in lines] == ["one", "two"]


def test_what_was_told_before_is_told_if_it_is_asked_for(tmp_path: Path, capsys: Captured) -> None:
    follow(tmp_path, "--all")

    assert "helper: long ago" in capsys.readouterr().out


def test_a_program_gets_each_as_a_line_of_json(tmp_path: Path, capsys: Captured) -> None:
    follow(tmp_path, "--json", "--all")

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [OLD, NEW]
