"""Arguments as somebody has typed them, in place of those that were asked for."""

import json

from portico.interfaces.console.forms import BadForm
from portico.kernel.json import JsonObject, JsonValue


def written(text: str) -> JsonObject:
    """What somebody has typed as arguments. Raises `BadForm`."""
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, letter {error.colno}: {error.msg}"
        raise BadForm("arguments", f"is not JSON: {where}") from error
    except RecursionError as error:
        raise BadForm("arguments", "is nested too deep") from error
    except ValueError as error:  # of our own two hooks
        raise BadForm("arguments", str(error)) from error
    if not isinstance(value, dict):
        raise BadForm("arguments", "must be an object: { … }")
    return value


def _each_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Of two of the same name one would be dropped unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, _ in pairs if [each for each, _ in pairs].count(name) > 1)
        raise ValueError(f"names {twice[:40]!r} twice")
    return found


def _no_number(name: str) -> JsonValue:
    raise ValueError(f"holds {name}, which is no number of JSON")
