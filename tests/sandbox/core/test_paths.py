"""Which paths, places and values of strangers are looked at, and what a refusal says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.errors import PorticoError
from portico.sandbox.core.errors import (
    AddressRefused,
    BadPlace,
    BadProfile,
    BoxUnavailable,
    CodeBusy,
    CodeRefused,
    FetchFailed,
    FileTrouble,
    NotPlain,
    PathRefused,
)
from portico.sandbox.core.profile import (
    DEEPEST,
    LONGEST,
    LONGEST_NAME,
    Place,
    names_inside,
    names_of,
    plain,
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
    assert Place.parse(text) == Place(host, port)


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
    with pytest.raises(BadPlace):
        Place.parse(text)


@given(
    st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True)
    | st.ip_addresses().map(str),
    st.integers(1, 65_535),
)
def test_what_is_told_is_read_again(host: str, port: int) -> None:
    place = Place(host, port)

    assert Place.parse(str(place)) == place


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BoxUnavailable("no bwrap", fix="Install it."), "no bwrap"),
        (BadProfile("/x is not there"), "/x is not there"),
        (BadPlace("nonsense"), "nonsense"),
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
