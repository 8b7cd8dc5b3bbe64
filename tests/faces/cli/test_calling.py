"""Tools found and called from the command line."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.call_waiting import told_what_waits
from portico.faces.cli.exits import Exit
from portico.faces.cli.server import Refused, Server
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]

RESULT = "res_1"


def an_answer(*texts: str, **changes: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {
        "call": "cal_1",
        "failed": False,
        "content": content,
        "structured": None,
        "result": None,
        "age_ms": None,
    } | changes


def a_page(number: int, text: str) -> dict[str, Any]:
    return {"text": text, "page": number, "pages": 2}


LONG = {
    "POST /calls": an_answer("one ", "[an image]", "[page 1 of 2]", result=RESULT),
    f"GET /results/{RESULT}?page=1": a_page(1, "one "),
    f"GET /results/{RESULT}?page=2": a_page(2, "two"),
}


@contextmanager
def gateway(root: Path, answers: dict[str, Any]) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    with answering(answers) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


def test_a_long_answer_is_printed_whole(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, LONG) as (house, _):
        assert run(house, ["call", "lab.read"]) == 0

    assert capsys.readouterr().out == "one two\n[an image]\n"


@pytest.mark.parametrize(("words", "task"), [([], None), (["--context", "ctx_1"], "ctx_1")])
def test_a_call_is_part_of_the_task_that_is_named(
    tmp_path: Path, words: list[str], task: str | None
) -> None:
    with gateway(tmp_path, LONG) as (house, server):
        assert run(house, ["call", "lab.read", *words]) == 0

    assert set(server.tasks) == {task}


def test_a_program_gets_the_answer_as_it_came(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, LONG) as (house, server):
        assert run(house, ["--json", "call", "lab.read"]) == 0

    assert json.loads(capsys.readouterr().out) == LONG["POST /calls"]
    assert [each for each, _ in server.asked] == ["POST /calls"]


@pytest.mark.parametrize("words", [["--input", "-"], ["--input=-"]])
def test_arguments_are_read_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": 1}'))
    with gateway(tmp_path, {"POST /calls": an_answer("done")}) as (house, server):
        assert run(house, ["call", "lab.read", *words, "b=x"]) == 0

    assert server.asked[0][1] == {"tool": "lab.read", "arguments": {"a": 1, "b": "x"}}


def test_arguments_that_do_not_fit_point_to_what_does(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = {"code": "bad_arguments", "fix": "`describe_tools` shows what it takes."}

    def refuse(*_: object, **__: object) -> None:
        raise Refused(422, problem)

    monkeypatch.setattr("portico.faces.cli.server.Server.post", refuse)
    with gateway(tmp_path, {}) as (house, _):
        assert run(house, ["call", "lab.read", "a=1"]) == Exit.USAGE

    assert "fix See what it takes: portico tools show lab.read" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["tool_not_found", "bad_tool_ref"])
def test_a_person_is_not_told_to_call_a_tool_of_a_model(code: str) -> None:
    fix = Refused(404, {"code": code, "fix": "Ask `search_tools`."}).fix

    assert fix is not None
    assert "search_tools" not in fix
    assert "portico " in fix


def found() -> dict[str, Any]:
    hit = {"call_with": "call_read", "score": 0.5, "summary": "Reads.", "why": "its name"}
    hits = [hit | {"tool": f"lab.{name}"} for name in ("a", "b", "c")]
    return {"fits": True, "hits": hits, "nearest": [], "text": "", "tokens": 0}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_more_are_found_than_are_wanted(
    tmp_path: Path, capsys: Captured, options: list[str]
) -> None:
    with gateway(tmp_path, {"POST /search": found()}) as (house, _):
        assert run(house, [*options, "search", "read a file", "--limit", "2"]) == 0

    shown = capsys.readouterr().out
    assert [f"lab.{name}" in shown for name in ("a", "b", "c")] == [True, True, False]


def test_fewer_than_one_cannot_be_wanted(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {}) as (house, server):
        assert run(house, ["search", "read a file", "--limit", "0"]) == Exit.USAGE

    assert "--limit is 1 or more." in capsys.readouterr().err
    assert server.asked == []


PENDING: dict[str, Any] = {
    "status": "approval_pending",
    "approval": "apr_01m7fxv1skfhf86xxtf6psvgnn",
    "tool": "lab.wipe",
    "expires_at": "2999-01-01T00:00:00Z",
    "detail": "lab.wipe needs somebody's approval.",
    "fix": None,
}


def replies(monkeypatch: pytest.MonkeyPatch, *given: dict[str, Any]) -> list[Any]:
    """What the server says to one call after the other; who asked for what."""
    asked: list[Any] = []
    left = list(given)

    def post(_server: object, path: str, body: object = None) -> dict[str, Any]:
        asked.append((path, body))
        return left.pop(0)

    monkeypatch.setattr("portico.faces.cli.server.Server.post", post)
    return asked


def test_a_call_that_nobody_approves_at_once_ends_with_where_to_ask(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies(monkeypatch, PENDING)
    with gateway(tmp_path, {}) as (house, _):
        assert run(house, ["call", "lab.wipe"]) == Exit.APPROVAL

    said = capsys.readouterr().err
    assert PENDING["approval"] in said
    assert "portico policy allow lab.wipe --who NAME" in said


def test_told_to_wait_it_makes_the_same_call_until_it_is_answered(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replies(monkeypatch, PENDING, PENDING, an_answer("wiped"))
    with gateway(tmp_path, {}) as (house, _):
        assert run(house, ["call", "lab.wipe", "--wait"]) == 0

    assert capsys.readouterr().out == "wiped\n"
    assert len(asked) == 3
    assert asked[0] == asked[1] == asked[2]


def test_a_request_that_has_expired_is_not_made_anew_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = PENDING | {"approval": "apr_01m7fxv1skfhf86xxtf6psvg22"}
    asked = replies(monkeypatch, PENDING, another, an_answer("wiped"))
    with gateway(tmp_path, {}) as (house, _):
        assert run(house, ["call", "lab.wipe", "--wait"]) == Exit.APPROVAL

    assert len(asked) == 2


def test_while_it_waits_it_says_for_what(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("portico.faces.cli.call_waiting._BEFORE", 0.001)
    mine = {"id": PENDING["approval"], "tool": "lab.wipe", "asker": {"id": "prn_1"}}
    theirs = mine | {"id": "apr_of_another", "asker": {"id": "prn_2"}}
    waiting = {"data": [theirs, mine], "next": None}
    told: list[str] = []
    heard = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        heard.set()

    with (
        gateway(tmp_path, {"GET /approvals": waiting, "GET /me": {"id": "prn_1"}}) as (house, _),
        told_what_waits(Server(house), "lab.wipe", tell),
    ):
        assert heard.wait(4)

    assert told == ["lab.wipe waits for approval: portico approvals show psvgnn"]
