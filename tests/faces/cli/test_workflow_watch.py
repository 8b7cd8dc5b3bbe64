"""A workflow watched at a real terminal."""

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.picture.reports import a_report, a_told_step, an_event
from tests.faces.cli.picture.scenes import NOON, RUN
from tests.faces.cli.requests import waiting
from tests.faces.cli.scripted_server import ScriptedServer, Streamed
from tests.faces.cli.test_approval_watch import Person, at_a_terminal
from tests.faces.cli.test_approvals import served
from tests.faces.cli.workflow_answers import ASKED, DONE, ENDED, FAILED, FAILURE, answers, told

RUNNING = a_told_step("read", state="running", started_at=NOON)
WAITS = a_told_step("read", state="waiting", approval=ASKED, started_at=NOON)
UNSURE = a_told_step("pay", state="uncertain", started_at=NOON)

Act = Callable[[Person], None]
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def watch(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Act,
    some: dict[str, Any],
    *more: str,
    held: bool = True,
) -> tuple[int, str, ScriptedServer]:
    """How it ended, what was on the screen, and what the server was asked.

    `held`: the server goes on telling nothing until `act` has ended.
    """
    over = threading.Event()
    events = some[f"GET /runs/{RUN}/events"]
    failed: list[BaseException] = []
    if held and isinstance(events, Streamed):
        events.open_until = over
    with (
        served(root, some) as (house, server),
        at_a_terminal(monkeypatch) as person,
    ):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("LINES", "30")

        def acting() -> None:
            try:
                act(person)
            except AssertionError as error:
                failed.append(error)
                person.types("q")
            finally:
                over.set()

        thread = threading.Thread(target=acting)
        thread.start()
        code = run(house, ["workflows", "watch", RUN, *more])
        thread.join()
        text = _CONTROL.sub("", person.screen.getvalue())
    assert not failed, failed
    return code, text, server


def going_on(*steps: dict[str, Any], **report: Any) -> dict[str, Any]:
    found = answers(*steps, **{"status": "running", **report})
    found[f"GET /runs/{RUN}/events"] = Streamed([told(an_event("run.started", 0), over=False)])
    return found


def posts(server: ScriptedServer) -> list[tuple[str, Any]]:
    return [(asked, body) for asked, body in server.asked if asked.startswith("POST")]


def test_it_is_drawn_until_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, answers(DONE, **ENDED))

    assert code == 0
    last = text[text.rindex("morning") :]
    assert "✓ read" in last
    assert '"text": "hello"' in last


def test_what_was_left_out_of_the_last_picture_can_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [{**DONE, "id": f"s{number}"} for number in range(100)]

    _, text, _ = watch(tmp_path, monkeypatch, lambda _: None, answers(*many, **ENDED))

    assert "All of it: portico workflows show 0aaaaa" in text


def test_what_failed_is_shown_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answers(FAILED, status="failed", error=FAILURE)

    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, found)

    assert code == Exit.FAILED
    assert "↳ tool_failed: no such file" in text
    assert "It failed at read: tool_failed: no such file" in text


def test_q_leaves_it_running_and_says_how_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("q leave it running")
        person.types("q")

    code, text, server = watch(tmp_path, monkeypatch, act, going_on(RUNNING))

    assert code == Exit.INTERRUPTED
    assert "It goes on without you. To come back: portico run --attach 0aaaaa" in text
    assert posts(server) == []


def test_so_does_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees("q leave it running")
        os.kill(os.getpid(), signal.SIGINT)

    code, text, server = watch(tmp_path, monkeypatch, act, going_on(RUNNING))

    assert code == Exit.INTERRUPTED
    assert "It goes on without you." in text
    assert posts(server) == []


def test_c_cancels_it_if_pressed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = going_on(RUNNING) | {f"POST /workflows/{RUN}/cancel": a_report(RUNNING)}

    def act(person: Person) -> None:
        person.sees("q leave it running")
        person.types("c")
        person.sees("c again to cancel it")
        person.types("xc")
        person.sees("c again to cancel it", 2)
        person.types("cq")

    _, _, server = watch(tmp_path, monkeypatch, act, found)

    assert posts(server) == [(f"POST /workflows/{RUN}/cancel", None)]


def test_what_the_server_refuses_is_said_and_one_goes_on_watching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("q leave it running")
        person.types("c")
        person.sees("c again to cancel it")
        person.types("c")
        person.sees("The server answered 404.")
        person.types("q")

    code, _, _ = watch(tmp_path, monkeypatch, act, going_on(RUNNING))

    assert code == Exit.INTERRUPTED


def test_a_opens_the_requests_and_q_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = going_on(WAITS, status="waiting") | {
        "GET /me": {"id": "prn_2", "name": "ana"},
        "GET /approvals": waiting(),
        "GET /events": Streamed([]),
    }

    def act(person: Person) -> None:
        person.sees("a approvals (1)")
        person.types("a")
        person.sees("Waiting for requests; q ends.")
        drawn = person.screen.getvalue().count("morning")
        person.types("q")
        person.sees("morning", drawn + 1)
        person.types("q")

    code, text, _ = watch(tmp_path, monkeypatch, act, found)

    assert code == Exit.INTERRUPTED
    assert "waits for approval: portico approvals show psvgnn" in text


def test_u_asks_what_became_of_each_that_nobody_knows_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {"tool": "post.send", "arguments": {"to": "bob"}, "started_at": NOON.isoformat()}
    given = {"mail": sent}
    other = a_told_step("mail", state="uncertain", started_at=NOON, called_with=given)
    found = going_on(UNSURE, other, status="waiting")
    found[f"POST /workflows/{RUN}/resolve"] = a_report(UNSURE)

    def act(person: Person) -> None:
        person.sees("u uncertain (2)")
        person.types("u")
        person.sees("pay: server.pay")
        person.sees("pay: done, retry or skip?")
        person.types("skip\n")
        person.sees('mail: post.send {"to": "bob"}, begun at')
        person.sees("mail: done, retry or skip?")
        person.types("perhaps\n")
        person.sees("'perhaps' is none of them. mail: done, retry or skip?")
        person.types("\n")
        person.sees("u uncertain (2)", 2)
        person.types("q")

    _, _, server = watch(tmp_path, monkeypatch, act, found)

    assert posts(server) == [(f"POST /workflows/{RUN}/resolve", {"step": "pay", "outcome": "skip"})]


def test_without_a_keyboard_it_is_only_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("Ctrl-C leaves it running")
        os.kill(os.getpid(), signal.SIGINT)

    code, _, _ = watch(tmp_path, monkeypatch, act, going_on(RUNNING), "--no-input")

    assert code == Exit.INTERRUPTED


def test_a_server_that_has_gone_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = going_on(RUNNING)
    comes_again = [told(an_event("run.started", 0), over=False)] * 3
    found[f"GET /runs/{RUN}/events"] = Streamed(comes_again)

    def act(person: Person) -> None:
        person.sees("The server has gone")
        person.types("q")

    code, _, _ = watch(tmp_path, monkeypatch, act, found, held=False)

    assert code == Exit.INTERRUPTED


def test_what_the_server_refuses_for_good_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = going_on(RUNNING)
    refused = found | {f"GET /runs/{RUN}/events": None}

    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, refused)

    assert code == Exit.FAILED
    assert "✗" in text
