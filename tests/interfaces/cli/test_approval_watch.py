"""Requests watched at a real terminal: keys that never change, and nobody answers by accident."""

import json
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome, Step, Types
from tests.interfaces.cli.requests import ID, ONE, OTHER, a_request, an_answer, waiting
from tests.interfaces.cli.scripted_server import Streamed

KEYS = "a approve"
DONE = "Waiting for requests"
NEWS_AT = "2999-01-01T00:00:00+00:00"


def news(what: str, approval: str) -> str:
    data = {"type": f"approval.{what}", "at": NEWS_AT, "facts": {"approval": approval}}
    return f"id: 1\nevent: approval.{what}\ndata: {json.dumps(data)}\n\n"


def watch(
    cli: CommandLine, some: dict[str, Any], *steps: Step, option: str = "", **how: Any
) -> Outcome:
    """What is on the screen in the end, and what the server was told."""
    answers = {"GET /events": Streamed([]), **ONE, **some}
    got = cli.watched(f"approvals watch {option}", answers, *steps, leave="q", **how)
    assert got.code == 0, got.out
    return got


@pytest.mark.parametrize(("key", "answer"), [("a", "once"), ("r", "run")])
def test_one_key_approves(cli: CommandLine, key: str, answer: str) -> None:
    got = watch(cli, {}, KEYS, Types(key), DONE)

    assert got.sent == [{"answer": answer, "via": "cli"}]
    assert "\a" in got.out
    assert "✓ …psvgnn approved once by ana (cli)" in got.out
    assert "\x1b[2J" not in got.out  # nothing is drawn anew


def test_the_bell_can_be_left_out(cli: CommandLine) -> None:
    assert "\a" not in watch(cli, {}, KEYS, Types("a"), DONE, option="--no-bell").out


ENDED = {
    "GET /events": Streamed([news("expired", ID)]),
    f"GET /approvals/{ID}": a_request(status="expired"),
}


@pytest.mark.parametrize(
    ("some", "steps"),
    [
        ({}, (KEYS, Types("yY1AR \r"), Types("s"), "goes on waiting")),
        ({"GET /me": {"id": "prn_1"}},
         ("…psvgnn is your own: mail.send; somebody else answers it.", DONE, Types("a"))),
        ({"GET /events": Streamed([news("answered", ID)]),
          f"GET /approvals/{ID}": an_answer("once", by="bob")},
         ("Somebody was first: approved once by bob (cli).",)),
        (ENDED, ("It has expired; nobody answered.",)),
    ],
    ids=["keys that mean nothing", "ones own", "answered elsewhere", "expired"],
)  # fmt: skip
def test_nothing_is_answered(
    cli: CommandLine, some: dict[str, Any], steps: tuple[Step, ...]
) -> None:
    assert watch(cli, some, *steps).sent == []


def test_what_was_typed_before_it_could_be_read_counts_for_nothing(cli: CommandLine) -> None:
    assert watch(cli, {}, KEYS, Types("aw"), read_first=60.0).sent == []


def test_a_no_is_said_with_a_reason_or_taken_back(cli: CommandLine) -> None:
    got = watch(
        cli, {f"POST /approvals/{ID}/answer": an_answer("reject")}, KEYS, Types("x"), "Why not?",
        Types("\x04"), "Nothing was answered.", Types("x"), ("Why not?", 2),
        Types("not today\n"), DONE,
    )  # fmt: skip

    assert got.sent == [{"answer": "reject", "reason": "not today", "via": "cli"}]
    assert "✗ …psvgnn rejected by ana" in got.out


def test_a_rule_takes_two_steps_and_the_whole_word(cli: CommandLine) -> None:
    got = watch(
        cli, {}, KEYS, Types("p"), "For which tools?", Types("\n"),
        "may use mail.send with whatever arguments, for effects up to", Types("yes\n"),
        "Nothing was answered.", Types("p"), ("For which tools?", 2), Types("mail.*\n"),
        "may use mail.* with whatever arguments", Types("always\n"), DONE,
    )  # fmt: skip

    assert got.sent == [{"answer": "always", "pattern": "mail.*", "via": "cli"}]


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/bob/eve/")
    return monkeypatch


@pytest.mark.usefixtures("editor")
def test_arguments_are_changed_and_then_approved(cli: CommandLine) -> None:
    question = "Approve it once like this?"

    got = watch(
        cli, {}, KEYS, Types("e"), question, Types("n"), "Nothing was answered.", Types("e"),
        (question, 2), Types("y"), DONE,
    )  # fmt: skip

    [body] = got.sent
    assert (body["answer"], body["arguments"]["to"]) == ("once", "eve@else.example")


def test_an_editor_that_fails_leaves_it_waiting(
    cli: CommandLine, editor: pytest.MonkeyPatch
) -> None:
    editor.setenv("EDITOR", "false")

    assert watch(cli, {}, KEYS, Types("e"), "nothing was answered").sent == []


def test_why_shows_everything_again(cli: CommandLine) -> None:
    explain = "portico policy explain key:k1k1k1k1k1k1 mail.send"

    got = watch(cli, {}, KEYS, Types("w"), explain, (KEYS, 2))

    assert got.out.count("desktop (agent) wants mail.send") == 2
    assert got.sent == []


ANOTHER = {f"GET /approvals/{OTHER}": a_request(OTHER)}


def test_one_that_comes_meanwhile_is_shown_after_this_one(cli: CommandLine) -> None:
    got = watch(
        cli, ANOTHER | {"GET /events": Streamed([news("asked", OTHER)])},
        "waits too: desktop (agent), mail.send", Types("a"),
        "…psvg22  desktop (agent) wants mail.send", (KEYS, 2),
    )  # fmt: skip

    assert got.out.index("…psvgnn  desktop") < got.out.index("…psvg22  desktop")
    assert len(got.sent) == 1


def test_an_answer_that_comes_too_late_is_told(cli: CommandLine) -> None:
    too_late = {f"POST /approvals/{ID}/answer": None}

    assert "✗ The server refused" in watch(cli, too_late, KEYS, Types("a"), DONE).out


def test_where_a_rule_asks_only_once_is_offered(cli: CommandLine) -> None:
    ruled = waiting(a_request(rule="ask-mail", answers=["once", "reject"]))
    asks_on = "The rule ask-mail goes on asking"

    got = watch(
        cli, {"GET /approvals": ruled}, "a approve · x reject", Types("r"), asks_on, Types("p"),
        (asks_on, 2), Types("a"), DONE,
    )  # fmt: skip

    assert [body["answer"] for body in got.sent] == ["once"]
    assert "p always" not in got.out


def test_where_nobody_can_type_requests_are_only_shown(cli: CommandLine) -> None:
    told = Streamed([news("asked", OTHER) + news("answered", ID)])
    answered = {f"GET /approvals/{ID}": an_answer("once"), "GET /events": told}

    got = cli("approvals watch", ONE | ANOTHER | answered)

    assert (got.code, got.sent) == (0, [])
    assert "…psvgnn  desktop (agent) wants mail.send" in got.out
    assert "…psvg22  desktop (agent) wants mail.send" in got.out
    assert "…psvgnn approved once by ana (cli)" in got.out


def test_a_program_gets_a_line_each(cli: CommandLine) -> None:
    assert cli("--json approvals watch", ONE | {"GET /events": Streamed([])}).json["id"] == ID


def test_whoever_may_not_see_them_is_told_so(cli: CommandLine) -> None:
    got = cli("approvals watch", {})

    assert got.code == Exit.FAILED
    assert "unknown" in got.err
