"""Where a `$ref` inside a schema points to, if that is inside the same schema."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from portico.kernel.json import JsonValue


def is_local(ref: JsonValue) -> bool:
    """`#`, or `#/` and a way from the root (RFC 6901). Not `#name`: an anchor can be moved."""
    return isinstance(ref, str) and (ref == "#" or ref.startswith("#/"))


def target(root: JsonValue, ref: str) -> JsonValue:
    """What is there; None if nothing is."""
    found = root
    for step in unquote(ref).split("/")[1:]:
        found = _child(found, step.replace("~1", "/").replace("~0", "~"))
    return found


def _child(value: JsonValue, step: str) -> JsonValue:
    match value:
        case Mapping():
            return value.get(step)
        case str():
            return None
        case Sequence() if step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        case _:
            return None
