"""A real supervisor, with small programs in place of the server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portico.adapters.system.held_note import held, last_note
from portico.adapters.system.last_words import how_it_died
from portico.adapters.system.supervisor import GAVE_UP, NOTE, Order
from portico.engine.core.supervision import Patience
from portico.kernel.json import JsonObject
from tests.children import gone

pytestmark = pytest.mark.timeout(40)

HASTY = Patience(quick=30, most=20, first=0.001, longest=0.01, to_end=5)
NOTES_ITS_PID = 'echo $$ >> "$0/pids"; exec sleep 60'


@contextmanager
def supervisor(
    folder: Path, script: str, patience: Patience = HASTY
) -> Iterator["subprocess.Popen[bytes]"]:
    order = Order(folder=folder, log=folder / "log", url="http://x", patience=patience)
    module = [sys.executable, "-P", "-m", "portico.adapters.system.supervisor"]
    command = [*module, order.written(), "/bin/sh", "-c", script, str(folder)]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def told(folder: Path) -> JsonObject:
    note = last_note(folder / NOTE)
    assert note is not None
    return note


def test_a_program_that_is_not_there_for_a_while_is_tried_again(tmp_path: Path) -> None:
    program = tmp_path / "server"
    patience = Patience(quick=30, most=1_000, first=0.01, longest=0.01, to_end=5)
    order = Order(folder=tmp_path, log=tmp_path / "log", url="http://x", patience=patience)
    module = [sys.executable, "-P", "-m", "portico.adapters.system.supervisor"]

    with subprocess.Popen([*module, order.written(), str(program)]) as process:
        until((tmp_path / "log").exists)
        program.with_name("new").write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 60")
        program.with_name("new").chmod(0o700)
        program.with_name("new").rename(program)
        until(lambda: bool(pids(tmp_path)))
        process.terminate()

    assert process.returncode == 0
    assert (
        f"it cannot be started: No such file or directory: {program}"
        in (tmp_path / "log").read_text()
    )


@pytest.mark.requirement("staying:supervised:gives-up")
def test_after_twenty_deaths_in_a_row_it_is_given_up_and_said_why(tmp_path: Path) -> None:
    error = '{"error": {"code": "address_taken", "detail": "Taken.", "fix": "Another."}}'
    with supervisor(tmp_path, f"echo x >> $0/lives; echo '{error}' >&2; exit 1") as process:
        code = process.wait(20)

    note = told(tmp_path)
    assert code == GAVE_UP
    assert len((tmp_path / "lives").read_text().split()) == 20
    assert (note["state"], note["deaths"], note["restarts"]) == ("gave_up", 20, 19)
    assert note["why"] == "Taken."
    assert note["words"] == json.loads(error)["error"]
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(logged) == 20
    assert logged[-1]["event"] == "the server died 20 times in a row and is given up: Taken."
    assert not held(tmp_path / NOTE)


@pytest.mark.requirement("staying:supervised:comes-back")
def test_one_that_is_killed_comes_back_and_what_it_left_in_its_group_goes(tmp_path: Path) -> None:
    script = f"sleep 61 & echo $! >> $0/left; {NOTES_ITS_PID}"
    with supervisor(tmp_path, script) as process:
        until(lambda: len(pids(tmp_path)) == 1)
        os.kill(pids(tmp_path)[0], signal.SIGKILL)
        until(lambda: len(pids(tmp_path)) == 2)
        note = told(tmp_path)
        process.terminate()
        code = process.wait(10)

    left = [int(line) for line in (tmp_path / "left").read_text().split()]
    assert (note["why"], note["deaths"]) == ("it was ended by SIGKILL", 1)
    assert code == 0
    assert told(tmp_path)["state"] == "ended"
    assert not told(tmp_path)["killed"]
    assert gone(*left, *pids(tmp_path))


def test_one_that_does_not_end_when_asked_is_killed_and_that_is_said(tmp_path: Path) -> None:
    deaf = 'trap "" TERM; echo $$ >> "$0/pids"; while :; do sleep 1; done'
    with supervisor(tmp_path, deaf, Patience(to_end=0.3)) as process:
        until(lambda: bool(pids(tmp_path)))
        process.terminate()
        code = process.wait(10)

    assert code == 0
    assert told(tmp_path)["killed"]
    assert gone(*pids(tmp_path))


def test_of_two_one_keeps_it_up_and_the_other_leaves(tmp_path: Path) -> None:
    with supervisor(tmp_path, NOTES_ITS_PID) as one, supervisor(tmp_path, NOTES_ITS_PID) as two:
        until(lambda: one.poll() is not None or two.poll() is not None)
        until(lambda: bool(pids(tmp_path)))

        assert {one.poll(), two.poll()} == {None, 0}
        assert len(pids(tmp_path)) == 1


def test_while_it_rests_it_ends_at_once_when_asked(tmp_path: Path) -> None:
    with supervisor(tmp_path, "exit 7", Patience(first=60, longest=60)) as process:
        until(lambda: (tmp_path / f"{NOTE}.json").exists() and told(tmp_path)["deaths"] == 1)
        process.terminate()

        assert process.wait(10) == 0
    assert told(tmp_path)["state"] == "ended"
    assert told(tmp_path)["why"] == "it ended with code 7"


def test_what_it_said_last_tells_why_even_if_it_is_no_error_of_ours(tmp_path: Path) -> None:
    with supervisor(tmp_path, "echo no module >&2; exit 1", Patience(most=1)) as process:
        assert process.wait(10) == GAVE_UP

    assert told(tmp_path)["why"] == "it ended with code 1: no module"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "it ended with code 0"),
        (-11, "it was ended by SIGSEGV"),
        (-99, "it was ended by signal 99"),
    ],
)
def test_how_it_died_in_words(code: int, words: str) -> None:
    assert how_it_died(code) == words
