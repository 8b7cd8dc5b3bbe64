"""Servers are started in cells, which are left when nothing of them is left."""

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.mcp import processes as family
from portico.adapters.mcp.processes import StderrTail
from portico.adapters.mcp.secrets import Command
from portico.adapters.mcp.stdio import Lodging, Starting, Terms, Watch, start
from portico.adapters.mcp.transport import Duplex
from portico.gateway.core.calls import Phase, UpstreamTarget
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import Plain, ProtocolRevision, Stdio
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, Profile, SandboxCommand
from portico.sandbox.requests import SandboxProcess
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    a_pool,
    children,
    launched,
    said,
    target,
    until,
)
from tests.adapters.sandbox.boxes import PYTHON, Made, running
from tests.children import lives

PLAIN = target(launched("plain"))


@dataclass
class ScriptedCell:
    """Runs the command as it is, in an environment that says so, with one descriptor more."""

    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: Sequence[int]
    spoilt: SandboxUnavailable | None = None
    refused: Sequence[str] = ()
    processes: list[int] = field(default_factory=list)

    async def started(self, process: int) -> None:
        self.processes.append(process)
        if self.spoilt is not None:
            raise self.spoilt


@dataclass
class ScriptedCells:
    refuses: Exception | None = None
    """To be entered."""
    refuses_later: SandboxUnavailable | None = None
    """Once it has begun."""
    not_let_reach: Sequence[str] = ()
    targets: list[UpstreamTarget] = field(default_factory=list)
    cells: list[ScriptedCell] = field(default_factory=list)
    left: list[ScriptedCell] = field(default_factory=list)

    async def cell(
        self, target: UpstreamTarget, command: Command, environment: Mapping[str, str]
    ) -> AbstractAsyncContextManager[SandboxProcess] | None:
        self.targets.append(target)
        return self._room(command, environment)

    @asynccontextmanager
    async def _room(
        self, command: Command, environment: Mapping[str, str]
    ) -> AsyncIterator[SandboxProcess]:
        if self.refuses is not None:
            raise self.refuses
        reading, writing = os.pipe()
        cell = ScriptedCell(
            [command.program, *command.arguments],
            {**environment, "BOXED": "yes"},
            [writing],
            self.refuses_later,
            self.not_let_reach,
        )
        self.cells.append(cell)
        try:
            yield cell
        finally:
            os.close(reading)
            os.close(writing)
            assert not any(lives(process) for process in cell.processes)
            self.left.append(cell)


async def test_a_server_lives_in_a_cell_until_it_is_stopped_dies_or_has_another_profile() -> None:
    cells, tighter = ScriptedCells(), replace(PLAIN, profile=Profile())

    async with a_pool(confine=cells) as pool:
        answer = await pool.call(PLAIN, "environment", {}, timeout=AMPLE)
        first = pool.health(HOME, "server").process
        before = list(cells.left)
        await pool.stop(HOME, "server")
        stopped = list(cells.left)
        second = int(said(await pool.call(PLAIN, "where", {}, timeout=AMPLE)))
        os.kill(second, 9)
        await until(lambda: cells.left == cells.cells)
        third = int(said(await pool.call(PLAIN, "where", {}, timeout=AMPLE)))
        fourth = int(said(await pool.call(tighter, "where", {}, timeout=AMPLE)))
        await until(lambda: not lives(third))
        await until(lambda: cells.left == cells.cells[:3])

    assert '"BOXED": "yes"' in said(answer)
    assert (before, stopped) == ([], cells.cells[:1])
    assert [cell.processes for cell in cells.cells] == [[first], [second], [third], [fourth]]
    assert cells.targets == [PLAIN, PLAIN, PLAIN, tighter]
    assert cells.left == cells.cells


async def test_what_it_was_not_let_reach_is_why_it_did_not_start() -> None:
    cells = ScriptedCells(not_let_reach=["packages.example:443"])
    ending = target(Stdio(sys.executable, (Plain("-S"), Plain("-c"), Plain(""))))

    async with a_pool(confine=cells) as pool:
        with pytest.raises(UpstreamDown) as refused:
            await pool.call(ending, "echo", {}, timeout=AMPLE)

    assert "Portico did not let it reach packages.example:443" in refused.value.reason
    assert refused.value.fix is not None
    assert "portico servers profile server --reach packages.example:443" in refused.value.fix


async def test_the_second_greeting_of_an_old_server_has_a_cell_of_its_own(tmp_path: Path) -> None:
    cells = ScriptedCells()
    starts = tmp_path / "starts"

    async with a_pool(confine=cells) as pool:
        seen = await pool.look(target(launched("old", str(starts))))

        assert seen.protocol_revision is ProtocolRevision.LEGACY
        assert len(cells.cells) == 2
        assert cells.left == cells.cells[:1]


