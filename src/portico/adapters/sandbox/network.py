"""The way out of a box: what listens in it for Portico, and how programs are told of it."""

import ipaddress
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.adapters.sandbox.talk import MOST_LISTENERS
from portico.sandbox.core.errors import BadProfile
from portico.sandbox.core.profile import Network, Place, Profile

_LOOPBACK: Final = "127.0.0.1"
_USUAL: Final = 3128
_FIRST_FREE: Final = 1024
"""Ports below are for root."""
_OF_THIS_MACHINE: Final = "localhost"


@dataclass(frozen=True, slots=True)
class Opening:
    host: str
    port: int
    to: Place | None
    """None for the proxy."""


def is_online(profile: Profile) -> bool:
    return profile.network is not Network.NONE or bool(profile.reach)


def openings(profile: Profile, *, low_ports: bool = True) -> tuple[Opening, ...]:
    """The proxy first. Where nothing can listen in there, a place is reached by the proxy alone:
    on an address that is another machine's, and, unless it is root who asks, on a low port. Of
    two names for one address the first is taken. Raises `BadProfile` if they are too many."""
    if not is_online(profile):
        return ()
    hosts = addresses(profile.reach)
    straight: dict[tuple[str, int], Opening] = {}
    for place in profile.reach:
        if place.host in hosts and (low_ports or place.port >= _FIRST_FREE):
            host = hosts[place.host]
            straight.setdefault((host, place.port), Opening(host, place.port, place))
    if len(straight) >= MOST_LISTENERS:
        raise BadProfile(f"it names more than {MOST_LISTENERS - 1} places")
    taken = {port for _, port in straight}
    proxy = next(port for port in range(_USUAL, _USUAL + len(taken) + 1) if port not in taken)
    return (Opening(_LOOPBACK, proxy, None), *straight.values())


def addresses(reach: Sequence[Place]) -> Mapping[str, str]:
    """Where each host is found in there."""
    named = dict.fromkeys(place.host for place in reach)
    known = {host: _address(host) for host in named}
    found = {host: str(each) for host, each in known.items() if each and each.is_loopback}
    taken = set(found.values())
    free = (each for n in itertools.count() if (each := _numbered(n)) not in taken)
    for host in named:
        if host == _OF_THIS_MACHINE:
            found[host] = _LOOPBACK
        elif known[host] is None:
            found[host] = next(free)
    return found


def _numbered(number: int) -> str:
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def hosts_file(reach: Sequence[Place], machine: str) -> str:
    lines = [f"{_LOOPBACK} {_OF_THIS_MACHINE} {machine}"]
    lines += [
        f"{address} {name}"
        for name, address in addresses(reach).items()
        if name != _OF_THIS_MACHINE and _address(name) is None
    ]
    return "\n".join(lines) + "\n"


def told(port: int, *, token: str | None = None, direct: bool = True) -> Mapping[str, str]:
    """The variables by which programs find the proxy; without `direct` for all that they reach."""
    user = "" if token is None else f"portico:{token}@"
    proxy = f"http://{user}{_LOOPBACK}:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    never = f"{_OF_THIS_MACHINE},{_LOOPBACK},::1" if direct else ""
    return {
        **dict.fromkeys([*names, *map(str.lower, names)], proxy),
        "NO_PROXY": never,
        "no_proxy": never,
        "NODE_USE_ENV_PROXY": "1",
    }


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
