"""The gate of all egress: a host is resolved once, every answer judged, and what was judged is
dialled.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Final, Self, TypeVar

import psutil

from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import NetworkEndpoint, why_not_public

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


# The gate: a host is resolved once, every answer judged, and what was judged is dialled.
#
# There is no second lookup, so there is nothing that a name could be bound to anew in between.

PORTS: Final = frozenset({80, 443})
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*"
)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PATIENCE: Final = 10.0
_FIRST: Final = 2.0
"""Seconds for an address that has others behind it."""
_MOST: Final = 8


_T = TypeVar("_T")
Connect = Callable[[str, int], Awaitable[_T]]
"""To an address, which is not a name. Raises `OSError`."""


class Dialer:
    """Reaches what is public at `ports`, and `places`, whatever these are."""

    def __init__(
        self,
        places: Collection[NetworkEndpoint] = (),
        *,
        public: bool = True,
        ports: Collection[int] = PORTS,
        own: Own | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self._places = frozenset((_plain(place.host), place.port) for place in places)
        self._public = public
        self._ports = frozenset(ports)
        self._own = own or OwnAddresses()
        self._resolve = resolve or SystemNames()

    def narrowed(self, places: Collection[NetworkEndpoint], *, public: bool = True) -> Self:
        """Another, by the same names, that reaches these places and none of ours."""
        return type(self)(
            places, public=public, ports=self._ports, own=self._own, resolve=self._resolve
        )

    async def dial(
        self, host: str, port: int, *, seconds: float | None = _PATIENCE
    ) -> socket.socket:
        """A connection. Raises `AddressRefused`, and `OSError` if nobody answers."""
        return await self.through(host, port, _connected, seconds=seconds)

    async def through(
        self, host: str, port: int, connect: Connect[_T], *, seconds: float | None
    ) -> _T:
        """What `connect` makes of the first of its addresses that answers. Raises
        `AddressRefused`, `OSError`."""
        async with asyncio.timeout(seconds) as deadline:
            addresses = await self.judged(host, port)
            *others, last = addresses[:_MOST]
            for address in others:
                with suppress(OSError):
                    async with asyncio.timeout(_share(deadline.when(), len(addresses))):
                        return await connect(address, port)
            return await connect(last, port)

    async def judged(self, host: str, port: int) -> Sequence[str]:
        """The addresses that may be dialled for it; if one of them may not, none may.
        Raises `AddressRefused`, and `OSError` if it has none."""
        asked = NetworkEndpoint(_plain(host), port)
        if (asked.host, port) in self._places:
            return await self._found(asked)
        self._check(asked)
        addresses = await self._found(asked)
        for address in addresses:
            if reason := self._why_not(address):
                # Not which: what a name stands for in here is not for whoever asks.
                leads = "is" if address == asked.host else "leads to"
                raise AddressRefused(str(asked), f"it {leads} {reason}")
        return addresses

    def _check(self, asked: NetworkEndpoint) -> None:
        """What can be said before anybody is asked for its addresses."""
        if not self._public:
            raise AddressRefused(str(asked), "only places that were named are reached")
        if asked.port not in self._ports:
            ports = " and ".join(map(str, sorted(self._ports)))
            raise AddressRefused(str(asked), f"only the ports {ports} are")
        if not _is_literal(asked.host):
            _check_name(asked)

    async def _found(self, asked: NetworkEndpoint) -> Sequence[str]:
        if _is_literal(asked.host):
            return [asked.host]
        found = await self._resolve(asked.host, asked.port)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "it has no address")
        return found

    def _why_not(self, address: str) -> str | None:
        if reason := why_not_public(address):
            return reason
        own = _plain(address) in self._own()
        return "an address of this machine" if own else None


def _check_name(asked: NetworkEndpoint) -> None:
    if not _NAME.fullmatch(asked.host):
        raise AddressRefused(asked.host, "it is no name of a host")
    if _NUMBER.fullmatch(asked.host.rpartition(".")[2]):
        raise AddressRefused(str(asked), "it is a number that is read in more than one way")


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _plain(host: str) -> str:
    """A host as it is compared: an address has many spellings, a name has capitals and a dot."""
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        return host.lower().removesuffix(".")


def _share(deadline: float | None, among: int) -> float:
    """Of the time that is left, for one of several addresses."""
    if deadline is None:
        return _FIRST
    return min(_FIRST, max(0.0, deadline - asyncio.get_running_loop().time()) / among)


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)  # noqa: FBT003 # the name of the method says what it is
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(connection, (address, port))
    except BaseException:
        connection.close()
        raise
    return connection
