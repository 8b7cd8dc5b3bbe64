"""From a name to addresses, and which addresses are this machine's own."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

import psutil

_AT_ONCE: Final = 16
_FRESH: Final = 5.0

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a host, best first. Raises `OSError`."""
Own = Callable[[], Collection[str]]


class SystemNames:
    """As the system answers. In threads of its own: a name server that stalls must not use up those
    that everybody else works in."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="names")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _addresses, host, port)


def _addresses(host: str, port: int) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "it is no name of a host") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(slots=True)
class OwnAddresses:
    """Of every interface, looked at again after a while: they come and go."""

    _found: frozenset[str] = frozenset()
    _until: float = field(default=0.0)

    def __call__(self) -> Collection[str]:
        if (now := monotonic()) >= self._until:
            self._found = frozenset(_of_interfaces())
            self._until = now + _FRESH
        return self._found


def _of_interfaces() -> Sequence[str]:
    families = {socket.AF_INET, socket.AF_INET6}
    return [
        each.address.partition("%")[0]
        for interface in psutil.net_if_addrs().values()
        for each in interface
        if each.family in families
    ]
