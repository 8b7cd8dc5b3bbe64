"""What the machine is asked: disks, ports, units, lists that ship, and the collector."""

import os
import plistlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from portico.adapters.system.audit_heads import AuditHeadsFile
from portico.adapters.system.autostart_units import launchd_agent, switched, systemd_unit
from portico.adapters.system.bind_address import AddressTaken, by_another, listen, listener_on
from portico.adapters.system.checks import CheckDisk, CheckLeftovers, CheckPort
from portico.engine.core.store import State
from portico.guard.core.audit import Head
from portico.kernel.ids import SpaceId
from portico.testing.guard import a_space
from portico.testing.memory_store import TickingClock
from tests.interfaces.cli.scripted_server import ScriptedServer, answering


@pytest.mark.parametrize(
    ("free", "state"),
    [(50_000_000_000, State.GOOD), (1_000_000_000, State.WARNING), (1_000_000, State.BROKEN)],
)
async def test_a_disk_that_fills_up_is_told(free: int, state: State, tmp_path: Path) -> None:
    asked: list[Path] = []

    def left(folder: Path) -> int:
        asked.append(folder)
        return free

    found = await CheckDisk(tmp_path / "not" / "yet", left)(mend=True)

    assert (found.check, found.state) == ("disk", state)
    assert asked == [tmp_path]


async def test_the_disk_itself_is_looked_at(tmp_path: Path) -> None:
    assert "GB free" in (await CheckDisk(tmp_path)(mend=False)).detail


def left_behind(path: Path) -> Path:
    """As by a server that was killed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    return path


@contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield


@pytest.mark.requirement("house:doctor:mends")
async def test_only_what_nobody_answers_on_is_removed(tmp_path: Path) -> None:
    stale, alive = left_behind(tmp_path / "1.sock"), tmp_path / "2.sock"
    with listening(alive):
        told = await CheckLeftovers(tmp_path)(mend=False)
        assert (told.state, stale.exists()) == (State.WARNING, True)

        mended = await CheckLeftovers(tmp_path)(mend=True)

        assert (mended.state, stale.exists(), alive.exists()) == (State.MENDED, False, True)
        assert (await CheckLeftovers(tmp_path)(mend=True)).state is State.GOOD
    assert (await CheckLeftovers(None)(mend=True)).state is State.GOOD


def hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()


async def test_who_has_taken_the_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        Thread(target=hang_up, args=(listener,), daemon=True).start()

        found = await CheckPort("127.0.0.1", port)(mend=False)

        assert found.state is State.BROKEN
        assert f"(process {os.getpid()}) listens on 127.0.0.1:{port}" in found.detail
    assert listener_on(port) is None


@pytest.fixture
def portico() -> Iterator[ScriptedServer]:
    with answering({"GET /healthz": {"status": "alive"}}) as running:
        yield running


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("ours.sock")
        listener.listen()
        yield Path("ours.sock")


def test_whoever_finds_another_installation_on_its_port_is_told_how_to_take_another() -> None:
    error = AddressTaken("127.0.0.1", 3100, by_another=True)

    assert "another installation" in str(error.fix)
    assert "portico serve --port 3101" in str(error.fix)
    assert "portico config set server.port 3101" in str(error.fix)


async def test_the_doctor_tells_its_own_server_from_another_installations(
    portico: ScriptedServer, ours: Path
) -> None:
    port, missing = portico.server_port, Path("missing.sock")

    own = await CheckPort("127.0.0.1", port, ours)(mend=False)
    other = await CheckPort("127.0.0.1", port, missing)(mend=False)

    assert (own.state, own.detail) == (State.GOOD, f"Portico is running on 127.0.0.1:{port}")
    assert other.state is State.BROKEN
    assert "another installation" in other.detail
    assert by_another("127.0.0.1", port, missing)
    assert not by_another("127.0.0.1", port, ours)
    assert not by_another("127.0.0.1", port, None)
    with answering({}) as program:
        assert not by_another("127.0.0.1", program.server_port, missing)


def test_what_is_listened_on_says_that_it_is_tcp() -> None:
    """Else asyncio leaves Nagle's algorithm on, and each answer takes 40 ms."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


