"""Whose server it is that has the port already."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.adapters.system.checks import CheckPort
from portico.adapters.system.listening import AddressTaken, by_another, listen
from portico.engine.core.health import State
from tests.faces.cli.scripted_server import ScriptedServer, answering


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


def test_a_portico_that_does_not_answer_in_private_is_another_installations(
    portico: ScriptedServer, ours: Path
) -> None:
    port = portico.server_port

    assert by_another("127.0.0.1", port, Path("missing.sock"))
    assert not by_another("127.0.0.1", port, ours)
    assert not by_another("127.0.0.1", port, None)


def test_another_program_is_no_portico() -> None:
    with answering({}) as program:
        assert not by_another("127.0.0.1", program.server_port, Path("missing.sock"))


def test_whoever_finds_another_installation_on_its_port_is_told_how_to_take_another() -> None:
    error = AddressTaken("127.0.0.1", 3100, by_another=True)

    assert "another installation" in str(error.fix)
    assert "portico serve --port 3101" in str(error.fix)
    assert "portico config set server.port 3101" in str(error.fix)


async def test_the_doctor_tells_its_own_server_from_another_installations(
    portico: ScriptedServer, ours: Path
) -> None:
    port = portico.server_port

    own = await CheckPort("127.0.0.1", port, ours)(mend=False)
    other = await CheckPort("127.0.0.1", port, Path("missing.sock"))(mend=False)

    assert (own.state, own.detail) == (State.GOOD, f"Portico is running on 127.0.0.1:{port}")
    assert other.state is State.BROKEN
    assert "another installation" in other.detail


def test_what_is_listened_on_says_that_it_is_tcp() -> None:
    """Else asyncio leaves Nagle's algorithm on, and each answer takes 40 ms."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
