"""`portico plan "INTENT"`, `portico run --suggestion`, `portico feedback`."""

import json
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.workflow_answers import answers

SUGGESTION = "sug_01kdvvcrwje0082883vd3msh9e"
INTENT = "copy the note /a.md"
MADE: dict[str, Any] = {
    "suggestion": SUGGESTION,
    "mode": "ran_ahead",
    "confidence": 0.934,
    "threshold": 0.92,
    "rationale": "2 steps, as in a past plan.",
    "plan": {
        "inputs": {"write_to": {"type": "string"}},
        "required": ["write_to"],
        "steps": [
            {"id": "read", "tool": "files.read", "arguments": {"path": "/a.md"}},
            {
                "id": "write",
                "tool": "files.write",
                "arguments": {
                    "text": {"$from": "read.text"},
                    "to": {"$from": "inputs.write_to"},
                },
            },
        ],
    },
    "steps": [
        {
            "id": "read",
            "tool": "files.read",
            "effect": "local_read",
            "confidence": 0.99,
            "why": "found for the intent",
            "arguments": {"path": {"from": "intent", "what": "/a.md"}},
        },
        {
            "id": "write",
            "tool": "files.write",
            "effect": "local_write",
            "confidence": 0.9,
            "why": "in near past plans",
            "arguments": {"text": {"from": "step", "what": "read.text"}},
        },
    ],
    "paths": [{"hops": [], "direct": True, "words": "files.write needs files.read directly"}],
    "alternatives": [{"step": "read", "tool": "files.peek", "why": "for the same"}],
    "missing": [
        {"step": "write", "parameter": "to", "input": "write_to", "could_give": ["files.list"]}
    ],
    "staged": ["write"],
    "ran_ahead": ["read"],
    "expires_at": "2026-01-01T05:00:00+00:00",
}
NONE = {
    **MADE,
    **{name: [] for name, value in MADE.items() if isinstance(value, list)},
    **dict.fromkeys(("suggestion", "plan", "expires_at")),
    "mode": "explicit_required",
    "confidence": 0.01,
}


def planned(
    cli: CommandLine, words: str = "", *, intent: str = f"'{INTENT}'", **changes: Any
) -> Outcome:
    return cli(f"plan {intent} {words}", {"POST /suggestions": MADE | changes})


def test_a_plan_is_shown_with_where_everything_comes_from(cli: CommandLine) -> None:
    got = planned(cli)

    assert (got.code, got.sent) == (0, [{"intent": INTENT}])
    assert got.lines == [
        "read\tfiles.read\tlocal_read\t0.99\tpath from intent: /a.md",
        "write\tfiles.write\tlocal_write\t0.90\t"
        "text from read.text; to is missing: --input write_to=…",
    ]
    assert got.err.splitlines() == [
        "Being read already: read.",
        "Done only when you run it: write.",
        "write_to could come from files.list.",
        f"To run it: portico run --suggestion {SUGGESTION} --input write_to=…",
    ]
    program = planned(cli, "--why --json")
    assert (program.json, program.err) == (MADE, "")


def test_why_says_what_leads_to_what_and_what_could_be_instead(cli: CommandLine) -> None:
    told = planned(cli, "--why").out

    for words in (
        "Why: 2 steps, as in a past plan.",
        "read: found for the intent",
        "files.write needs files.read directly",
        "instead of read: files.peek (for the same)",
        "It is 0.93 sure; from 0.92 on its first reads are made ahead.",
    ):
        assert words in told
    assert "none may be: portico ahead show" in planned(cli, "--why", ran_ahead=[]).out


def test_one_that_lacks_nothing_is_run_by_its_id_alone(cli: CommandLine) -> None:
    got = planned(cli, missing=[], ran_ahead=[], staged=[])

    assert got.err == f"To run it: portico run --suggestion {SUGGESTION}\n"


@pytest.mark.parametrize("name", ["copy.toml", "copy.json"])
def test_it_is_written_into_a_file_to_be_changed_and_over_none(cli: CommandLine, name: str) -> None:
    file = cli.root / name

    written = planned(cli, f"--write {file}")
    assert written.code == 0
    assert "files.write" in file.read_text()
    assert f"{file} is written." in written.err

    file.write_text("mine")
    refused = planned(cli, f"--write {file}")
    assert (refused.code, refused.sent, file.read_text()) == (Exit.FAILED, [], "mine")
    planned(cli, f"--write {file} --replace")
    assert file.read_text() != "mine"


def test_where_there_is_none_it_says_how_to_go_on(cli: CommandLine) -> None:
    got = planned(cli, intent="'book a table'", **NONE)

    assert (got.code, got.out) == (0, "No plan is sure enough (0.01).\n")
    assert "portico search" in got.err


def test_without_an_intent_it_says_what_can_be_done(cli: CommandLine) -> None:
    got = planned(cli, intent="")

    assert (got.code, got.sent) == (0, [])
    assert got.out.startswith('Usage: portico plan "INTENT"')
    assert "propose" in got.out


def test_a_suggestion_is_run_with_what_it_lacked(cli: CommandLine) -> None:
    got = cli(f"run --suggestion {SUGGESTION} --input write_to=/b", answers())

    wanted = {"suggestion": SUGGESTION, "inputs": {"write_to": "/b"}}
    assert (got.code, got.sent) == (0, [wanted])


def test_it_is_said_what_a_plan_is_for(cli: CommandLine) -> None:
    file = cli.file("copy.json", json.dumps(MADE["plan"]))

    got = cli(f"run {file} --intent '{INTENT}'", answers())

    assert got.sent == [{"plan": MADE["plan"], "inputs": {}, "intent": INTENT}]


@pytest.mark.requirement("seed001:13")
def test_what_it_was_worth_is_said(cli: CommandLine) -> None:
    noted = {"suggestion": SUGGESTION, "run": None, "outcome": "rejected"}

    got = cli(f"feedback {SUGGESTION} rejected", {"POST /feedback": noted})

    assert (got.code, got.sent) == (0, [{"run": SUGGESTION, "outcome": "rejected"}])
    assert got.out == f"{SUGGESTION} is noted as rejected.\n"
