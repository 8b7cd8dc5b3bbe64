"""Profiles of the sandbox: files, addresses, limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from math import isfinite
from typing import Final, Literal, Self

from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import InvalidNetworkEndpoint, NotPlain, PathRefused


class Network(StrEnum):
    NONE = "none"
    """Nothing but the places that are named."""
    PUBLIC = "public"
    """Any public address over HTTP and HTTPS, and the places that are named; never this machine
    or its neighbours."""


@dataclass(frozen=True, slots=True, order=True)
class NetworkEndpoint:
    """A host and a port that may be reached, although it may be this very machine."""

    host: str
    """A name in small letters, or an address without brackets."""
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `InvalidNetworkEndpoint`."""
        host, colon, port = text.strip().rpartition(":")
        bare = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host
        if not colon or not bare or (":" in bare) is not (bare != host):
            raise InvalidNetworkEndpoint(text)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise InvalidNetworkEndpoint(text)
        if not bare.isascii() or not all(c.isalnum() or c in "-._:" for c in bare):
            raise InvalidNetworkEndpoint(text)
        name = bare.lower().rstrip(".")
        if not name:
            raise InvalidNetworkEndpoint(text)
        return cls(name, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    read: tuple[str, ...] = ()
    """Folders and files that it may read and run, by their whole paths; beside those of the
    system."""
    write: tuple[str, ...] = ()
    """Folders that it may also change."""
    network: Network = Network.NONE
    reach: tuple[NetworkEndpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCommand:
    """Something to be run in a box."""

    program: str
    """By its whole path."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    """All that it finds in its environment, but for what the box itself adds (the proxy)."""
    folder: str | None = None
    """Where it begins, which must be in the profile; None for its home."""
    home: str | None = None
    """A folder outside that it sees as its home and may write; None for one that is empty at
    first and gone afterwards."""
    profile: Profile = field(default_factory=Profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    path: str
    """Relative to the folder."""
    kind: Literal["file", "folder", "other"]
    size: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    content: bytes
    size: int
    """Of the whole file."""
    offset: int = 0


# The names on the way to a file, looked at before any file is: what no system would read as
# written, or would read as a way out, is refused here.

LONGEST: Final = 4000
"""Bytes of a whole path; systems take 4,095, or fewer."""
LONGEST_NAME: Final = 255
DEEPEST: Final = 200


def names_of(path: str) -> tuple[str, ...]:
    """From the folder to what is named, without `.` and doubled slashes; empty for the folder
    itself. Raises `PathRefused`."""
    if reason := _unreadable(path):
        raise PathRefused(path, reason)
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    if ".." in names:
        raise PathRefused(path, "'..' leads upwards")
    if len(names) > DEEPEST:
        raise PathRefused(path, f"it has more than {DEEPEST} parts")
    if any(len(name.encode()) > LONGEST_NAME for name in names):
        raise PathRefused(path, f"a name in it is longer than {LONGEST_NAME} bytes")
    return names


def names_inside(path: str) -> tuple[str, ...]:
    """As `names_of`, of something in the folder. Raises `PathRefused` for the folder itself."""
    names = names_of(path)
    if not names:
        raise PathRefused(path, "it names the folder itself")
    return names


def _unreadable(path: str) -> str | None:
    if path.startswith("/"):
        return "it is absolute"
    if "\0" in path:
        return "it holds a NUL"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it is not UTF-8"
    return f"it is longer than {LONGEST} bytes" if length > LONGEST else None


# Which addresses are public; all others are this machine's, a neighbour's, or a cloud's own.
#
# `ipaddress.is_global` alone does not say: it calls multicast, translated and site-local addresses
# global, and knows nothing of the addresses at which clouds give out credentials.

Address = IPv4Address | IPv6Address

METADATA: Final = "an address at which a cloud gives out credentials"
_PRIVATE: Final = "an address of a private network"
_LINK_LOCAL: Final = "a link-local address"
_DOCUMENTATION: Final = "an address for documentation"
_BENCHMARKING: Final = "an address for benchmarking"
_MULTICAST: Final = "a multicast address"
_RESERVED: Final = "a reserved address"
_SPECIAL: Final = "an address for a special use"

_FOUR: Final[Sequence[tuple[IPv4Network, str]]] = [
    (IPv4Network(network), kind)
    for network, kind in (
        ("169.254.169.254/32", METADATA),  # most of them
        ("169.254.170.2/32", METADATA),
        ("100.100.100.200/32", METADATA),
        ("168.63.129.16/32", METADATA),
        ("192.0.0.192/32", METADATA),
        ("127.0.0.0/8", "a loopback address"),
        ("0.0.0.0/32", "the unspecified address"),
        ("0.0.0.0/8", "an address of no network"),
        ("10.0.0.0/8", _PRIVATE),
        ("172.16.0.0/12", _PRIVATE),
        ("192.168.0.0/16", _PRIVATE),
        ("100.64.0.0/10", "an address inside a provider's network"),
        ("169.254.0.0/16", _LINK_LOCAL),
        ("192.0.0.0/24", _SPECIAL),
        ("192.0.2.0/24", _DOCUMENTATION),
        ("192.31.196.0/24", _SPECIAL),
        ("192.52.193.0/24", _SPECIAL),
        ("192.88.99.0/24", _SPECIAL),
        ("192.175.48.0/24", _SPECIAL),
        ("198.18.0.0/15", _BENCHMARKING),
        ("198.51.100.0/24", _DOCUMENTATION),
        ("203.0.113.0/24", _DOCUMENTATION),
        ("224.0.0.0/4", _MULTICAST),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", _RESERVED),
    )
]

_SIX: Final[Sequence[tuple[IPv6Network, str]]] = [
    (IPv6Network(network), kind)
    for network, kind in (
        ("fd00:ec2::/32", METADATA),
        ("fd20:ce::254/128", METADATA),
        ("::1/128", "a loopback address"),
        ("::/128", "the unspecified address"),
        ("100::/64", "an address that discards"),
        ("2001:2::/48", _BENCHMARKING),
        ("2001:10::/28", "an identifier of a host (ORCHID)"),
        ("2001:20::/28", "an identifier of a host (ORCHID)"),
        ("2001::/23", _SPECIAL),
        ("2001:db8::/32", _DOCUMENTATION),
        ("2620:4f:8000::/48", _SPECIAL),
        ("3ffe::/16", _RESERVED),
        ("3fff::/20", _DOCUMENTATION),
        ("5f00::/16", "an identifier of a segment"),
        ("fc00::/7", _PRIVATE),
        ("fe80::/10", _LINK_LOCAL),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", _MULTICAST),
    )
]

_FORMS: Final[Sequence[tuple[IPv6Network, str, int]]] = [
    (IPv6Network(network), form, shift)
    for network, form, shift in (
        ("::ffff:0:0/96", "mapped", 0),
        ("::ffff:0:0:0/96", "translated", 0),
        ("::/96", "compatible", 0),
        ("64:ff9b::/96", "NAT64", 0),
        ("64:ff9b:1::/48", "local NAT64", 0),
        ("2002::/16", "6to4", 80),
        ("2001::/32", "Teredo", 0),
    )
]
"""IPv4 addresses in the clothes of IPv6, and how far from its end the IPv4 address stands."""

_UNICAST: Final = IPv6Network("2000::/3")
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
_ALL_FOUR: Final = 0xFFFF_FFFF


def why_not_public(address: str | Address) -> str | None:
    """What it is instead, in a few words that follow an "it is"; None if it is public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(parsed, IPv4Address):
        return _kind_of_four(parsed)
    if parsed.scope_id is not None:
        return "an address that names an interface of this machine"
    return _kind_of_six(parsed)


def _kind_of_four(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _FOUR if address in network), None)


def _kind_of_six(address: IPv6Address) -> str | None:
    """Loopback and unspecified stand before the forms, which would hold them."""
    if int(address) > 1 and (dressed := _dressed(address)) is not None:
        form, four = dressed
        return f"the {form} form of {four}, {_kind_of_four(four) or 'which has a form of its own'}"
    known = next((kind for network, kind in _SIX if address in network), None)
    return known or (None if address in _UNICAST else _RESERVED)


def _dressed(address: IPv6Address) -> tuple[str, IPv4Address] | None:
    """The IPv4 address within it, under the name of its form."""
    number = int(address)
    for network, form, shift in _FORMS:
        if address in network:
            inside = number >> shift & _ALL_FOUR
            return form, IPv4Address(inside ^ _ALL_FOUR if form == "Teredo" else inside)
    if number >> 32 & _ALL_FOUR in _ISATAP:
        return "ISATAP", IPv4Address(number & _ALL_FOUR)
    return None


_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float | None = None
    """From its start to its end; None for what runs until it is ended, such as a server."""
    memory: int = 2_000 * _MEGABYTE
    """Bytes, of all its processes together."""
    processes: int = 256
    """At once, threads among them."""
    file_size: int = 1_000 * _MEGABYTE
    """Bytes of one file."""
    open_files: int = 1024
    output: int | None = None
    """Bytes of what it writes, both streams together; None where somebody else counts."""
    scratch: int = 256 * _MEGABYTE
    """Bytes of its own /tmp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 30.0
    """For all of it, redirects included."""
    largest: int = 5_000_000
    """Bytes of the answer, after it was unpacked."""
    redirects: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    status: int
    url: str
    """Where it came from in the end."""
    headers: Mapping[str, str]
    body: bytes


# A stranger's value as JSON, or the reason why it is not told.
#
# Such a value may hold itself, or one list a billion times in few bytes: it is copied part by part,
# counting, and left as soon as it is too much.

MAX_VALUE_DEPTH: Final = 100
_LONGEST_NUMBER: Final = 4300
"""Digits; Python writes no integer of more."""


def plain(value: object, *, most: int) -> JsonValue:
    """A copy of at most `most` bytes of JSON, not counting what its escapes are longer by. Raises
    `NotPlain`."""
    return _Counter(most).copy(value, 0)


class _Counter:
    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def copy(self, value: object, depth: int) -> JsonValue:
        match value:
            case None | bool():
                self._count(5)
                return value
            case int() | float():
                return self._number(value)
            case str():
                return self._text(value)
            case list() | tuple():
                return self._list(value, depth)
            case dict():
                return self._object(value, depth)
            case _:
                raise NotPlain(f"JSON has no {type(value).__name__}")

    def _list(self, value: Iterable[object], depth: int) -> JsonValue:
        self._enter(depth)
        return [self.copy(each, depth + 1) for each in value]

    def _object(self, value: dict[object, object], depth: int) -> JsonValue:
        self._enter(depth)
        return {self._key(key): self.copy(each, depth + 1) for key, each in value.items()}

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise NotPlain(f"a key of an object is text, and not {type(key).__name__}")
        return self._text(key)

    def _text(self, value: str) -> str:
        self._count(len(value) + 3)  # before it is copied
        try:
            self._count(len(value.encode()) - len(value))
        except UnicodeEncodeError:
            raise NotPlain("a text holds half of a surrogate pair") from None
        return value

    def _number(self, value: float) -> JsonValue:
        if isinstance(value, int):
            digits = value.bit_length() * 30103 // 100000 + 1
            if digits > _LONGEST_NUMBER:
                raise NotPlain(f"a number has more than {_LONGEST_NUMBER} digits")
            self._count(digits + 1)
        elif not isfinite(value):
            raise NotPlain(f"JSON has no number {value!r}")
        else:
            self._count(len(repr(value)) + 1)
        return value

    def _enter(self, depth: int) -> None:
        if depth >= MAX_VALUE_DEPTH:
            raise NotPlain(f"it is nested more than {MAX_VALUE_DEPTH} deep")
        self._count(2)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NotPlain(f"it is longer than {self._most} bytes")
