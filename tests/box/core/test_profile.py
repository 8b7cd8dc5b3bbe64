import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.box.core.errors import BadPlace
from portico.box.core.profile import Place


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
