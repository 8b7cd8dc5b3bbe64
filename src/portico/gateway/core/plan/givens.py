"""What arguments say: JSON with references and templates in it, read and written."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, cast

from portico.gateway.core.plan.faults import Faults
from portico.gateway.core.plan.fields import (
    DEEPEST,
    FROM,
    JSON,
    LITERAL,
    NEEDED,
    TEXT,
)
from portico.gateway.core.plan.misfit import misfit
from portico.gateway.core.plan.plan import Given, Reference, Template
from portico.gateway.core.plan.references import (
    Unreadable,
    inside_of,
    read_reference,
    read_template,
    seems_to_refer,
    write_template,
)
from portico.kernel.json import JsonObject, JsonValue, pointed

_ELSEWHERE: Final = {
    "args": "arguments",
    "params": "arguments",
    "parameters": "arguments",
    "input": "arguments",
    "with": "arguments",
    "depends_on": "after",
    "dependencies": "after",
    "needs": "after",
    "name": "id",
    "step": "id",
    "if": "when",
    "condition": "when",
    "foreach": "for_each",
    "loop": "for_each",
    "retries": "tries",
    "retry": "tries",
    "uses": "tool",
    "action": "tool",
}
"""What the fields of a step are called in plans for other programs."""
_FORMS: Final = {"$from": FROM, "$text": TEXT, "$literal": LITERAL, "$json": JSON}


def known_fields(
    given: JsonObject, fields: Mapping[str, JsonObject], place: str, faults: Faults
) -> JsonObject:
    """Those that there are and that fit; of all others it is said what is wrong with them."""
    for name in given:
        if name not in fields:
            fix = _meant(name, fields) or faults.guess(name, fields)
            fix = fix or f"There are: {', '.join(fields)}."
            faults.add(pointed(place, name), f"There is no field {name[:60]!r} here.", fix)
    for name in fields:
        if name in NEEDED and name not in given:
            faults.add(place, f"The field {name!r} is missing.")
    sound: dict[str, JsonValue] = {}
    for name, value in given.items():
        wrong = misfit(value, fields[name]) if name in fields else None
        if wrong is not None:
            faults.add(pointed(place, name), f"It {wrong}")
        elif name in fields:
            sound[name] = value
    return sound


def _meant(name: str, fields: Mapping[str, JsonObject]) -> str | None:
    """In other people's plans it is called so."""
    other = _ELSEWHERE.get(name.lower().replace("-", "_"))
    return f"Did you mean {other!r}?" if other in fields else None


def read_given(value: JsonValue, place: str, faults: Faults, depth: int = 0) -> Given:
    """What cannot be read is said, and null stands in its place."""
    if depth > DEEPEST:
        faults.add(place, f"It is nested more than {DEEPEST} levels deep.")
        return None
    match value:
        case Mapping() if any(key.startswith("$") for key in value):
            return _form(value, place, faults, depth)
        case Mapping():
            return {
                key: read_given(inner, pointed(place, key), faults, depth + 1)
                for key, inner in value.items()
            }
        case list() | tuple():
            return [
                read_given(inner, f"{place}/{number}", faults, depth + 1)
                for number, inner in enumerate(value)
            ]
        case str():
            faults.doubt(place, seems_to_refer(value))
            return _plain(value, place, faults)
        case _:
            return _plain(value, place, faults)


def read_schema(value: JsonValue, place: str, faults: Faults) -> JsonObject:
    """An input's: taken as it stands, or as JSON text where its own language has no null."""
    if isinstance(value, Mapping) and set(value) == {"$json"}:
        value = cast("JsonValue", read_given(value, place, faults))
    if isinstance(value, Mapping):
        return value
    faults.add(place, "It must be an object: a JSON Schema.")
    return {}


def write_given(given: Given) -> JsonValue:
    """As `read_given` reads it."""
    match given:
        case Reference():
            written: dict[str, JsonValue] = {"$from": str(given)}
            return written | ({"default": write_given(given.default)} if given.has_default else {})
        case Template():
            return {"$text": write_template(given)}
        case Mapping() if any(key.startswith("$") for key in given):
            return {"$literal": cast("JsonObject", given)}  # it was read from one
        case Mapping():
            return {key: write_given(inner) for key, inner in given.items()}
        case str() if seems_to_refer(given):
            return {"$literal": given}
        case None | bool() | int() | float() | str():
            return given
        case _:
            return [write_given(inner) for inner in given]


