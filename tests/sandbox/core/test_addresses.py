"""Which addresses are public, by name and by law."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.sandbox.core.profile import why_not_public

KINDS = [
    ("127.0.0.1", "a loopback address"),
    ("127.255.255.254", "a loopback address"),
    ("0.0.0.0", "the unspecified address"),
    ("0.1.2.3", "an address of no network"),
    ("10.0.0.1", "an address of a private network"),
    ("172.16.0.1", "an address of a private network"),
    ("172.31.255.255", "an address of a private network"),
    ("192.168.1.1", "an address of a private network"),
    ("100.64.0.1", "an address inside a provider's network"),
    ("169.254.1.1", "a link-local address"),
    ("169.254.169.254", "an address at which a cloud gives out credentials"),
    ("169.254.170.2", "an address at which a cloud gives out credentials"),
    ("100.100.100.200", "an address at which a cloud gives out credentials"),
    ("168.63.129.16", "an address at which a cloud gives out credentials"),
    ("192.0.0.192", "an address at which a cloud gives out credentials"),
    ("fd00:ec2::254", "an address at which a cloud gives out credentials"),
    ("fd20:ce::254", "an address at which a cloud gives out credentials"),
    ("192.0.0.8", "an address for a special use"),
    ("192.88.99.1", "an address for a special use"),
    ("192.0.2.1", "an address for documentation"),
    ("198.51.100.7", "an address for documentation"),
    ("203.0.113.7", "an address for documentation"),
    ("198.18.0.1", "an address for benchmarking"),
    ("198.19.255.255", "an address for benchmarking"),
    ("224.0.0.1", "a multicast address"),
    ("239.255.255.250", "a multicast address"),
    ("240.0.0.1", "a reserved address"),
    ("255.255.255.255", "the broadcast address"),
    ("::1", "a loopback address"),
    ("::", "the unspecified address"),
    ("100::1", "an address that discards"),
    ("2001:2::1", "an address for benchmarking"),
    ("2001:10::1", "an identifier of a host (ORCHID)"),
    ("2001:2f::1", "an identifier of a host (ORCHID)"),
    ("2001:1::1", "an address for a special use"),
    ("2001:db8::1", "an address for documentation"),
    ("3fff::1", "an address for documentation"),
    ("2620:4f:8000::1", "an address for a special use"),
    ("3ffe::1", "a reserved address"),
    ("5f00::1", "an identifier of a segment"),
    ("fc00::1", "an address of a private network"),
    ("fd12:3456::1", "an address of a private network"),
    ("fe80::1", "a link-local address"),
    ("fec0::1", "a site-local address"),
    ("ff02::1", "a multicast address"),
    ("4000::1", "a reserved address"),
    ("200::1", "a reserved address"),
    ("fe80::1%eth0", "an address that names an interface of this machine"),
    ("2606:4700::1%lo", "an address that names an interface of this machine"),
    ("::ffff:127.0.0.1", "the mapped form of 127.0.0.1, a loopback address"),
    ("::ffff:8.8.8.8", "the mapped form of 8.8.8.8, which has a form of its own"),
    ("::ffff:0:10.0.0.1", "the translated form of 10.0.0.1, an address of a private network"),
    ("::127.0.0.1", "the compatible form of 127.0.0.1, a loopback address"),
    ("::2", "the compatible form of 0.0.0.2, an address of no network"),
    ("64:ff9b::7f00:1", "the NAT64 form of 127.0.0.1, a loopback address"),
    ("64:ff9b:1::7f00:1", "the local NAT64 form of 127.0.0.1, a loopback address"),
    ("2002:7f00:1::", "the 6to4 form of 127.0.0.1, a loopback address"),
    ("2002:808:808::1", "the 6to4 form of 8.8.8.8, which has a form of its own"),
    ("2001:0:0:0:0:0:80ff:fffe", "the Teredo form of 127.0.0.1, a loopback address"),
    ("2a00::5efe:127.0.0.1", "the ISATAP form of 127.0.0.1, a loopback address"),
    ("2a00::200:5efe:a00:1", "the ISATAP form of 10.0.0.1, an address of a private network"),
    ("", "no address"),
    ("localhost", "no address"),
    ("127.1", "no address"),
    ("0177.0.0.1", "no address"),
    ("\uff11\uff12\uff17.0.0.1", "no address"),
    ("1.1.1.1/32", "no address"),
]

PUBLIC = [
    *(
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "172.32.0.1",
        "100.128.0.1",
        "11.0.0.1",
        "9.255.255.1",
    ),
    *("192.167.255.255", "198.17.255.255", "198.20.0.1", "223.255.255.255", "169.253.1.1"),
    *("2606:4700:4700::1111", "2a00:1450:4001::200e", "2001:4860:4860::8888", "2001:200::1"),
    *("2a00::5eff:127.0.0.1", "3f00::1"),
]

EMBEDDING = [
    *("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/96"),
    *("2001:0:4136:e378::/96", "2a00:1450::5efe:0:0/96", "2a00:1450::200:5efe:0:0/96"),
]


@pytest.mark.parametrize(("address", "kind"), KINDS)
def test_what_is_not_public_is_named(address: str, kind: str) -> None:
    assert why_not_public(address) == kind


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_nothing_else(address: str) -> None:
    assert why_not_public(address) is None
    assert why_not_public(ip_address(address)) is None


@given(some.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(
    address: IPv4Address | IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert why_not_public(address) is not None


@given(some.ip_addresses(v=4), some.sampled_from(EMBEDDING))
def test_no_form_of_an_ipv4_address_is_public(four: IPv4Address, network: str) -> None:
    assert why_not_public(IPv6Address(int(ip_network(network)[0]) | int(four))) is not None


@given(some.ip_addresses(v=4), some.integers(0, 2**80 - 1))
def test_no_address_of_6to4_is_public(four: IPv4Address, rest: int) -> None:
    assert why_not_public(IPv6Address(0x2002 << 112 | int(four) << 80 | rest)) is not None


@given(some.ip_addresses(v=6))
def test_a_spelling_changes_nothing(address: IPv6Address) -> None:
    expected = why_not_public(address)

    assert {why_not_public(address.exploded), why_not_public(str(address).upper())} == {expected}
