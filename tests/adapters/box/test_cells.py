"""A box around a process that somebody else starts, such as a server that is talked to."""

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
from pathlib import Path

import pytest

from portico.adapters.box import scratch
from portico.adapters.box.account import Account
from portico.adapters.box.cell import OpenCell
from portico.adapters.box.cgroup import find_groups
from portico.adapters.mcp import family
from portico.box.core.errors import BoxUnavailable
from portico.box.core.limits import Limits
from portico.box.core.profile import Order
from portico.box.core.report import Backend
from tests.adapters.box.boxes import AnyBox, Made, open_descriptors, python, running, shell, until

pytestmark = pytest.mark.timeout(60)

SERVER = Limits()


def a_word() -> str:
    return uuid.uuid4().hex  # noqa: TID251 # any word will do


async def entering(cell: OpenCell, *, pipe: int | None = None) -> Process:
    return await asyncio.create_subprocess_exec(
        *cell.command,
        env=dict(cell.environment),
        pass_fds=cell.descriptors,
        stdin=pipe,
        stdout=pipe,
        start_new_session=True,
    )


@asynccontextmanager
async def started(box: AnyBox, order: Order) -> AsyncIterator[tuple[OpenCell, Process]]:
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

        family.send(server.pid, family.descendants(server.pid), signal.SIGTERM)
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
    made, go_on, real = threading.Event(), threading.Event(), scratch.make
    folders: list[Path] = []

    def slow(account: Account) -> Path:
        folders.append(real(account))
        made.set()
        go_on.wait(30)
        return folders[-1]

    monkeypatch.setattr(scratch, "make", slow)
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
        with pytest.raises(BoxUnavailable, match="could not be set up"):
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
        from portico.box.core.report import Backend
        from tests.adapters.box.boxes import Made
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
