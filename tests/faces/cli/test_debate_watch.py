"""A debate watched at a real terminal: drawn in place, asked before it is stopped."""

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
from tests.faces.cli.agent_answers import event
from tests.faces.cli.debate_answers import (
    BEGAN,
    DEBATE,
    ONE,
    answers,
    asked,
    ended,
    stands,
)
from tests.faces.cli.scripted_server import Gone, ScriptedServer, Streamed
from tests.faces.cli.test_approval_watch import Person, at_a_terminal
from tests.faces.cli.test_approvals import served

Act = Callable[[Person], None]

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
STOP = (f"POST /debates/{DEBATE}/stop", None)
ON = (BEGAN, asked(ONE), stands(("no", 0.8), ("yes", 0.15)))


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
    events = some[f"GET /debates/{DEBATE}/events"]
    failed: list[BaseException] = []
    if held and isinstance(events, Streamed):
        events.open_until = over
    with served(root, some) as (house, server), at_a_terminal(monkeypatch) as person:
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
        code = run(house, ["debate", "Is 91 a prime number?", *more])
        thread.join()
        text = _CONTROL.sub("", person.screen.getvalue())
    assert not failed, failed
    return code, text, server


def test_it_is_drawn_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, answers(), held=False)

    assert code == Exit.OK
    assert re.search(r"no +█+▌?░* +80 %", text)
    assert "another answer" in text
    assert re.search(r"1,000 tokens spent( · 900 reserved)? · of 20,000", text)
    assert f"✓ {ONE}" in text
    assert "Decided: no (93 %)" in text


def test_whoever_leaves_it_leaves_it_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("80 %")
        person.types("q")

    code, text, server = watch(tmp_path, monkeypatch, act, answers(*ON))

    assert code == Exit.INTERRUPTED
    assert STOP not in server.asked
    assert "It goes on by itself. What came of it: portico debate show psvgnn" in text


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("key", "stopped"), [("y", 1), ("n", 0)])
def test_ctrl_c_asks_before_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, stopped: int
) -> None:
    def act(person: Person) -> None:
        person.sees("80 %")
        interrupt()
        person.sees("Stop the debate?")
        person.types(key)
        if stopped:
            person.sees("It stops as soon as it can.")
        person.types("q")

    _, _, server = watch(tmp_path, monkeypatch, act, answers(*ON))

    assert server.asked.count(STOP) == stopped


def test_ctrl_c_twice_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees("80 %")
        interrupt()
        person.sees("Stop the debate?")
        interrupt()

    code, _, server = watch(tmp_path, monkeypatch, act, answers(*ON))

    assert code == Exit.INTERRUPTED
    assert STOP not in server.asked


def test_where_nobody_can_be_asked_ctrl_c_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person) -> None:
        person.sees("Ctrl-C stops it")
        interrupt()

    code, _, server = watch(tmp_path, monkeypatch, act, answers(*ON), "--no-input")

    assert code == Exit.INTERRUPTED
    assert STOP in server.asked


def test_a_stop_that_is_refused_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person) -> None:
        person.sees("80 %")
        interrupt()
        person.sees("Stop the debate?")
        person.types("y")
        person.sees("Nothing answers at")
        person.types("q")

    some = answers(*ON, **{f"POST /debates/{DEBATE}/stop": Gone()})
    code, _, _ = watch(tmp_path, monkeypatch, act, some)

    assert code == Exit.INTERRUPTED


def test_a_server_that_goes_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = answers()
    some[f"GET /debates/{DEBATE}/events"] = Streamed([BEGAN, ended()])

    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, some, held=False)

    assert code == Exit.OK
    assert "waiting for it to come back" in text


def test_what_breaks_for_good_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = answers(event("error", code="debate_not_found", detail="It is gone.", fix=None))

    code, text, _ = watch(tmp_path, monkeypatch, lambda _: None, some, held=False)

    assert code == Exit.NOT_RUNNING
    assert "It is gone." in text
