"""Requests watched at a real terminal: keys that never change, and nobody answers by accident."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.requests import ID, OTHER, a_request, an_answer, waiting
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import ScriptedServer, Streamed
from tests.faces.cli.test_approvals import ONE, sent, served

KEYS = "a approve"
NEWS_AT = "2999-01-01T00:00:00+00:00"


def news(what: str, approval: str) -> str:
    data = {"type": f"approval.{what}", "at": NEWS_AT, "facts": {"approval": approval}}
    return f"id: 1\nevent: approval.{what}\ndata: {json.dumps(data)}\n\n"


@dataclass
class Person:
    """Looks at the screen, and types."""

    screen: TtyText
    keyboard: int

    def sees(self, text: str, times: int = 1) -> None:
        until = time.monotonic() + 20
        while self.screen.getvalue().count(text) < times:
            assert time.monotonic() < until, self.screen.getvalue()
            time.sleep(0.005)

    def types(self, text: str) -> None:
        os.write(self.keyboard, text.encode())


Act = Callable[[Person], None]


@contextmanager
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    master, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        screen = a_screen(monkeypatch)
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("portico.faces.cli.approval_keys._READ_FIRST", 0.0)
        yield Person(screen, master)
    os.close(master)


def watch(
    root: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], act: Act, *more: str
) -> tuple[str, ScriptedServer]:
    """What is on the screen in the end, and what the server was told."""
    failed: list[BaseException] = []
    some = {"GET /events": Streamed([]), "GET /me": {"id": "prn_2", "name": "ana"}}
    with (
        served(root, {**some, **answers}) as (house, server),
        at_a_terminal(monkeypatch) as person,
    ):

        def acting() -> None:
            try:
                act(person)
            except AssertionError as error:
                failed.append(error)
            finally:
                person.types("q")

        thread = threading.Thread(target=acting)
        thread.start()
        code = run(house, ["approvals", "watch", *more])
        thread.join()
        text = person.screen.getvalue()
    assert not failed, failed
    assert code == 0, text
    return text, server


def press(*keys: str) -> Act:
    def act(person: Person) -> None:
        person.sees(KEYS)
        for key in keys:
            person.types(key)
        person.sees("Waiting for requests")

    return act


@pytest.mark.parametrize(("key", "answer"), [("a", "once"), ("r", "run")])
def test_one_key_approves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, answer: str
) -> None:
    text, server = watch(tmp_path, monkeypatch, ONE, press(key))

    assert sent(server) == [{"answer": answer, "via": "cli"}]
    assert "\a" in text
    assert "✓ …psvgnn approved once by ana (cli)" in text
    assert "\x1b[2J" not in text  # nothing is drawn anew


def test_the_bell_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = watch(tmp_path, monkeypatch, ONE, press("a"), "--no-bell")

    assert "\a" not in text


def test_a_key_that_means_nothing_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("yY1AR \r")
        person.types("s")
        person.sees("goes on waiting")

    _, server = watch(tmp_path, monkeypatch, ONE, act)

    assert sent(server) == []


def test_what_was_typed_before_it_could_be_read_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees(KEYS)
        monkeypatch.setattr("portico.faces.cli.approval_keys._READ_FIRST", 60.0)
        person.types("aw")

    _, server = watch(tmp_path, monkeypatch, ONE, act)

    assert sent(server) == []


def test_a_no_is_said_with_a_reason_or_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("x")
        person.sees("Why not?")
        person.types("\x04")
        person.sees("Nothing was answered.")
        person.types("x")
        person.sees("Why not?", 2)
        person.types("not today\n")
        person.sees("Waiting for requests")

    answers = {**ONE, f"POST /approvals/{ID}/answer": an_answer("reject")}
    text, server = watch(tmp_path, monkeypatch, answers, act)

    assert sent(server) == [{"answer": "reject", "reason": "not today", "via": "cli"}]
    assert "✗ …psvgnn rejected by ana" in text


def test_a_rule_takes_two_steps_and_the_whole_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("p")
        person.sees("For which tools?")
        person.types("\n")
        person.sees("may use mail.send with whatever arguments, for effects up to")
        person.types("yes\n")
        person.sees("Nothing was answered.")
        person.types("p")
        person.sees("For which tools?", 2)
        person.types("mail.*\n")
        person.sees("may use mail.* with whatever arguments")
        person.types("always\n")
        person.sees("Waiting for requests")

    _, server = watch(tmp_path, monkeypatch, ONE, act)

    assert sent(server) == [{"answer": "always", "pattern": "mail.*", "via": "cli"}]


def test_arguments_are_changed_and_then_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/bob/eve/")

    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("e")
        person.sees("Approve it once like this?")
        person.types("n")
        person.sees("Nothing was answered.")
        person.types("e")
        person.sees("Approve it once like this?", 2)
        person.types("y")
        person.sees("Waiting for requests")

    _, server = watch(tmp_path, monkeypatch, ONE, act)

    [body] = sent(server)
    assert (body["answer"], body["arguments"]["to"]) == ("once", "eve@else.example")


def test_why_shows_everything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("w")
        person.sees("portico policy explain key:k1k1k1k1k1k1 mail.send")
        person.sees(KEYS, 2)

    text, server = watch(tmp_path, monkeypatch, ONE, act)

    assert text.count("desktop (agent) wants mail.send") == 2
    assert sent(server) == []


def test_an_editor_that_fails_leaves_it_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")

    def act(person: Person) -> None:
        person.sees(KEYS)
        person.types("e")
        person.sees("nothing was answered")

    _, server = watch(tmp_path, monkeypatch, ONE, act)

    assert sent(server) == []


def test_one_that_comes_meanwhile_is_shown_after_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("waits too: desktop (agent), mail.send")
        person.types("a")
        person.sees("…psvg22  desktop (agent) wants mail.send")
        person.sees(KEYS, 2)

    answers = {
        **ONE,
        "GET /events": Streamed([news("asked", OTHER)]),
        f"GET /approvals/{OTHER}": a_request(OTHER),
    }
    text, server = watch(tmp_path, monkeypatch, answers, act)

    assert text.index("…psvgnn  desktop") < text.index("…psvg22  desktop")
    assert len(sent(server)) == 1


def test_ones_own_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees("…psvgnn is your own: mail.send; somebody else answers it.")
        person.sees("Waiting for requests")
        person.types("a")

    _, server = watch(tmp_path, monkeypatch, {**ONE, "GET /me": {"id": "prn_1"}}, act)

    assert sent(server) == []


def test_somebody_elses_answer_is_told_and_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("Somebody was first: approved once by bob (cli).")

    answers = {
        **ONE,
        "GET /events": Streamed([news("answered", ID)]),
        f"GET /approvals/{ID}": an_answer("once", by="bob"),
    }
    _, server = watch(tmp_path, monkeypatch, answers, act)

    assert sent(server) == []


def test_an_answer_that_comes_too_late_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {name: each for name, each in ONE.items() if not name.endswith("/answer")}

    text, _ = watch(tmp_path, monkeypatch, answers, press("a"))

    assert "✗ The server refused" in text


def test_where_nobody_can_type_requests_are_only_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {
        **ONE,
        "GET /events": Streamed([news("asked", OTHER) + news("answered", ID)]),
        f"GET /approvals/{OTHER}": a_request(OTHER),
    }
    answers[f"GET /approvals/{ID}"] = an_answer("once")
    with served(tmp_path, answers) as (house, server):
        assert run(house, ["approvals", "watch"]) == 0

    said = capsys.readouterr().out
    assert "…psvgnn  desktop (agent) wants mail.send" in said
    assert "…psvg22  desktop (agent) wants mail.send" in said
    assert "…psvgnn approved once by ana (cli)" in said
    assert sent(server) == []


def test_a_program_gets_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {**ONE, "GET /approvals": waiting(a_request()), "GET /events": Streamed([])}
    with served(tmp_path, answers) as (house, _):
        assert run(house, ["--json", "approvals", "watch"]) == 0

    assert json.loads(capsys.readouterr().out)["id"] == ID


def test_whoever_may_not_see_them_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(tmp_path, {}) as (house, _):
        assert run(house, ["approvals", "watch"]) == Exit.FAILED

    assert sys.stdin is not None
    assert "unknown" in capsys.readouterr().err


def test_where_a_rule_asks_only_once_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("a approve · x reject")
        person.types("r")
        person.sees("The rule ask-mail goes on asking")
        person.types("p")
        person.sees("The rule ask-mail goes on asking", 2)
        person.types("a")
        person.sees("Waiting for requests")

    ruled = waiting(a_request(rule="ask-mail", answers=["once", "reject"]))
    text, server = watch(tmp_path, monkeypatch, {**ONE, "GET /approvals": ruled}, act)

    assert [body["answer"] for body in sent(server)] == ["once"]
    assert "p always" not in text


def test_one_that_ended_by_itself_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees("It has expired; nobody answered.")

    answers = {
        **ONE,
        "GET /events": Streamed([news("expired", ID)]),
        f"GET /approvals/{ID}": a_request(status="expired"),
    }
    _, server = watch(tmp_path, monkeypatch, answers, act)

    assert sent(server) == []
