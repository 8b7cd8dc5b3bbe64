import pytest

from portico.gateway.core.vague_schema import vague
from portico.kernel.json import JsonObject, JsonValue

_TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": {"type": "object"}},
        {"type": "object", "properties": {"result": {"type": "array", "items": {}}}},
        {"type": "object", "additionalProperties": {"type": "object"}},
        {"type": "object", "additionalProperties": True},
        {"anyOf": [{"type": "object"}, {"type": "array"}]},
        None,
    ],
)
def test_a_schema_without_a_single_value_says_nothing(schema: JsonValue) -> None:
    assert vague(schema)


@pytest.mark.parametrize(
    "schema",
    [
        _TEXT,
        {"enum": ["a"]},
        {"const": 1},
        {"$ref": "#/$defs/x"},
        {"type": ["string", "null"]},
        {"type": "array", "items": _TEXT},
        {"type": "object", "properties": {"a": {"type": "object"}, "b": _TEXT}},
        {"type": "object", "additionalProperties": _TEXT},
        {"oneOf": [{"type": "object"}, _TEXT]},
        {"allOf": [_TEXT]},
    ],
)
def test_one_that_describes_a_value_says_what_is_in_it(schema: JsonValue) -> None:
    assert not vague(schema)


def test_what_is_nested_without_end_says_nothing() -> None:
    schema: JsonObject = _TEXT
    for _ in range(8):
        schema = {"type": "array", "items": schema}

    assert vague(schema)
