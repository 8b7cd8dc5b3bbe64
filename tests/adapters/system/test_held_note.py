"""A note is believed while its process lives, and nobody else is taken for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portico.adapters.system.held_note import (
    HeldNote,
    began,
    held,
    last_note,
    living_note,
    send,
)
from portico.kernel.json import JsonObject

HOLDS = """
import sys, time
from pathlib import Path
from portico.adapters.system.held_note import HeldNote
note = HeldNote(Path(sys.argv[1]))
print(note.take(), flush=True)
note.write({"what": "a test"})
print("written", flush=True)
time.sleep(60)
"""


@contextmanager
def holder(file: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDS, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "True\n"
            assert process.stdout.readline() == "written\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "one"


@pytest.mark.timeout(30)
def test_a_note_lives_as_long_as_its_process_however_that_ends(file: Path) -> None:
    with holder(file) as process:
        alive = living_note(file)
        taken = HeldNote(file).take()
        process.kill()
        process.wait()

    assert alive is not None
    assert (alive["pid"], alive["what"]) == (process.pid, "a test")
    assert not taken
    assert not held(file)
    assert living_note(file) is None
    assert last_note(file) == alive


@pytest.mark.timeout(30)
def test_looking_on_keeps_nobody_from_taking_it(file: Path) -> None:
    with holder(file) as process:
        process.kill()
        process.wait()
        handle = os.open(f"{file}.lock", os.O_RDWR)
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH)  # as `held` does, for a moment
        import threading

        threading.Timer(0.2, lambda: os.close(handle)).start()

        assert HeldNote(file).take()


def test_what_was_given_back_can_be_taken(file: Path) -> None:
    note = HeldNote(file)
    assert note.take()
    note.give_back()
    note.give_back()

    assert HeldNote(file).take()


def test_a_note_of_before_is_nobodys_even_when_its_lock_is_held(file: Path) -> None:
    note = HeldNote(file)
    note.write({})
    text = file.with_name("one.json")
    text.write_text(text.read_text().replace('"began": ', '"began": 1'))

    assert note.take()
    assert living_note(file) is None


@pytest.mark.timeout(30)
def test_a_process_that_only_has_the_pid_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "30"]) as stranger:
        told: JsonObject = {"pid": stranger.pid, "began": (began(stranger.pid) or 0) - 1}

        sent = send(told, signal.SIGKILL)
        time.sleep(0.05)
        unharmed = stranger.poll() is None
        meant = send({**told, "began": began(stranger.pid)}, signal.SIGKILL)

        assert (sent, unharmed, meant) == (False, True, True)
        assert stranger.wait() == -signal.SIGKILL


@pytest.mark.parametrize("pid", [0, 1, -1, None, "x", 2**22 + 1])
def test_what_is_no_process_is_sent_nothing(pid: int | str | None) -> None:
    assert not send({"pid": pid, "began": None if pid == 1 else 5.0}, signal.SIGTERM)


@pytest.mark.parametrize("text", ["", "[]", "no json", '"pid"'])
def test_a_spoilt_note_says_nothing(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.with_name("one.json").write_text(text)

    assert last_note(file) is None
    assert not held(file)
