"""A plan's document written as TOML, which has no null and wants its tables last."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from portico.kernel.json import JsonObject, JsonValue

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def toml_text(document: JsonObject) -> str:
    """What `read_plan_text` reads the same plan from."""
    tables = ("inputs", "steps")
    lines = [_pair(name, value) for name, value in document.items() if name not in tables]
    inputs = cast("JsonObject", document.get("inputs", {}))
    if inputs:
        lines += ["", "[inputs]"]
        lines += [_pair(name, _json_if_null(schema)) for name, schema in inputs.items()]
    for step in cast("Sequence[JsonObject]", document["steps"]):
        lines += ["", "[[steps]]", *_step(step)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _step(step: JsonObject) -> Sequence[str]:
    lines = [_pair(name, value) for name, value in step.items() if name != "arguments"]
    given = cast("JsonObject", step.get("arguments", {}))
    if given:
        lines += ["", "[steps.arguments]"]
        lines += [_pair(name, value) for name, value in given.items()]
    return lines


def _pair(name: str, value: JsonValue) -> str:
    return f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _value(value: JsonValue) -> str:
    match value:
        case None:
            return '{ "$json" = "null" }'
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            return _table(value)
        case _:
            return f"[{', '.join(map(_value, value))}]"


def _table(value: JsonObject) -> str:
    if "$literal" in value and _has_null(value):
        value = {"$json": json.dumps(value["$literal"])}
    pairs = ", ".join(_pair(name, inner) for name, inner in value.items())
    return f"{{ {pairs} }}" if pairs else "{}"


def _json_if_null(schema: JsonValue) -> JsonValue:
    """A schema is taken as it stands, so that nothing can stand for a null inside it."""
    return {"$json": json.dumps(schema)} if _has_null(schema) else schema


def _has_null(value: JsonValue) -> bool:
    match value:
        case None:
            return True
        case Mapping():
            return any(map(_has_null, value.values()))
        case bool() | int() | float() | str():
            return False
        case _:
            return any(map(_has_null, value))


def _text(text: str) -> str:
    """In the form that is read most easily: as it stands where quotes or backslashes are in it,
    over several lines where it has some."""
    if ("\\" in text or '"' in text) and "'" not in text and not _CONTROL.search(text):
        return f"'{text}'"
    if "\n" in text:
        lines = "\n".join(_quoted(line)[1:-1] for line in text.split("\n"))
        return f'"""\n{lines}"""'
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
