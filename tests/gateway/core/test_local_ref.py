"""A reference leads somewhere in its own schema, or nowhere."""

import pytest

from portico.gateway.core.local_ref import is_local, target
from portico.kernel.json import JsonObject, JsonValue

ROOT: JsonObject = {
    "$defs": {"a/b": {"type": "string"}, "c~d": 1, "e f": 2, "": 3},
    "allOf": [{"x": 1}, True],
    "title": "text",
}


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("#", ROOT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/c~0d", 1),
        ("#/$defs/e%20f", 2),
        ("#/$defs/", 3),
        ("#/allOf/0/x", 1),
        ("#/allOf/1", True),
        ("#/allOf/2", None),
        ("#/allOf/-1", None),
        ("#/allOf/x", None),
        ("#/nowhere/at/all", None),
        ("#/title/0", None),
    ],
)
def test_a_pointer_is_followed(ref: str, found: JsonValue) -> None:
    assert target(ROOT, ref) == found


@pytest.mark.parametrize(
    ("ref", "local"),
    [
        ("#", True),
        ("#/a", True),
        ("#name", False),
        ("", False),
        ("other.json#/a", False),
        ("https://example.com/", False),
        ("file:///etc/passwd", False),
        (3, False),
        (None, False),
    ],
)
def test_only_what_begins_at_the_root_is_local(ref: JsonValue, local: bool) -> None:
    assert is_local(ref) is local
