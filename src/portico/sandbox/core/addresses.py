"""Which addresses are public; all others are this machine's, a neighbour's, or a cloud's own.

`ipaddress.is_global` alone does not say: it calls multicast, translated and site-local addresses
global, and knows nothing of the addresses at which clouds give out credentials.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

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
