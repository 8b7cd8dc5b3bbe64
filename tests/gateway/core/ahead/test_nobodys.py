"""Only what is nobody's is written down as it is."""

from portico.gateway.core.ahead.nobodys import nobodys, own_values, parameters_of
from portico.kernel.json import JsonObject, JsonValue


def test_what_everybody_says_is_nobodys() -> None:
    rows: list[JsonValue] = [
        None,
        True,
        5,
        5.0,
        0.25,
        "**/*.md",
        "SELECT COUNT(*) FROM x WHERE a IS NULL LIMIT 20",
        "-",
        ["a", 1],
        {},
    ]

    for value in rows:
        assert nobodys(value)


def test_what_may_be_somebodys_is_not() -> None:
    rows: list[JsonValue] = [
        101,
        9_999,
        73_512.5,
        48.85837,
        48.85,
        19.99,
        0.12345,
        float("nan"),
        "Ada",
        "alice",
        "bob",
        "hiv",
        "1234",
        "555-1234",
        "55-12",
        "47.11",
        "s3cr3",
        "main",
        "notes.md",
        "١٢",
        "73512",
        "customers",
        "/home/ada",
        "a@b.c",
        "call me at two or so",
        "SELECT name FROM salaries",
        "SELECT * FROM x WHERE a = 'bob'",
        "a" * 300,
        ["Ada"],
        [1, 2, 3, 4, 5],
        {"a": 1},
    ]

    for value in rows:
        assert not nobodys(value)


def test_what_a_tools_own_definition_names_is_its_makers() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "order": {"enum": ["ascending", 3], "default": "descending"},
            "zone": {"anyOf": [{"const": "Europe/Paris"}, {"examples": ["Asia/Tokyo"]}, 7]},
            "name": {"description": "the name", "default": "x" * 300},
            "kind": {"description": "Those here ('local'), or `all-of.them`; it's not 'a b'"},
            "description": {"const": "short"},
        },
    }

    own = own_values(schema)

    enumerated = {"ascending", "descending", "Europe/Paris", "Asia/Tokyo", "short"}
    assert own == enumerated | {"local", "all-of.them"}
    assert nobodys("descending", own)


def test_a_definition_is_not_followed_for_ever() -> None:
    deep: JsonValue = {"const": "bottom"}
    for _ in range(12):
        deep = {"items": deep}

    assert own_values({"items": deep}) == frozenset()


def test_parameters_are_those_that_a_definition_lists() -> None:
    assert parameters_of({"properties": {"path": {}}}) == {"path"}
    assert parameters_of({"properties": ["path"]}) == frozenset()
