"""What goes wrong with time, made to go wrong."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from portico.adapters.system.checks import CheckPort
from portico.adapters.system.listeners import listener_on
from portico.adapters.system.upkeep_checks import CheckDisk, CheckLeftovers
from portico.engine.core.health import State


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


def test_where_nobody_listens_nobody_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert listener_on(port) is None
