"""Models at a terminal: which there are, and whether they work."""

from typing import Any

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Problem

MODEL = {
    "model": "router:acme/large",
    "window": 131_072,
    "most_output": None,
    "tools": "yes",
    "vision": "no",
    "structured": "unknown",
    "price": {"input": "0.5", "output": "10"},
    "local": False,
    "clearance": "team",
    "told_by": "server",
}
FREE = {**MODEL, "model": "ollama:small", "price": {"input": "0", "output": "0"}}
UNKNOWN = {**MODEL, "model": "plain:x", "price": None, "window": None}
AWAY = {
    "name": "ollama",
    "kind": "ollama",
    "url": "http://127.0.0.1:11434",
    "local": True,
    "clearance": "restricted",
    "reachable": False,
    "why": "ollama cannot be asked: nothing answers there.",
    "models": 0,
    "took_ms": 1.5,
    "asked_at": "2026-01-01T12:00:00+00:00",
}
TESTED = {
    "model": MODEL,
    "answers": True,
    "streams": True,
    "calls_tools": "yes",
    "holds_to_form": "no",
    "usage_reported": True,
    "first_piece_ms": 120.0,
    "tokens_a_second": 40.5,
    "took_ms": 900.0,
    "notes": [],
    "problem": None,
    "fix": None,
}
SILENT = {"answers": False, "problem": "Nothing answers there.", "fix": "Start it."}
NOT_FOUND = Problem(404, {"code": "no_such_model", "detail": "No.", "fix": "See."})
LARGE = "router:acme/large"


def models(cli: CommandLine, words: str, **changes: Any) -> Outcome:
    usual = {
        "GET /models": [MODEL, FREE, UNKNOWN],
        "GET /models/providers": [AWAY],
        "GET /models/router%3Aacme/large": MODEL,
        "POST /models/test": TESTED,
    }
    return cli(f"models {words}", usual | changes)


def test_models_are_listed_with_window_abilities_and_price(cli: CommandLine) -> None:
    large, free, unknown = models(cli, "list").rows

    assert large == [LARGE, "131072", "yes", "no", "unknown", "0.5 / 10", "team", "server"]
    assert free[5] == "free"
    assert unknown[5:7] == ["unknown", "team"]
    assert models(cli, "list --fresh --json").json == {"data": [MODEL, FREE, UNKNOWN]}


def test_one_is_shown_by_its_name(cli: CommandLine) -> None:
    assert "price\t0.5 / 10" in models(cli, f"show {LARGE}").lines
    assert models(cli, f"show {LARGE} --json").json == MODEL


def test_whoever_does_not_answer_is_listed_with_why(cli: CommandLine) -> None:
    assert "nothing answers there" in models(cli, "providers").out


def test_a_model_is_tried(cli: CommandLine) -> None:
    got = models(cli, f"test {LARGE}")
    silent = models(cli, f"test {LARGE}", **{"POST /models/test": TESTED | SILENT})

    assert got.code == 0
    assert "tokens_a_second\t40.5" in got.lines
    assert f"model\t{LARGE}" in got.lines
    assert "problem" not in got.out
    assert silent.code == Exit.NOT_RUNNING
    assert "Nothing answers there." in silent.err
    assert "Start it." in silent.err