def _form(value: JsonObject, place: str, faults: Faults, depth: int) -> Given:
    forms = [key for key in value if key.startswith("$")]
    known = [key for key in forms if key in _FORMS]
    if len(known) != 1:
        for key in forms:
            _not_a_form(key, pointed(place, key), faults)
        return None
    name = known[0]
    sound = known_fields(value, _FORMS[name], place, faults)
    return _READERS[name](sound, place, faults, depth) if name in sound else None


def _not_a_form(key: str, place: str, faults: Faults) -> None:
    if key in _FORMS:
        faults.add(place, f"{key!r} stands beside another of its kind.", "Leave only one of them.")
        return
    forms = ", ".join(_FORMS)
    faults.add(
        place,
        f"{key[:60]!r} means nothing; there are {forms}.",
        'To pass such an object on as it is: {"$literal": {…}}.',
    )


def _from(value: JsonObject, place: str, faults: Faults, depth: int) -> Given:
    default: JsonValue = None
    if "default" in value:
        default = _literal_default(value["default"], f"{place}/default", faults, depth)
    try:
        return read_reference(str(value["$from"]), default=default, has_default="default" in value)
    except Unreadable as error:
        faults.add(f"{place}/$from", str(error), "Write it as step.path: read.json.title.")
        return None


def _literal_default(value: JsonValue, place: str, faults: Faults, depth: int) -> JsonValue:
    given = read_given(value, place, faults, depth + 1)
    if refers(given):
        faults.add(place, "A default is a value, and refers to nothing.")
        return None
    return cast("JsonValue", given)  # nothing else is left in it


def refers(given: Given) -> bool:
    """Whether what it says depends on anything else."""
    return isinstance(given, Reference | Template) or any(
        refers(inner) for _, inner in inside_of(given)
    )


def _text(value: JsonObject, place: str, faults: Faults, _: int) -> Given:
    try:
        return read_template(str(value["$text"]))
    except Unreadable as error:
        faults.add(f"{place}/$text", str(error), "A `${` that means itself is written `$${`.")
        return None


def _literal(value: JsonObject, place: str, faults: Faults, depth: int) -> Given:
    _check_plain(value["$literal"], f"{place}/$literal", faults, depth + 1)
    return value["$literal"]


def _json(value: JsonObject, place: str, faults: Faults, depth: int) -> Given:
    try:
        parsed: JsonValue = json.loads(str(value["$json"]))
    except (ValueError, RecursionError) as error:
        faults.add(f"{place}/$json", f"It is not JSON: {error}.")
        return None
    _check_plain(parsed, f"{place}/$json", faults, depth + 1)
    return parsed


_READERS: Final[Mapping[str, Callable[[JsonObject, str, Faults, int], Given]]] = {
    "$from": _from,
    "$text": _text,
    "$literal": _literal,
    "$json": _json,
}


def _plain(value: JsonValue, place: str, faults: Faults) -> JsonValue:
    match value:
        case float() if not math.isfinite(value):
            faults.add(place, f"{value!r} is not a JSON number.")
        case str() if not _whole(value):
            faults.add(place, "It holds half of a surrogate pair, which no text can.")
        case None | bool() | int() | float() | str():
            return value
        case _:  # TOML has dates and times
            what = f"A {type(value).__name__} is not a JSON value."
            faults.add(place, what, "Write it as a text.")
    return None


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_plain(value: JsonValue, place: str, faults: Faults, depth: int) -> None:
    """Of what is taken as it stands: that it is JSON, and not too deep."""
    if depth > DEEPEST:
        faults.add(place, f"It is nested more than {DEEPEST} levels deep.")
    elif isinstance(value, Mapping | list | tuple):
        for name, inner in inside_of(value):
            _check_plain(cast("JsonValue", inner), pointed(place, name), faults, depth + 1)
    else:
        _plain(value, place, faults)
