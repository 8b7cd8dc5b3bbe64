"""Models at a terminal: which there are, and whether they work."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import Problem, ScriptedServer, answering

Captured = pytest.CaptureFixture[str]
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


@pytest.fixture
def answers() -> dict[str, Any]:
    return {
        "GET /models": [MODEL, FREE, UNKNOWN],
        "GET /models/providers": [AWAY],
        "GET /models/router%3Aacme/large": MODEL,
        "POST /models/test": TESTED,
    }


@pytest.fixture
def server(answers: dict[str, Any]) -> Iterator[ScriptedServer]:
    with answering(answers) as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    (tmp_path / "client.key").write_text("ptc_key")
    made = ScriptedHouse(tmp_path)
    made.remote = server.url
    return made


def test_models_are_listed_with_window_abilities_and_price(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["models", "list"]) == 0

    large, free, unknown = capsys.readouterr().out.splitlines()
    told = "router:acme/large\t131072\tyes\tno\tunknown\t0.5 / 10\tteam\tserver"
    assert large == told
    assert "\tfree\t" in free
    assert "\tunknown\tteam" in unknown


def test_a_program_gets_them_as_json(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["models", "list", "--fresh", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"data": [MODEL, FREE, UNKNOWN]}


def test_where_there_is_none_it_is_said_what_to_do(
    house: ScriptedHouse, answers: dict[str, Any], capsys: Captured
) -> None:
    answers["GET /models"] = answers["GET /models/providers"] = []

    assert run(house, ["models", "list"]) == 0
    assert run(house, ["models", "providers"]) == 0

    said = capsys.readouterr().err
    assert "portico models providers" in said
    assert "OPENAI_API_KEY" in said


def test_one_is_shown_by_its_name(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["models", "show", "router:acme/large"]) == 0
    assert run(house, ["models", "show", "router:acme/large", "--json"]) == 0

    plain, _, rest = capsys.readouterr().out.partition("{")
    assert "price\t0.5 / 10" in plain
    assert json.loads("{" + rest) == MODEL


@pytest.mark.parametrize(
    ("words", "route"),
    [
        (["show", "router:acme/lage"], "GET /models/router%3Aacme/lage"),
        (["test", "routr:acme/large"], "POST /models/test"),
    ],
)
def test_of_one_that_is_not_there_it_is_said_which_may_be_meant(
    house: ScriptedHouse, answers: dict[str, Any], capsys: Captured, words: list[str], route: str
) -> None:
    answers[route] = Problem(404, {"code": "no_such_model", "detail": "No.", "fix": "See."})

    assert run(house, ["models", *words]) == Exit.FAILED
    assert "Did you mean router:acme/large? See." in capsys.readouterr().err


def test_whoever_does_not_answer_is_listed_with_why(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["models", "providers"]) == 0

    assert "nothing answers there" in capsys.readouterr().out


def test_a_model_is_tried(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["models", "test", "router:acme/large"]) == 0

    said = capsys.readouterr().out
    assert "tokens_a_second\t40.5" in said
    assert "model\trouter:acme/large" in said
    assert "problem" not in said


def test_a_model_that_does_not_answer_fails_with_its_fix(
    house: ScriptedHouse, answers: dict[str, Any], capsys: Captured
) -> None:
    away = {"answers": False, "problem": "Nothing answers there.", "fix": "Start it."}
    answers["POST /models/test"] = {**TESTED, **away}

    assert run(house, ["models", "test", "router:acme/large"]) == 4

    said = capsys.readouterr()
    assert "Nothing answers there." in said.err
    assert "Start it." in said.err