ONE, OTHER = a_space("one").id, a_space("other").id


async def test_heads_are_added_to_a_file_of_one_s_own_and_told_further(tmp_path: Path) -> None:
    told: list[tuple[SpaceId, Head]] = []
    file = tmp_path / "state" / "heads.ndjson"
    heads = AuditHeadsFile(file, TickingClock(), lambda *it: told.append(it))
    first, second, third = (Head(number, bytes([number]) * 32) for number in (1, 2, 3))

    await heads.keep(ONE, first)
    await heads.keep(OTHER, second)
    await AuditHeadsFile(file, TickingClock(), lambda *_: None).keep(ONE, third)

    assert await heads.of(ONE) == [first, third]
    assert await heads.of(OTHER) == [second]
    assert told == [(ONE, first), (OTHER, second)]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().count("\n") == 3


async def test_what_is_not_a_whole_line_is_left_out(tmp_path: Path) -> None:
    heads = AuditHeadsFile(tmp_path / "heads", TickingClock(), lambda *_: None)
    assert await heads.of(ONE) == []

    await heads.keep(ONE, Head(1, bytes(32)))
    with (tmp_path / "heads").open("a") as file:
        file.write('{"space": "spc_')

    assert await heads.of(ONE) == [Head(1, bytes(32))]


COMMAND = ["/opt/my portico/bin/python$", "-P", "-m", "portico", "up", "--foreground"]
ODD = {"PORTICO_HOME": '/srv/50% "mine" $HOME\\x'}


def test_a_unit_of_systemd_quotes_what_systemd_would_read_otherwise() -> None:
    unit = systemd_unit(COMMAND, ODD).splitlines()

    assert 'ExecStart="/opt/my portico/bin/python$$" -P -m portico up --foreground' in unit
    assert 'Environment="PORTICO_HOME=/srv/50%% \\"mine\\" $HOME\\\\x"' in unit
    assert "KillMode=mixed" in unit  # else it would end the database before the server
    assert "WantedBy=default.target" in unit
    assert "RestartPreventExitStatus=75" in unit  # it gave up; 1 would be a fault of its own


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_itself_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "portico.service"
    file.write_text(systemd_unit(["/bin/true", "a b"], {"PORTICO_HOME": "/srv/50%"}))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(file)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_an_agent_of_launchd_is_a_property_list_that_says_the_same() -> None:
    told = plistlib.loads(launchd_agent(COMMAND, ODD, Path("/var/log/it")).encode())

    assert told["ProgramArguments"] == COMMAND
    assert told["EnvironmentVariables"] == ODD
    assert told["RunAtLoad"] is True
    assert told["StandardErrorPath"] == "/var/log/it"
    assert "KeepAlive" not in told  # it is kept up by its own supervisor


@pytest.mark.parametrize("answers", [True, False])
def test_where_systemd_answers_it_is_told_and_else_it_is_left_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit {int(not answers)}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert switched("systemctl --user enable portico.service") is answers
    assert not switched("launchctl bootstrap gui/501 x")
    told = ["--user daemon-reload", "--user enable portico.service"] if answers else []
    assert asked.read_text().splitlines() == ["--user show-environment", *told]


PROGRAM = """
import gc
from portico.adapters.system.process import collect_rarely
kept = [[n] for n in range(1000)]
before = gc.get_stats()[2]["collections"]
collect_rarely()
assert gc.get_freeze_count() > 1000
after = gc.get_stats()[2]["collections"]
for _ in range(10):
    page = [{"tool": n} for n in range(50_000)]
print(after - before, gc.get_stats()[2]["collections"] - after, gc.isenabled())
"""


def test_what_is_there_is_looked_through_once_and_pages_cause_no_further_look() -> None:
    command = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (told.returncode, told.stdout.split()) == (0, ["1", "0", "True"]), told.stderr
