"""JSON as values, and its one canonical text, so that equal values have equal hashes.

The text is RFC 8785 (keys ordered by UTF-16, numbers as ECMAScript prints them) with one
difference: an integer keeps all its digits. ECMAScript would round those beyond 2^53, and two
different arguments would then share one hash, and so one approval.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, TypeAlias

from portico.kernel.errors import Kind, PorticoError

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject: TypeAlias = Mapping[str, JsonValue]


class NotCanonical(PorticoError):
    kind = Kind.INVALID
    code = "not_canonical"
    title = "Not representable as JSON"


def canonical(value: JsonValue) -> bytes:
    """Raises `NotCanonical` for NaN, the infinities, half of a surrogate pair, and non-JSON."""
    try:
        return (_quick(value) if _usual(value) else _text(value)).encode()
    except UnicodeEncodeError as error:
        raise NotCanonical("A string holds half of a surrogate pair.") from error
    except ValueError as error:  # Python writes no integer of more than 4,300 digits
        raise NotCanonical("An integer is too long to be written.") from error


def kept(value: JsonValue) -> JsonValue:
    """As it comes back from wherever JSON is kept: a tuple as a list, each key as a text. What
    is worked with then is the same before it was kept and after. Raises `NotCanonical`."""
    if value is None or type(value) is str:
        return value
    try:
        back: JsonValue = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotCanonical(f"What was given is not JSON: {error}.") from error
    return back


def pointed(pointer: str, name: str) -> str:
    """One step further into a value, as RFC 6901 writes it."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


_quick: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
).encode
"""The same text, ten times as fast, of what `_usual` says yes to."""


def _usual(value: object) -> bool:
    """No float, whose text is another there, no key beyond ASCII, whose order is, and nothing but
    JSON's own types, of which it would let others pass."""
    if type(value) is str or type(value) is int or type(value) is bool or value is None:
        return True
    if type(value) is list or type(value) is tuple:
        return all(map(_usual, value))
    return type(value) is dict and all(
        type(key) is str and key.isascii() and _usual(item) for key, item in value.items()
    )


def _text(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:d}"
        case float():
            return _number(value)
        case str():
            return _string(value)
        case Mapping():
            members = sorted(value.items(), key=lambda member: _utf16(member[0]))
            return "{" + ",".join(f"{_string(key)}:{_text(item)}" for key, item in members) + "}"
        case Sequence():
            return "[" + ",".join(_text(item) for item in value) + "]"
    # Types let nothing else in, but what slips past them must not share the text of another.
    raise NotCanonical(f"A {type(value).__name__} is not a JSON value.")


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    if not isfinite(value):
        raise NotCanonical(f"{value!r} is not a JSON number.")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole == "0":
        point -= 1 + len(fraction) - len(fraction.lstrip("0"))
    return sign + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """`digits` with the decimal point after `point` of them, as ECMAScript writes it."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = f"e{point - 1:+d}"
    return f"{digits[0]}.{digits[1:]}{exponent}" if count > 1 else f"{digits}{exponent}"
