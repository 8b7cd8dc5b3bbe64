"""A server that runs and takes nobody yet is waited for, whatever its language."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.store import RemoteStore, until_it_accepts
from portico.engine.core.errors import StoreUnavailable
from tests.servers import free_port

SERVER = """
import socket, sys

refused = b"SFATAL\\0VFATAL\\0C57P03\\0MDas Datenbanksystem startet gerade\\0\\0"
left = int(sys.argv[1])
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            error = b"E" + (len(refused) + 4).to_bytes(4, "big") + refused
            connection.sendall(error if left > 0 else b"R\\0\\0\\0\\x08\\0\\0\\0\\x03")
            print("refused" if left > 0 else "asked for a password", flush=True)
            left -= 1
"""
"""Speaks as PostgreSQL does: refuses so many, and asks whoever comes later for a password. In a
process of its own, since libpq's ping lets nothing else of ours go on."""


@dataclass
class Starting:
    address: str
    process: "subprocess.Popen[str]"

    def said(self) -> list[str]:
        self.process.terminate()
        assert self.process.stdout is not None
        return self.process.stdout.read().splitlines()


@contextmanager
def starting(refuses: int) -> Iterator[Starting]:
    command = [sys.executable, "-S", "-c", SERVER, str(refuses)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        address = f"postgresql://app:x@127.0.0.1:{port}/portico?sslmode=disable&gssencmode=disable"
        try:
            yield Starting(address, process)
        finally:
            process.terminate()


@pytest.mark.parametrize("refuses", [0, 3])
async def test_it_is_waited_for_until_it_accepts(
    refuses: int, caplog: pytest.LogCaptureFixture
) -> None:
    with starting(refuses) as server:
        await until_it_accepts(server.address, pause=0)
        said = server.said()

    assert said == ["refused"] * refuses + ["asked for a password"]
    assert ["waiting" in each for each in caplog.messages] == ([True, False] if refuses else [])


async def test_it_is_not_waited_for_for_ever() -> None:
    with starting(1_000) as server, pytest.raises(StoreUnavailable, match="not accepted"):
        await until_it_accepts(server.address, patience=0, pause=0)


async def test_where_none_answers_there_is_nothing_to_wait_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await until_it_accepts(f"postgresql://app:x@127.0.0.1:{free_port()}/portico")

    assert caplog.messages == []


async def test_one_of_somebody_elses_is_waited_for_when_a_command_needs_it() -> None:
    with starting(1) as server:
        addresses = Addresses(app=server.address, owner=None, engine=server.address, admin=None)
        await RemoteStore(addresses).start(create=False)
        said = server.said()

    assert said == ["refused", "asked for a password"]
