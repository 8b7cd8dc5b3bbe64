"""Something is run in a box of either kind, to its end, to a limit, or as a server is."""

import asyncio
import os
import signal
import sys
import textwrap
import threading
import uuid
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.mcp import processes
from portico.adapters.sandbox import bubblewrap, runner
from portico.adapters.sandbox.cgroup import find_groups
from portico.adapters.sandbox.runner import Account
from portico.adapters.sandbox.sandbox_process import OpenSandboxProcess
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import End
from tests.adapters.sandbox.boxes import (
    ROOM,
    AnyBox,
    Made,
    open_descriptors,
    python,
    running,
    shell,
    until,
)


def a_word() -> str:
    """By which a process is found again."""
    return uuid.uuid4().hex  # noqa: TID251 # any word will do


def asleep(word: str) -> str:
    return f"sh -c 'sleep 600; :' {word}"


@pytest.mark.parametrize(
    ("script", "limits", "told"),
    [
        ("echo out; echo err >&2; exit 7", {}, (End.EXITED, 7, b"out\n", b"err\n")),
        *((f"kill -{each} $$", {}, (End.KILLED, -each, b"", b"")) for each in (9, 11, 15)),
        *((f"exit {each}", {}, (End.EXITED, each, b"", b"")) for each in (137, 139, 143)),
        (
            "printf 12345; printf 67890 >&2",
            {"output": 10},
            (End.EXITED, 0, b"12345", b"67890"),
        ),
        (
            "trap '' TERM INT HUP; while :; do :; done",
            {"seconds": 1},
            (End.TOO_LONG, None, b"", b""),
        ),
        ("(setsid tail -f /dev/null &) ; echo done", {}, (End.EXITED, 0, b"done\n", b"")),
    ],
    ids=[
        *("writes", "KILL", "SEGV", "TERM", "137", "139", "143"),
        *("all it may", "unwilling", "a daemon that holds its output"),
    ],
)
async def test_what_it_writes_and_how_it_ends_come_back(
    made: Made, script: str, limits: dict[str, Any], told: tuple[End, int | None, bytes, bytes]
) -> None:
    outcome = await made.shell(script, replace(ROOM, **limits))

    assert (outcome.end, outcome.code, outcome.output, outcome.errors) == told
    assert outcome.seconds > 0


OPEN = """
import os
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
print([number for number in range(1024) if is_open(number)])
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError:
    print(len(held))
"""
TAKES_MEMORY = "held = []\nwhile True: held.append(bytearray(10_000_000))"
BOMB_OF_MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(60_000_000)
        for place in range(0, len(held), 4096):
            held[place] = 1
        time.sleep(60)
time.sleep(60)
"""
SHARES_MEMORY = """
import mmap, time
held = mmap.mmap(-1, 400_000_000)
for place in range(0, len(held), 4096):
    held[place] = 1
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("script", "limits", "end", "told"),
    [
        (OPEN, {"open_files": 50}, (End.EXITED, 0), b"[0, 1, 2]\n47\n"),
        (TAKES_MEMORY, {"memory": 200_000_000}, (End.EXITED, 1), b"MemoryError"),
        (BOMB_OF_MANY, {"memory": 200_000_000}, (End.TOO_LARGE, None), b""),
        (SHARES_MEMORY, {"memory": 200_000_000}, (End.TOO_LARGE, None), b""),
    ],
    ids=["files", "memory", "memory of many processes", "memory that is shared"],
)
async def test_it_has_no_more_than_it_may(
    made: Made, script: str, limits: dict[str, Any], end: tuple[End, int | None], told: bytes
) -> None:
    outcome = await made.python(script, replace(ROOM, **limits))

    assert (outcome.end, outcome.code) == end
    assert told in outcome.output + outcome.errors


async def test_a_file_cannot_grow_beyond_its_limit(made: Made) -> None:
    script = "head -c 3000000 /dev/zero > big; wc -c < big"

    outcome = await made.shell(script, replace(ROOM, file_size=1_000_000))

    assert outcome.output.strip() == b"1000000"


