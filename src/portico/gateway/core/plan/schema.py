"""The JSON Schema of a plan, for editors and models: made from what plans are read by."""

from collections.abc import Mapping
from typing import Final

from portico.gateway.core.plan.fields import (
    FALLBACK,
    FOR_EACH,
    FROM,
    JSON,
    LITERAL,
    NEEDED,
    PLAN,
    STEP,
    TEXT,
)
from portico.kernel.json import JsonObject, JsonValue

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def plan_schema() -> JsonObject:
    return {
        "$schema": DIALECT,
        "title": "A plan of Portico: many calls of tools in one",
        **_object(PLAN),
        "$defs": {
            "step": _object(STEP),
            "forEach": _object(FOR_EACH),
            "onError": {"anyOf": [{"enum": ["stop", "skip"]}, _object(FALLBACK)]},
            "given": _given(),
        },
    }


def _object(fields: Mapping[str, JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": [name for name in fields if name in NEEDED],
        "additionalProperties": False,
    }


def _given() -> JsonObject:
    plain: list[JsonValue] = ["string", "number", "boolean", "null"]
    given: JsonObject = {"$ref": "#/$defs/given"}
    return {
        "anyOf": [
            {"type": plain},
            {"type": "array", "items": given},
            *(_object(form) for form in (FROM, TEXT, LITERAL, JSON)),
            {
                "type": "object",
                "propertyNames": {"pattern": r"^([^$]|$)"},
                "additionalProperties": given,
            },
        ]
    }
