"""The sample servers, as a client talks to them: over the pipes of a process."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from portico.samples import serve

Json = Mapping[str, Any]


def told(name: str, *asked: tuple[str, Json]) -> list[dict[str, Any]]:
    lines = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(asked)
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(Path(serve.__file__)), name],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(tool: str, **arguments: object) -> tuple[str, Json]:
    return "tools/call", {"name": tool, "arguments": arguments}


@pytest.mark.parametrize("name", serve.NAMES)
def test_every_one_says_what_its_tools_take_give_and_do(name: str) -> None:
    greeted, listed = told(name, ("initialize", {}), ("tools/list", {}))

    tools = listed["result"]["tools"]
    assert greeted["result"]["serverInfo"]["name"] == f"portico-sample-{name}"
    assert all(tool["outputSchema"]["required"] for tool in tools)
    assert all(tool["description"].endswith("Sample data, made up.") for tool in tools)
    assert sum(tool["annotations"]["destructiveHint"] for tool in tools) == 1
    assert any(tool["annotations"]["readOnlyHint"] for tool in tools)


def test_what_is_changed_lasts_for_as_long_as_it_runs() -> None:
    gone, again, other = told(
        "tickets",
        call("delete_ticket", id="T-1101"),
        call("read_ticket", id="T-1101"),
        call("answer_ticket", id="T-1102", text="Soon."),
    )
    [fresh] = told("tickets", call("read_ticket", id="T-1101"))

    assert gone["result"]["structuredContent"] == {"deleted": "The brake squeals"}
    assert again["result"]["isError"]
    assert other["result"]["structuredContent"]["answers"] == 1
    assert not fresh["result"]["isError"]


def test_what_cannot_be_done_is_said() -> None:
    once, twice, dear, wrong, none, unknown = told(
        "orders",
        call("refund_order", id="O-2502", amount=124.5, reason="lost"),
        call("refund_order", id="O-2502", amount=124.5, reason="lost"),
        call("refund_order", id="O-2501", amount=9_000, reason="lost"),
        call("refund_order", id="O-2501"),
        call("nothing"),
        ("resources/list", {}),
    )

    assert once["result"]["structuredContent"]["refunded"] == 124.5
    assert [each["result"]["isError"] for each in (twice, dear, wrong)] == [True] * 3
    assert [each["error"]["code"] for each in (none, unknown)] == [-32602, -32601]


def test_a_note_that_is_written_is_found() -> None:
    written, found, nameless = told(
        "notes",
        call("write_note", title="Open today!", text="Three herons."),
        call("search_notes", query="herons"),
        call("write_note", title="!", text=""),
    )

    assert written["result"]["structuredContent"] == {"id": "open-today"}
    assert found["result"]["structuredContent"]["notes"] == [
        {"id": "open-today", "title": "Open today!"}
    ]
    assert nameless["result"]["isError"]
