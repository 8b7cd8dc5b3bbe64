"""Schemas as lists of parameters and of fields, names as words, and types beside one another."""

import jmespath
import pytest

from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.dataflow_fields import (
    Kinship,
    OutputField,
    Parameter,
    fields_of,
    kinship,
    parameters_of,
    share,
    spelled,
    type_of,
    words,
)


def paths(schema: JsonValue) -> list[tuple[str, str | None]]:
    return [(each.path, each.type) for each in fields_of(schema)]


def test_what_is_inside_objects_and_lists_has_a_path() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "total": {"type": "integer", "description": "How many"},
            "boats": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": {"type": "string"}}},
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "grid": {"items": {"items": {"type": "number"}}},
            "owner": {"properties": {"name": {"type": ["string", "null"]}}},
        },
    }

    assert paths(schema) == [
        ("json.total", "integer"),
        ("json.boats", "array"),
        ("json.tags", "array"),
        ("json.grid", None),
        ("json.owner", "object"),
        ("json.boats[0].id", "string"),
        ("json.tags[0]", "string"),
        ("json.grid[0]", None),
        ("json.owner.name", "string"),
        ("json.grid[0][0]", "number"),
    ]
    assert fields_of(schema)[0].description == "How many"


def test_a_list_at_the_top_is_entered() -> None:
    schema: JsonObject = {"type": "array", "items": {"properties": {"id": {}}}}

    assert paths(schema) == [("json[0].id", None)]


def test_a_name_that_is_no_plain_word_is_quoted_as_jmespath_reads_it() -> None:
    names = ["a-b", "1st", 'say "so"', "back\\slash", "ünlaut", "plain_1"]
    schema: JsonObject = {"properties": {name: {"type": "string"} for name in names}}

    found = fields_of(schema)

    assert [
        jmespath.search(each.path, {"json": {name: name for name in names}}) for each in found
    ] == names


def test_a_reference_inside_the_schema_is_followed() -> None:
    schema: JsonObject = {
        "properties": {
            "boat": {"$ref": "#/$defs/boat", "description": "Ours"},
            "other": {"anyOf": [{"$ref": "#/$defs/boat"}, {"type": "null"}]},
            "lost": {"$ref": "#/$defs/nowhere"},
            "far": {"$ref": "https://example.org/schema"},
        },
        "$defs": {"boat": {"type": "object", "properties": {"id": {"type": "string"}}}},
    }

    assert paths(schema) == [
        ("json.boat", "object"),
        ("json.other", "object"),
        ("json.lost", None),
        ("json.far", None),
        ("json.boat.id", "string"),
        ("json.other.id", "string"),
    ]
    assert fields_of(schema)[0].description == "Ours"


def test_what_can_be_one_thing_or_absent_is_that_thing() -> None:
    schema: JsonObject = {
        "properties": {
            "one": {"oneOf": [{"type": "number"}, {"type": "null"}]},
            "two": {"anyOf": [{"type": "number"}, {"type": "string"}]},
            "odd": {"anyOf": "what"},
        }
    }

    assert paths(schema) == [("json.one", "number"), ("json.two", None), ("json.odd", None)]


def test_a_schema_that_holds_itself_ends() -> None:
    loop: JsonObject = {"properties": {"next": {"$ref": "#"}, "id": {}}, "items": {"$ref": "#"}}

    assert len(fields_of(loop)) <= 200
    assert fields_of({"items": {"$ref": "#"}})[0].path == "json[0]"


def test_there_are_at_most_two_hundred_of_each() -> None:
    wide: JsonObject = {"properties": {f"p{each}": {} for each in range(500)}}

    assert len(fields_of(wide)) == len(parameters_of(wide)) == 200


def test_what_says_nothing_gives_nothing() -> None:
    rows: list[JsonValue] = [None, True, [], "text", {"properties": 5}, {"properties": {}}]

    for schema in rows:
        assert fields_of(schema) == []
        assert parameters_of(schema) == []


def test_parameters_are_read_with_what_is_said_about_them() -> None:
    schema: JsonObject = {
        "required": ["day", 5],
        "properties": {
            "day": {"type": "string", "description": "Which day"},
            "deck": {"enum": ["upper", "lower"]},
            "kind": {"const": "boat"},
            "return": {"type": "boolean", "default": False},
            "odd": {"description": 7},
            "any": True,
        },
    }

    assert parameters_of(schema) == [
        Parameter(name="day", type="string", description="Which day", required=True),
        Parameter(name="deck", choice=True),
        Parameter(name="kind", choice=True),
        Parameter(name="return", type="boolean", choice=True, default=True),
        Parameter(name="odd"),
        Parameter(name="any"),
    ]
    assert not parameters_of({"required": "day", "properties": {"day": {}}})[0].required


def test_several_types_are_none() -> None:
    assert type_of({"type": ["string", "number"]}) is None
    assert type_of({"type": 5}) is None


def test_a_field_is_named_after_its_own_keys() -> None:
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("json.owner.id", ("owner", "id")),
        ("items[].json.id", ("id",)),
        ("json.items[0].id", ("id",)),
        ('json."a-b"', ("a-b",)),
        ("text", ("text",)),
        ("json[0]", ("json",)),
        ("", ()),
    ]

    for path, keys in rows:
        assert OutputField(path=path).keys == keys
        assert OutputField(path=path).name == (keys[-1] if keys else "")


def test_a_name_is_its_words_in_the_singular() -> None:
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("originSkyIds", ("origin", "sky", "id")),
        ("HTTPServer_names", ("http", "server", "name")),
        ("cities", ("city",)),
        ("status", ("status",)),
        ("address", ("address",)),
        ("bus", ("bus",)),
        ("ties", ("tie",)),
        ("", ()),
    ]

    for name, found in rows:
        assert words(name) == found


def test_spellings_of_one_name_are_the_same() -> None:
    assert spelled("userId") == spelled("user_id") == spelled("USER-ID") == "userid"


def test_words_in_common_are_a_share_of_all() -> None:
    assert share(frozenset({"user", "id"}), frozenset({"id"})) == 0.5
    assert share(frozenset({"user"}), frozenset({"id"})) == 0
    assert share(frozenset(), frozenset()) == 0


@pytest.mark.parametrize(
    ("given", "wanted", "found"),
    [
        ("string", "string", Kinship.SAME),
        ("integer", "number", Kinship.SAME),
        (None, "string", Kinship.UNKNOWN),
        ("object", None, Kinship.UNKNOWN),
        ("number", "string", Kinship.NEAR),
        ("array", "string", Kinship.NEAR),
        ("string", "array", Kinship.NEAR),
        ("object", "string", Kinship.APART),
    ],
)
def test_types_are_akin_or_apart(given: str | None, wanted: str | None, found: Kinship) -> None:
    assert kinship(given, wanted) is found