@pytest.mark.parametrize(
    ("refused", "reason", "fix"),
    [
        (
            SandboxUnavailable("no bwrap", fix="Install it."),
            "there is no box for it: no bwrap",
            "Inst",
        ),
        (InvalidProfile("'/x' is not there"), "its profile says: '/x' is not there", "whole paths"),
        (FileNotFoundError(), "there is no program", "Install"),
        (PermissionError(), "may not be run", "executable"),
        (ValueError(), "cannot be run", "Check"),
    ],
)
async def test_a_cell_that_cannot_be_entered_is_said_with_its_fix(
    refused: Exception, reason: str, fix: str
) -> None:
    async with a_pool(confine=ScriptedCells(refuses=refused)) as pool:
        with pytest.raises(UpstreamDown, match=reason) as down:
            await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

        assert fix in (down.value.fix or "")
        assert not down.value.reached
        assert children() == []
        assert pool.running() == 0


async def test_a_server_whose_box_is_refused_is_not_tried_in_a_storm() -> None:
    cells = ScriptedCells(refuses=SandboxUnavailable("no bwrap"))

    async with a_pool(confine=cells) as pool:
        for _ in range(20):
            with pytest.raises(UpstreamDown, match="no bwrap"):
                await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

        assert len(cells.targets) == 2
        assert pool.health(HOME, "server").phase is Phase.RESTING


async def test_what_does_not_get_into_its_box_is_ended() -> None:
    cells = ScriptedCells(refuses_later=SandboxUnavailable("Landlock could not be set up"))

    async with a_pool(confine=cells) as pool:
        with pytest.raises(UpstreamDown, match="Landlock could not be set up"):
            await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

        assert cells.left == cells.cells
        assert children() == []


async def test_a_start_that_is_stopped_leaves_no_cell_behind() -> None:
    cells = ScriptedCells()

    async with a_pool(confine=cells) as pool:
        hung = target(launched("hung", "deaf"))
        with pytest.raises(UpstreamDown, match="still starting"):
            await pool.call(hung, "echo", {}, timeout=timedelta(milliseconds=200))
        await until(lambda: cells.cells and cells.cells[0].processes)
        await pool.stop(HOME, "server")
        await until(lambda: cells.left == cells.cells)

        assert children() == []


async def test_a_cell_runs_its_own_command_and_not_the_servers(tmp_path: Path) -> None:
    class Elsewhere(ScriptedCells):
        async def cell(
            self, target: UpstreamTarget, command: Command, environment: Mapping[str, str]
        ) -> AbstractAsyncContextManager[SandboxProcess] | None:
            plain = launched("plain")
            texts = tuple(each.value for each in plain.arguments if isinstance(each, Plain))
            instead = replace(command, program=plain.command, arguments=texts)
            return await super().cell(target, instead, environment)

    async with a_pool(confine=Elsewhere()) as pool:
        nowhere = target(Stdio("no-such-program-at-all", folder=str(tmp_path / "nowhere")))
        await pool.call(nowhere, "echo", {}, timeout=AMPLE)


STUBBORN = """
import os, signal, sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stderr.write("ready\\n")
sys.stdin.read()
if not os.fork():
    os.setsid()
while True:
    signal.pause()
"""
"""Once its input is at its end it has a child that has left its group, and that nobody knew of
before."""
TERMS = Terms(grace=timedelta(milliseconds=300))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    """Signals to servers and all that came of them."""
    numbers: list[signal.Signals] = []
    send = family.send

    def noted(group: int, others: family.Others, number: signal.Signals) -> None:
        numbers.append(number)
        send(group, others, number)

    monkeypatch.setattr(family, "send", noted)
    return numbers


async def a_server(backend: Backend, word: str, words: StderrTail) -> Duplex:
    """Without a control group: where the kernel counts, it would end everybody in any case."""
    arguments = ("-I", "-S", "-c", STUBBORN, word)
    environment = {"PATH": "/usr/bin:/bin"}
    order = SandboxCommand(
        program=PYTHON, arguments=arguments, environment=environment, profile=Profile()
    )
    room = Made(backend).box(groups=None).cell(order, Limits())
    starting = Starting(
        Command(PYTHON, arguments, environment, None, frozenset()),
        environment,
        Lodging(room, asyncio.create_task),
        Watch(),
    )
    return await start(starting, words, TERMS)


@pytest.mark.parametrize("backend", Backend)
async def test_who_begins_something_at_the_end_leaves_nothing(
    backend: Backend, sent: list[signal.Signals]
) -> None:
    word, words = uuid.uuid4().hex, StderrTail()  # noqa: TID251 # any word will do
    words.mark_restarted()
    server = await a_server(backend, word, words)
    await until(lambda: words.last(str) == "ready")
    before = len(running(word))

    await server.close()

    assert before >= 1
    assert sent == [signal.SIGTERM]
    assert running(word) == []
