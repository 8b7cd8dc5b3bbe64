"""Sockets of every kind that say who they are to whoever connects, and should not be asked."""

import asyncio
import os
import socket
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from portico.adapters.sandbox.probes.trying import CANARY

_HELLO: Final = f"{CANARY}\n".encode()
_NOBODY: Final = 1
"""A port where nothing listens, for machines without IPv6."""


@dataclass(frozen=True, slots=True)
class Ports:
    tcp: int
    tcp6: int
    udp: int


async def listening(open_ones: AsyncExitStack, *, abstract: str, paths: list[Path]) -> Ports:
    for path in paths:
        await _serve(open_ones, _bound_by_path(path))
    await _serve(open_ones, _bound(socket.AF_UNIX, f"\0{abstract}"))
    udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(_Greeting, ("127.0.0.1", 0))
    open_ones.callback(udp.close)
    tcp = await _serve(open_ones, _bound(socket.AF_INET, ("0.0.0.0", 0)))  # noqa: S104 # a bait
    tcp6 = _NOBODY
    with suppress(OSError):
        tcp6 = await _serve(open_ones, _bound(socket.AF_INET6, ("::1", 0)))
    return Ports(tcp, tcp6, udp.get_extra_info("sockname")[1])


def own_address() -> str:
    """That other machines know this one by; loopback if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect(("198.51.100.1", 443))
        except OSError:
            return "127.0.0.1"
        address: str = looking.getsockname()[0]
        return address


def name_server() -> str:
    with suppress(OSError):
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8")
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["nameserver"] and "." in words[-1]:
                return words[-1]
    return "198.51.100.1"


class _Greeting(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002 # as asyncio names it
        self._transport.sendto(_HELLO, addr)


async def _serve(open_ones: AsyncExitStack, bound: socket.socket) -> int:
    name = bound.getsockname()
    await open_ones.enter_async_context(await asyncio.start_server(_greet, sock=bound))
    return name[1] if isinstance(name, tuple) else _NOBODY


async def _greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.write(_HELLO)
        await writer.drain()
    writer.close()


def _bound(family: int, address: str | tuple[str, int]) -> socket.socket:
    made = socket.socket(family)
    try:
        made.bind(address)
        made.listen(16)
    except OSError:
        made.close()
        raise
    return made


def _bound_by_path(path: Path) -> socket.socket:
    """By way of its folder's descriptor: the path itself may be longer than an address may be."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        bound = _bound(socket.AF_UNIX, f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o777)
    return bound
