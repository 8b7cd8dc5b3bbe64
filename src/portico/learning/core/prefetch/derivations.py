"""How an argument is got from what a task has seen: a value from somewhere, or a text around some.

`Taken` says from whom, from which place, changed how, and which of those that stand there. `Filled`
is a text with such values in it. `Fixed` is a value that is nobody's.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.choices import chosen
from portico.learning.core.prefetch.view import View


class Taken(NamedTuple):
    origin: str
    place: str
    change: str
    sort: str
    """Of those there, only values of this sort."""
    choice: str


class Filled(NamedTuple):
    literals: tuple[str, ...]
    """One more than there are values."""
    slots: tuple[Taken, ...]


class Fixed(NamedTuple):
    text: str
    """As JSON."""


Derivation = Taken | Filled | Fixed


def derive(view: View, derivation: Derivation) -> JsonValue:
    """None if it gives nothing here."""
    if derivation not in view.given:
        view.given[derivation] = _derive(view, derivation)
    return view.given[derivation]


def _derive(view: View, derivation: Derivation) -> JsonValue:
    match derivation:
        case Fixed():
            fixed: JsonValue = json.loads(derivation.text)
            return fixed
        case Taken(origin, place, change, sort, choice):
            return chosen(view, origin, view.candidates(origin, place, change, sort), choice)
        case _:
            values = [derive(view, slot) for slot in derivation.slots]
            return _filled(derivation.literals, values)


def _filled(literals: Sequence[str], values: Sequence[JsonValue]) -> str | None:
    if any(value is None or isinstance(value, list) for value in values):
        return None
    pairs = zip(literals, [*map(str, values), ""], strict=True)
    return "".join(literal + value for literal, value in pairs)


def written(derivation: Derivation) -> str:
    match derivation:
        case Fixed():
            whole: list[object] = ["fixed", derivation.text]
        case Taken():
            whole = ["taken", *derivation]
        case _:
            whole = ["filled", *derivation]
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=16_384)
def read(text: str) -> Derivation:
    """Raises `ValueError` for what `written` did not write."""
    try:
        match json.loads(text):
            case ["fixed", str(value)]:
                json.loads(value)
                return Fixed(value)
            case ["taken", *texts]:
                return _taken(texts)
            case ["filled", [*literals], [*slots]] if len(literals) == len(slots) + 1:
                return Filled(tuple(map(_text, literals)), tuple(map(_taken, slots)))
    except TypeError as error:
        raise ValueError(text) from error
    raise ValueError(text)


def _taken(texts: Sequence[object]) -> Taken:
    return Taken(*map(_text, texts))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
