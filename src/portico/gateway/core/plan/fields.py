"""What a plan may hold, field by field: what reads one and what describes one both go by this."""

from collections.abc import Mapping
from typing import Final

from portico.gateway.core.plan.references import ID
from portico.kernel.json import JsonObject

MOST_STEPS: Final = 2_000
MOST_REFERENCES: Final = 10_000
MOST_FALLBACKS: Final = 8
"""That stand in for one another."""
MOST_ITEMS: Final = 1_000
MOST_AT_ONCE: Final = 64
MOST_TRIES: Final = 10
LONGEST_EXPRESSION: Final = 1_000
LONGEST_TIMEOUT: Final = 86_400
DEEPEST: Final = 32
"""Levels of values inside values, of what is written in an argument."""

ID_FIELD: Final[JsonObject] = {"type": "string", "pattern": f"^{ID}$"}
_GIVEN: Final[JsonObject] = {"$ref": "#/$defs/given"}

PLAN: Final[Mapping[str, JsonObject]] = {
    "$schema": {"type": "string", "description": "For editors; Portico does not look at it."},
    "name": {**ID_FIELD, "description": "What it is called, once it is saved."},
    "description": {
        "type": "string",
        "maxLength": 2_000,
        "description": "What it does, for whoever chooses it.",
    },
    "inputs": {
        "type": "object",
        "description": "Its parameters: JSON Schema of each by name.",
        "propertyNames": {"pattern": f"^{ID}$"},
        "additionalProperties": {"type": "object"},
    },
    "required": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The inputs that must be given.",
    },
    "steps": {
        "type": "array",
        "items": {"$ref": "#/$defs/step"},
        "minItems": 1,
        "maxItems": MOST_STEPS,
        "description": "Each begins as soon as what it needs is there; their order says nothing.",
    },
    "output": {
        **_GIVEN,
        "description": "What the plan gives in the end; without it, what its last steps gave.",
    },
}
STEP: Final[Mapping[str, JsonObject]] = {
    "id": {**ID_FIELD, "description": "By this the other steps know it."},
    "tool": {
        "type": "string",
        "pattern": r"^[^.]+\..+$",
        "maxLength": 300,
        "description": "server.tool",
    },
    "arguments": {
        "type": "object",
        "description": 'What the tool is given. {"$from": "read.json.path"} takes what an earlier '
        'step gave, {"$text": "Dear ${who.json.name}"} puts it into a text.',
        "additionalProperties": _GIVEN,
    },
    "after": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Steps that must be over first, however they ended.",
    },
    "when": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_EXPRESSION,
        "description": "JMESPath over earlier steps by their ids; the step is left out unless it "
        "holds: read.json.count > `3`",
    },
    "for_each": {
        "$ref": "#/$defs/forEach",
        "description": "Once for each item of a list, with `item` and `index` at hand.",
    },
    "on_error": {
        "$ref": "#/$defs/onError",
        "description": "stop (as it is without this), skip, or another step that stands in.",
    },
    "timeout": {
        "type": "number",
        "minimum": 0.001,
        "maximum": LONGEST_TIMEOUT,
        "description": "Seconds, of one try.",
    },
    "tries": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_TRIES,
        "description": "For a tool that only reads; whatever may change something is tried once.",
    },
}
FOR_EACH: Final[Mapping[str, JsonObject]] = {
    "in": {**_GIVEN, "description": "The list."},
    "at_once": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_AT_ONCE,
        "description": "How many at a time; 8 without this.",
    },
    "most": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ITEMS,
        "description": "More items than this are a failure; 100 without this.",
    },
}
FALLBACK: Final[Mapping[str, JsonObject]] = {
    "fallback": {"type": "string", "description": "The id of the step that stands in."}
}
FROM: Final[Mapping[str, JsonObject]] = {
    "$from": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_EXPRESSION,
        "description": "A step's id, and after a dot JMESPath into what it gave: its `json`, "
        "`text`, `content` or `structuredContent`; of a for_each its `items`.",
    },
    "default": {**_GIVEN, "description": "Taken where there is nothing."},
}
TEXT: Final[Mapping[str, JsonObject]] = {
    "$text": {
        "type": "string",
        "maxLength": 100_000,
        "description": "A text with ${step.path} in it; $${ stands for ${.",
    }
}
LITERAL: Final[Mapping[str, JsonObject]] = {
    "$literal": {"description": "Anything, taken as it stands."}
}
JSON: Final[Mapping[str, JsonObject]] = {
    "$json": {"type": "string", "description": "A value as JSON text: for null in TOML."}
}
NEEDED: Final = {"steps", "id", "tool", "in", "fallback", "$from", "$text", "$literal", "$json"}
