"""What agents tell people, followed from the command line."""

import json
from typing import Any

from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Streamed


def told(title: str, at: str, text: str = "") -> dict[str, Any]:
    facts = {"from": "helper", "title": title, "text": text}
    return {"topic": "notifications", "type": "notification", "at": at, "facts": facts}


def an_event(name: str, data: dict[str, Any]) -> str:
    return f"id: 1\nevent: {name}\ndata: {json.dumps(data)}\n\n"


OLD = told("long ago", "2020-01-01T00:00:00Z")
NEW = told("all\x1b[2J done", "2999-01-01T00:00:00Z", "one\ntwo")


def follow(cli: CommandLine, options: str = "") -> Outcome:
    events = an_event("notification", OLD) + an_event("notification", NEW)
    stream = Streamed([events + an_event("reset", {"topic": "x"}) + an_event("end", {})])
    return cli(f"notifications {options}", {"GET /events": stream})


def test_what_is_new_is_told_with_who_said_it(cli: CommandLine) -> None:
    head, *lines = follow(cli).lines

    assert head.endswith("helper: all�[2J done")
    assert [line.strip() for line in lines] == ["one", "two"]


def test_what_was_told_before_is_told_if_it_is_asked_for(cli: CommandLine) -> None:
    assert "helper: long ago" in follow(cli, "--all").out
    assert [json.loads(line) for line in follow(cli, "--json --all").lines] == [OLD, NEW]
