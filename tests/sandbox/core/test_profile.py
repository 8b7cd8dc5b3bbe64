"""Profiles of the sandbox: files, addresses, limits."""

import json
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.errors import PorticoError
from portico.sandbox.core.errors import (
    AddressRefused,
    CodeBusy,
    CodeRefused,
    FetchFailed,
    FileTrouble,
    InvalidNetworkEndpoint,
    InvalidProfile,
    NotPlain,
    PathRefused,
    SandboxUnavailable,
)
from portico.sandbox.core.profile import (
    DEEPEST,
    LONGEST,
    LONGEST_NAME,
    NetworkEndpoint,
    names_inside,
    names_of,
    plain,
    why_not_public,
)
from portico.sandbox.core.profile import MAX_VALUE_DEPTH as DEEPEST_VALUE


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.txt", ("a.txt",)),
        ("a/b/c.txt", ("a", "b", "c.txt")),
        ("./a//b/./c/", ("a", "b", "c")),
        ("...", ("...",)),
        ("..a/a..", ("..a", "a..")),
        ("é/ü.txt", ("é", "ü.txt")),
        ("a" * LONGEST_NAME, ("a" * LONGEST_NAME,)),
        ("/".join("a" * DEEPEST), ("a",) * DEEPEST),
        ("\\..\\a", ("\\..\\a",)),
    ],
)
def test_a_path_is_the_names_on_the_way(path: str, names: tuple[str, ...]) -> None:
    assert names_of(path) == names_inside(path) == names


@pytest.mark.parametrize("path", ["", ".", "./", ".//."])
def test_the_folder_itself_is_no_name_inside_it(path: str) -> None:
    assert names_of(path) == ()
    with pytest.raises(PathRefused, match="the folder itself"):
        names_inside(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "absolute"),
        ("//etc/passwd", "absolute"),
        ("..", "upwards"),
        ("../workspace-secrets/key", "upwards"),
        ("a/../b", "upwards"),
        ("a/..", "upwards"),
        ("a.txt\0.png", "NUL"),
        ("\0", "NUL"),
        ("a\udcff", "UTF-8"),
        ("a" * (LONGEST_NAME + 1), "longer than 255"),
        ("é" * 128, "longer than 255"),
        ("a/" * (LONGEST // 2) + "a", "longer than 4000"),
        ("/".join("a" * (DEEPEST + 1)), "more than 200"),
    ],
)
def test_what_cannot_be_a_way_inside_is_refused_with_a_reason(path: str, reason: str) -> None:
    with pytest.raises(PathRefused, match=reason) as refused:
        names_of(path)

    assert refused.value.path == path


ENOUGH = 1_000_000

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_json_can_say_is_told_as_it_is(value: Any) -> None:
    assert plain(value, most=ENOUGH) == value


@given(JSON, st.integers(min_value=0, max_value=60))
def test_what_is_told_is_not_longer_than_it_may_be(value: Any, most: int) -> None:
    try:
        told = plain(value, most=most)
    except NotPlain:
        return

    escaped_at_worst = 6
    length = len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())
    assert length <= most * escaped_at_worst


@given(JSON)
def test_what_fits_is_told(value: Any) -> None:
    length = len(json.dumps(value, separators=(", ", ": ")).encode())

    assert plain(value, most=3 * length + 10) == value


def test_a_tuple_is_told_as_a_list_and_as_deep_as_may_be() -> None:
    assert plain((1, ("a", None)), most=ENOUGH) == [1, ["a", None]]
    assert plain(nested(DEEPEST_VALUE), most=ENOUGH) == nested(DEEPEST_VALUE)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def shared(times: int) -> object:
    value: object = "x"
    for _ in range(times):
        value = [value, value]
    return value


def circle() -> object:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"bytes", "no bytes"),
        ({1, 2}, "no set"),
        (..., "no ellipsis"),
        (object(), "no object"),
        ({1: 2}, "key of an object"),
        ({None: 2}, "key of an object"),
        (float("nan"), "no number nan"),
        (float("-inf"), "no number -inf"),
        (10**4400, "digits"),
        ("\ud800", "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        ([1, [b"x"]], "no bytes"),
        (nested(DEEPEST_VALUE + 1), "deep"),
        (nested(100_000), "deep"),
        (circle(), "deep"),
        (shared(60), "longer than"),
        ("a" * (ENOUGH + 1), "longer than"),
        ("é" * (ENOUGH // 2 + 1), "longer than"),
        (["a"] * ENOUGH, "longer than"),
    ],
    ids=lambda _: "",
)
def test_what_json_cannot_say_or_not_in_so_few_words_is_refused(value: object, reason: str) -> None:
    with pytest.raises(NotPlain, match=reason):
        plain(value, most=ENOUGH)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:11434", "127.0.0.1", 11434),
        ("localhost:5432", "localhost", 5432),
        (" API.Example.com.:443 ", "api.example.com", 443),
        ("[::1]:8080", "::1", 8080),
    ],
)
def test_a_place_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    assert NetworkEndpoint.parse(text) == NetworkEndpoint(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        ":80",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:\uff18\uff10",
        "localhost:http",
        "::1:80",
        "[localhost]:80",
        "a b:80",
        "user@host:80",
        "host/path:80",
        "exämple.com:80",
        "*.example.com:80",
        "[]:80",
        ".:80",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(InvalidNetworkEndpoint):
        NetworkEndpoint.parse(text)


@given(
    st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True)
    | st.ip_addresses().map(str),
    st.integers(1, 65_535),
)
def test_what_is_told_is_read_again(host: str, port: int) -> None:
    place = NetworkEndpoint(host, port)

    assert NetworkEndpoint.parse(str(place)) == place


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SandboxUnavailable("no bwrap", fix="Install it."), "no bwrap"),
        (InvalidProfile("/x is not there"), "/x is not there"),
        (InvalidNetworkEndpoint("nonsense"), "nonsense"),
        (PathRefused("../x", "it leads out"), "it leads out"),
        (FileTrouble("x", "there is none"), "there is none"),
        (AddressRefused("10.0.0.1:80", "it is private"), "10.0.0.1:80"),
        (FetchFailed("example.com:443", "it took too long"), "it took too long"),
        (CodeRefused("it cannot be read"), "it cannot be read"),
        (CodeBusy("200 wait"), "200 wait"),
    ],
)
def test_a_refusal_says_what_was_refused_and_why(error: PorticoError, words: str) -> None:
    assert words in str(error)
    assert str(error).endswith(".")


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


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(
    address: IPv4Address | IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert why_not_public(address) is not None


@given(st.ip_addresses(v=4), st.sampled_from(EMBEDDING))
def test_no_form_of_an_ipv4_address_is_public(four: IPv4Address, network: str) -> None:
    assert why_not_public(IPv6Address(int(ip_network(network)[0]) | int(four))) is not None


@given(st.ip_addresses(v=4), st.integers(0, 2**80 - 1))
def test_no_address_of_6to4_is_public(four: IPv4Address, rest: int) -> None:
    assert why_not_public(IPv6Address(0x2002 << 112 | int(four) << 80 | rest)) is not None


@given(st.ip_addresses(v=6))
def test_a_spelling_changes_nothing(address: IPv6Address) -> None:
    expected = why_not_public(address)

    assert {why_not_public(address.exploded), why_not_public(str(address).upper())} == {expected}
