"""Tools found and called from the command line."""

import threading
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.tools import told_what_waits
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.scripted_server import InTurn, Problem, answering

RESULT = "res_1"
CALL = "POST /calls"


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
    CALL: an_answer("one ", "[an image]", "[page 1 of 2]", result=RESULT),
    f"GET /results/{RESULT}?page=1": a_page(1, "one "),
    f"GET /results/{RESULT}?page=2": a_page(2, "two"),
}


def test_a_long_answer_is_printed_whole(cli: CommandLine) -> None:
    program = cli("--json call lab.read", LONG)

    assert cli("call lab.read", LONG).out == "one two\n[an image]\n"
    assert (program.json, program.routes) == (LONG[CALL], [CALL])


@pytest.mark.parametrize(("words", "task"), [("", None), ("--context ctx_1", "ctx_1")])
def test_a_call_is_part_of_the_task_that_is_named(
    cli: CommandLine, words: str, task: str | None
) -> None:
    got = cli(f"call lab.read {words}", LONG)

    assert {head.get("Portico-Context") for head in got.heads} == {task}


@pytest.mark.parametrize("words", ["--input -", "--input=-"])
def test_arguments_are_read_from_standard_input(cli: CommandLine, words: str) -> None:
    got = cli(f"call lab.read {words} b=x", {CALL: an_answer("done")}, piped='{"a": 1}')

    assert got.sent == [{"tool": "lab.read", "arguments": {"a": 1, "b": "x"}}]


def test_arguments_that_do_not_fit_point_to_what_does(cli: CommandLine) -> None:
    fix = "`describe_tools` shows what it takes."

    got = cli("call lab.read a=1", {CALL: Problem(422, {"code": "bad_arguments", "fix": fix})})

    assert got.code == Exit.USAGE
    assert "fix See what it takes: portico tools show lab.read" in got.err


@pytest.mark.parametrize("code", ["tool_not_found", "bad_tool_ref"])
def test_a_person_is_not_told_to_call_a_tool_of_a_model(code: str) -> None:
    fix = Refused(404, {"code": code, "fix": "Ask `search_tools`."}).fix

    assert fix is not None
    assert "search_tools" not in fix
    assert "portico " in fix


HIT = {"call_with": "call_read", "score": 0.5, "summary": "Reads.", "why": "its name"}
FOUND = {
    "fits": True,
    "hits": [HIT | {"tool": f"lab.{name}"} for name in ("a", "b", "c")],
    "nearest": [],
    "text": "",
    "tokens": 0,
}


@pytest.mark.parametrize("option", ["", "--json"])
def test_no_more_are_found_than_are_wanted(cli: CommandLine, option: str) -> None:
    shown = cli(f"{option} search 'read a file' --limit 2", {"POST /search": FOUND}).out

    assert [f"lab.{name}" in shown for name in ("a", "b", "c")] == [True, True, False]


PENDING: dict[str, Any] = {
    "status": "approval_pending",
    "approval": "apr_01m7fxv1skfhf86xxtf6psvgnn",
    "tool": "lab.wipe",
    "expires_at": "2999-01-01T00:00:00Z",
    "detail": "lab.wipe needs somebody's approval.",
    "fix": None,
}
ANOTHER = PENDING | {"approval": "apr_01m7fxv1skfhf86xxtf6psvg22"}


@pytest.mark.parametrize(
    ("option", "answers", "code", "calls"),
    [
        ("", [PENDING], Exit.APPROVAL, 1),
        ("--wait", [PENDING, PENDING, an_answer("wiped")], 0, 3),
        ("--wait", [PENDING, ANOTHER, an_answer("wiped")], Exit.APPROVAL, 2),
    ],
    ids=["not told to wait", "told to wait", "expired meanwhile"],
)
def test_a_call_that_somebody_has_to_approve_is_made_again_until_it_is_answered(
    cli: CommandLine, option: str, answers: list[Any], code: int, calls: int
) -> None:
    got = cli(f"call lab.wipe {option}", {CALL: InTurn(*answers)})

    made = [body for route, body in got.asked if route == CALL]
    assert (got.code, got.out) == (code, "" if code else "wiped\n")
    assert made == [{"tool": "lab.wipe", "arguments": {}}] * calls
    if not option:
        assert PENDING["approval"] in got.err
        assert "portico policy allow lab.wipe --who NAME" in got.err


def test_while_it_waits_it_says_for_what(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portico.interfaces.cli.tools._BEFORE", 0.001)
    mine = {"id": PENDING["approval"], "tool": "lab.wipe", "asker": {"id": "prn_1"}}
    theirs = mine | {"id": "apr_of_another", "asker": {"id": "prn_2"}}
    waiting = {"data": [theirs, mine], "next": None}
    told: list[str] = []
    heard = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        heard.set()

    with answering({"GET /approvals": waiting, "GET /me": {"id": "prn_1"}}) as server:
        cli.house.remote = server.url
        with told_what_waits(Server(cli.house), "lab.wipe", tell):
            assert heard.wait(4)

    assert told == ["lab.wipe waits for approval: portico approvals show psvgnn"]