async def test_it_is_given_its_standard_input_and_need_not_read_it(made: Made) -> None:
    given = os.urandom(300_000)

    outcome = await made.box().run(shell("cat"), ROOM, given=given)
    unread = await made.box().run(shell("exit 3"), ROOM, given=bytes(5_000_000))

    assert outcome.output == given
    assert (unread.end, unread.code) == (End.EXITED, 3)


async def test_its_environment_is_what_was_ordered_and_a_home(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")

    outcome = await made.box().run(
        SandboxCommand(program="/usr/bin/env", environment={"GREETING": "hello=you\n!"}), ROOM
    )

    names = {line.split("=")[0] for line in outcome.output.decode().splitlines() if "=" in line}
    assert b"GREETING=hello=you\n!" in outcome.output
    assert names - {"TMPDIR"} == {"GREETING", "HOME"}


async def test_it_is_ended_when_its_time_is_over(made: Made) -> None:
    word = a_word()

    outcome = await made.shell(f"echo begun; {asleep(word)}", Limits(seconds=1))

    assert outcome.end is End.TOO_LONG
    assert outcome.output == b"begun\n"
    assert running(word) == []


async def test_a_flood_is_cut_off_and_ended(made: Made) -> None:
    outcome = await made.shell("yes & yes >&2", Limits(seconds=30, output=100_000))

    assert outcome.end is End.TOO_LOUD
    assert len(outcome.output) + len(outcome.errors) == 100_000


async def test_a_fork_bomb_is_bounded_and_ends_with_its_box(made: Made) -> None:
    word = a_word()
    script = f"""
import os, sys, time
children = 0
try:
    while True:
        if os.fork() == 0:
            os.execv("/bin/sleep", ["{word}", "600"])  # needs no further process, and so stays
        children += 1
except OSError:
    print(children)
"""
    box = made.box(run_as="daemon")  # who has no other processes that would count as well

    outcome = await box.run(python(script), Limits(seconds=30, processes=40, output=100_000))

    assert outcome.end is End.EXITED
    assert 5 <= int(outcome.output) <= 45
    assert running(word) == []


@pytest.mark.root
async def test_where_the_kernel_counts_a_box_is_as_small_as_it_may_be(made: Made) -> None:
    groups = find_groups()
    assert groups is not None
    box = made.box(groups=groups)
    bomb = "held = []\nwhile True:\n held.append(bytearray(b'1') * 5_000_000)"
    script = f"import os\nfor _ in range(4): os.fork()\n{bomb}"

    crowd = await box.run(python(script), Limits(seconds=30, memory=150_000_000, output=1_000_000))
    forks = "for i in $(seq 100); do sleep 30 & done; wait"
    bounded = await box.run(shell(forks), Limits(seconds=30, processes=40, output=1000))

    assert crowd.end is End.TOO_LARGE
    assert b"Cannot fork" in bounded.errors


async def test_nothing_of_it_is_left_not_even_a_daemon(made: Made) -> None:
    word = a_word()
    script = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
        os.execv("/bin/sh", ["sh", "-c", "sleep 600; :", "{word}"])
    os._exit(0)
os.wait()
print("gone")
"""
    outcome = await made.python(script)

    assert (outcome.end, outcome.output) == (End.EXITED, b"gone\n")
    assert running(word) == []


async def test_being_cancelled_ends_it(made: Made) -> None:
    word = a_word()
    task = asyncio.create_task(made.shell(asleep(word)))
    await until(lambda: len(running(word)) > 0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert running(word) == []


async def test_it_can_be_cancelled_at_any_moment(made: Made) -> None:
    """Each time a little later: in its making, its start, its talk, and when it runs."""
    await made.shell("true")
    before, word = open_descriptors(), a_word()

    for moment in range(24):
        task = asyncio.create_task(made.shell(asleep(word)))
        await asyncio.sleep(moment * 0.004)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running(word) == []

    await until(lambda: open_descriptors() <= before)


async def test_many_run_at_once_and_no_descriptor_is_left_open_here(made: Made) -> None:
    await made.shell("true")
    before = open_descriptors()

    outcomes = await asyncio.gather(*(made.shell(f"exit {number}") for number in range(8)))
    await made.shell("yes", Limits(seconds=30, output=10))
    with pytest.raises(
        SandboxUnavailable, match="/usr/bin/no-such-program could not be started: No"
    ):
        await made.box().run(SandboxCommand(program="/usr/bin/no-such-program"), ROOM)

    assert [outcome.code for outcome in outcomes] == list(range(8))
    await until(lambda: open_descriptors() <= before)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (SandboxCommand(program="sh"), "whole path"),
        (SandboxCommand(program="/bin/sh\0"), "NUL"),
        (SandboxCommand(program="/bin/sh", arguments=("a\0b",)), "NUL"),
        (SandboxCommand(program="/bin/sh", environment={"A": "\0"}), "NUL"),
    ],
)
async def test_what_no_system_call_could_say_is_refused(
    made: Made, order: SandboxCommand, why: str
) -> None:
    with pytest.raises(InvalidProfile, match=why):
        await made.box().run(order, ROOM)


async def test_what_bubblewrap_complains_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (*bubblewrap._ALWAYS, "--ro-bind", "/no/such/folder", "/x")
    monkeypatch.setattr(bubblewrap, "_ALWAYS", wrong)

    with pytest.raises(SandboxUnavailable, match=r"could not be set up: bwrap: .*/no/such/folder"):
        await Made(Backend.BUBBLEWRAP).shell("true")


SERVER = Limits()


async def entering(cell: OpenSandboxProcess, *, pipe: int | None = None) -> Process:
    return await asyncio.create_subprocess_exec(
        *cell.command,
        env=dict(cell.environment),
        pass_fds=cell.descriptors,
        stdin=pipe,
        stdout=pipe,
        start_new_session=True,
    )


@asynccontextmanager
async def started(
    box: AnyBox, order: SandboxCommand
) -> AsyncIterator[tuple[OpenSandboxProcess, Process]]:
    async with box.cell(order, SERVER) as cell:
        process = await entering(cell, pipe=PIPE)
        try:
            await cell.started(process.pid)
            yield cell, process
        finally:
            cell.kill()
            await process.wait()


async def test_its_pipes_go_through_unchanged(made: Made) -> None:
    async with started(made.box(), shell("while read line; do echo got $line; done")) as (
        _,
        server,
    ):
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"one\n")
        first = await server.stdout.readline()
        server.stdin.write(b"two\n")
        second = await server.stdout.readline()
        server.stdin.close()
        code = await server.wait()

    assert (first, second, code) == (b"got one\n", b"got two\n", 0)


async def test_it_can_be_asked_to_end(made: Made) -> None:
    script = "trap 'echo goodbye; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    async with started(made.box(), shell(script)) as (_, server):
        assert server.stdout
        await server.stdout.readline()

        processes.send(server.pid, processes.descendants(server.pid), signal.SIGTERM)
        code = await server.wait()
        said = await server.stdout.read()

    assert (said, code) == (b"goodbye\n", 5)


async def test_a_signal_to_the_group_alone_ends_nothing_without_a_word(made: Made) -> None:
    async with started(made.box(), shell("echo ready; read line; echo heard")) as (_, server):
        assert server.stdin
        assert server.stdout
        await server.stdout.readline()

        os.killpg(server.pid, signal.SIGTERM)
        server.stdin.write(b"\n")

        assert await server.stdout.readline() == b"heard\n"


@pytest.mark.parametrize("whom", ["the server", "its keeper"])
async def test_killing_who_was_started_or_its_keeper_ends_all_inside(made: Made, whom: str) -> None:
    word = a_word()
    script = f"(setsid sh -c 'sleep 600; :' {word} &); echo ready; sleep 600"
    async with started(made.box(), shell(script)) as (cell, server):
        assert server.stdout
        assert cell.keeper
        await server.stdout.readline()
        await until(lambda: len(running(word)) > 0)

        if whom == "the server":
            os.killpg(server.pid, signal.SIGKILL)
        else:
            os.kill(cell.keeper, signal.SIGKILL)
        await server.wait()

        await until(lambda: running(word) == [])


@pytest.mark.root
async def test_where_the_kernel_counts_nothing_is_left_even_without_keepers(made: Made) -> None:
    word = a_word()
    script = f"(setsid sh -c 'sleep 600; :' {word} &); sleep 600"
    async with made.box(groups=find_groups()).cell(shell(script), SERVER) as cell:
        process = await entering(cell)
        await cell.started(process.pid)
        await until(lambda: len(running(word)) > 0)
        assert cell.keeper
        for keeper in (process.pid, cell.keeper):
            with suppress(ProcessLookupError):  # one of them may end with the other
                os.kill(keeper, signal.SIGKILL)
    await process.wait()

    assert running(word) == []


async def test_nothing_is_left_when_it_is_left(made: Made) -> None:
    word = a_word()
    script = f"trap '' TERM HUP; (setsid sh -c 'sleep 600; :' {word} &); echo ready; sleep 600"
    before = open_descriptors()
    async with started(made.box(), shell(script)) as (_, server):
        assert server.stdout
        await server.stdout.readline()
        await until(lambda: len(running(word)) > 0)

    async with made.box().cell(shell("true"), SERVER):
        """It is never used."""

    assert running(word) == []
    await until(lambda: open_descriptors() <= before)


async def test_who_is_cancelled_twice_while_it_is_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, go_on, real = threading.Event(), threading.Event(), runner.make
    folders: list[Path] = []

    def slow(account: Account) -> Path:
        folders.append(real(account))
        made.set()
        go_on.wait(30)
        return folders[-1]

    monkeypatch.setattr(runner, "make", slow)
    before = open_descriptors()
    task = asyncio.create_task(Made(Backend.LANDLOCK).shell("true"))
    await until(made.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [folder for folder in folders if folder.exists()] == []
    await until(lambda: open_descriptors() <= before)


async def test_what_does_not_get_into_its_box_is_told_so(made: Made) -> None:
    async with made.box().cell(shell("true"), SERVER) as cell:
        process = await asyncio.create_subprocess_exec(
            "/bin/false", pass_fds=cell.descriptors, start_new_session=True
        )
        with pytest.raises(SandboxUnavailable, match="could not be set up"):
            await cell.started(process.pid)
        await process.wait()


async def test_who_is_killed_at_the_very_beginning_leaves_nobody(made: Made) -> None:
    for moment in range(12):
        async with made.box().cell(shell("sleep 600"), SERVER) as cell:
            line = os.fstat(cell.rig.numbers[1]).st_ino
            process = await entering(cell)
            await asyncio.sleep(moment * 0.002)
            process.kill()
        await process.wait()

        assert holders(f"socket:[{line}]") == []


def holders(name: str) -> list[str]:
    """Processes that have it open; by the names of their links."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may end meanwhile, or close something
            for each in (process / "fd").iterdir():
                with suppress(OSError):
                    if os.readlink(each) == name:  # noqa: PTH115 # no path, but a name
                        found.append(str(each))
    return found


async def test_a_server_that_grows_too_large_is_ended(made: Made) -> None:
    script = """
import mmap
held = mmap.mmap(-1, 300_000_000)
for place in range(0, len(held), 4096): held[place] = 1
input()
"""
    limits = Limits(memory=100_000_000)
    async with made.box().cell(python(script), limits) as cell:
        process = await entering(cell, pipe=PIPE)
        await cell.started(process.pid)
        await process.wait()

        assert await cell.ran_out()


async def test_nothing_outlives_a_portico_that_is_killed(made: Made) -> None:
    word = a_word()
    program = textwrap.dedent(f"""
        import asyncio
        from portico.sandbox.core.probes import Backend
        from tests.adapters.sandbox.boxes import Made
        script = "(setsid sh -c 'sleep 600; :' {word} &); sleep 600"
        asyncio.run(Made(Backend("{made.backend}")).shell(script))
    """)
    portico = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    try:
        await until(lambda: len(running(word)) > 0)
    finally:
        portico.kill()
        await portico.wait()

    await until(lambda: running(word) == [])
