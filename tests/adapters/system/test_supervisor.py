"""Programs that are kept up, end when they are asked to, and are known by their notes."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from portico.adapters.system.pid_file import (
    PidFile,
    began,
    held,
    how_it_died,
    last_note,
    living_note,
    send,
)
from portico.adapters.system.supervisor import GAVE_UP, NOTE, SupervisorArgs
from portico.engine.core.store import RestartLimits
from portico.kernel.json import JsonObject
from tests.children import gone

HASTY = RestartLimits(quick=30, most=20, first=0.001, longest=0.01, to_end=5)
NOTES_ITS_PID = 'echo $$ >> "$0/pids"; exec sleep 60'


@contextmanager
def supervisor(
    folder: Path, script: str, patience: RestartLimits = HASTY
) -> Iterator["subprocess.Popen[bytes]"]:
    order = SupervisorArgs(folder=folder, log=folder / "log", url="http://x", wait_timeout=patience)
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
    patience = RestartLimits(quick=30, most=1_000, first=0.01, longest=0.01, to_end=5)
    order = SupervisorArgs(
        folder=tmp_path, log=tmp_path / "log", url="http://x", wait_timeout=patience
    )
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
    with supervisor(tmp_path, deaf, RestartLimits(to_end=0.3)) as process:
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
    with supervisor(tmp_path, "exit 7", RestartLimits(first=60, longest=60)) as process:
        until(lambda: (tmp_path / f"{NOTE}.json").exists() and told(tmp_path)["deaths"] == 1)
        process.terminate()

        assert process.wait(10) == 0
    assert told(tmp_path)["state"] == "ended"
    assert told(tmp_path)["why"] == "it ended with code 7"


def test_what_it_said_last_tells_why_even_if_it_is_no_error_of_ours(tmp_path: Path) -> None:
    with supervisor(tmp_path, "echo no module >&2; exit 1", RestartLimits(most=1)) as process:
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


PRELUDE = """
    import asyncio, logging, threading
    from portico.adapters.system.process import LastCall
    from portico.adapters.system.process import end_orderly

    logging.basicConfig(format="%(message)s")
    last_call = LastCall((1.0, 1.0, 20.0))
    end_orderly(last_call.start)
"""
SERVING = """
    import socket, uvicorn
    from portico.interfaces.http.app import GracefulServer

    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        print("here", flush=True)
        await stubborn()

    async def serve():
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            config = uvicorn.Config(app, lifespan="on", log_config=None)
            await GracefulServer(config, last_call.start).serve(sockets=[listener])
"""
STUBBORN = """
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
"""


ENDS_IN_TIME = """
    try:
        print("here", flush=True)
        threading.Event().wait()
    finally:
        print("tidied up")
"""
HAS_A_STUBBORN_TASK = """
    async def main():
        asyncio.create_task(stubborn(), name="the bus")
        await asyncio.sleep(0)
        print("here", flush=True)
        await asyncio.Event().wait()

    try:
        asyncio.run(main())
    finally:
        print("tidied up")
"""
HAS_A_THREAD_WITHOUT_END = """
    threading.Thread(target=threading.Event().wait, name="a launch").start()
    print("here", flush=True)
    threading.Event().wait()
"""
CANNOT_BE_BROKEN_OFF = """
    last_call = LastCall((1.0, 1.0, 1.0))
    end_orderly(last_call.start)
    while True:
        try:
            print("here", flush=True)
            threading.Event().wait()
        except SystemExit:
            pass
"""


@pytest.mark.parametrize(
    ("programs", "code", "said"),
    [
        ((ENDS_IN_TIME,), 0, [r"\Atidied up\n\Z"]),
        (
            (STUBBORN, HAS_A_STUBBORN_TASK),
            1,
            [r"these do not end: the bus in Event\.wait, line", r"\Atidied up\n"],
        ),
        ((HAS_A_THREAD_WITHOUT_END,), None, ["these do not end: the thread a launch"]),
        (
            (CANNOT_BE_BROKEN_OFF,),
            1,
            ["ended by force; it still waited for: nothing that is known"],
        ),
        (
            (STUBBORN, SERVING, "asyncio.run(serve())"),
            1,
            ["these do not end:", r"Event\.wait, line"],
        ),
    ],
    ids=["ends in time", "a task", "a thread", "cannot be broken off", "a server"],
)
def test_whoever_is_asked_to_end_does_and_says_what_it_waited_for(
    programs: Sequence[str], code: int | None, said: Sequence[str]
) -> None:
    """It is asked as soon as it says that it is here."""
    program = "\n".join(map(textwrap.dedent, (PRELUDE, *programs)))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGTERM)
        try:
            told = "".join(process.communicate(timeout=50))
        finally:
            process.kill()

    assert code in {None, process.returncode}
    assert all(re.search(each, told) for each in said), told
    assert ("by force" in told) == (CANNOT_BE_BROKEN_OFF in programs)


HOLDS = """
import sys, time
from pathlib import Path
from portico.adapters.system.pid_file import PidFile
note = PidFile(Path(sys.argv[1]))
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


def test_a_note_lives_as_long_as_its_process_however_that_ends(file: Path) -> None:
    with holder(file) as process:
        alive = living_note(file)
        taken = PidFile(file).take()
        process.kill()
        process.wait()

    assert alive is not None
    assert (alive["pid"], alive["what"]) == (process.pid, "a test")
    assert not taken
    assert not held(file)
    assert living_note(file) is None
    assert last_note(file) == alive


def test_looking_on_keeps_nobody_from_taking_it(file: Path) -> None:
    with holder(file) as process:
        process.kill()
        process.wait()
        handle = os.open(f"{file}.lock", os.O_RDWR)
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH)  # as `held` does, for a moment
        import threading

        threading.Timer(0.2, lambda: os.close(handle)).start()

        assert PidFile(file).take()


def test_what_was_given_back_can_be_taken(file: Path) -> None:
    note = PidFile(file)
    assert note.take()
    note.give_back()
    note.give_back()

    assert PidFile(file).take()


def test_a_note_of_before_is_nobodys_even_when_its_lock_is_held(file: Path) -> None:
    note = PidFile(file)
    note.write({})
    text = file.with_name("one.json")
    text.write_text(text.read_text().replace('"began": ', '"began": 1'))

    assert note.take()
    assert living_note(file) is None


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
