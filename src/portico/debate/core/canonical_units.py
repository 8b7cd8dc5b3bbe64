"""Units after a number: left out where the question names them, turned into the one that it names,
and else a part of the answer: five kilometres are not five miles."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from portico.debate.core.canonical_tokens import FUNCTIONS


@dataclass(frozen=True, slots=True)
class Unit:
    of: str
    size: Fraction
    """In the first unit of its kind."""


def _units() -> Iterator[tuple[str, Unit]]:
    kinds: Mapping[str, Mapping[str, str]] = {
        "length": {
            "m meter meters metre metres": "1",
            "km kilometer kilometers kilometre kilometres": "1000",
            "cm centimeter centimeters centimetre centimetres": "1/100",
            "mm millimeter millimeters millimetre millimetres": "1/1000",
            "in inch inches": "0.0254",
            "ft foot feet": "0.3048",
            "yd yard yards": "0.9144",
            "mi mile miles": "1609.344",
        },
        "mass": {
            "kg kilogram kilograms": "1",
            "g gram grams": "1/1000",
            "mg milligram milligrams": "1/1000000",
            "t ton tons tonne tonnes": "1000",
            "lb lbs pound pounds": "0.45359237",
            "oz ounce ounces": "0.028349523125",
        },
        "time": {
            "s sec secs second seconds": "1",
            "ms millisecond milliseconds": "1/1000",
            "min mins minute minutes": "60",
            "h hr hrs hour hours": "3600",
            "day days": "86400",
            "week weeks": "604800",
        },
        "volume": {
            "l liter liters litre litres": "1",
            "ml milliliter milliliters millilitre millilitres": "1/1000",
            "gallon gallons": "3.785411784",
        },
        "data": {
            "b byte bytes octet octets": "1",
            "bit bits": "1/8",
            "kbit kilobit kilobits": "125",
            "mbit megabit megabits": "125000",
            "gbit gigabit gigabits": "125000000",
            "kb kilobyte kilobytes": "1000",
            "mb megabyte megabytes": "1000000",
            "gb gigabyte gigabytes": "1000000000",
            "tb terabyte terabytes": "1000000000000",
            "kib": "1024",
            "mib": "1048576",
            "gib": "1073741824",
        },
    }
    for kind, sizes in kinds.items():
        for names, size in sizes.items():
            yield from ((name, Unit(kind, Fraction(size))) for name in names.split())


UNITS: Final[Mapping[str, Unit]] = MappingProxyType(dict(_units()))
_SCALES: Final[Mapping[str, int]] = MappingProxyType(
    {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
)
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen",),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SPELT: Final[Mapping[str, int]] = MappingProxyType(
    {
        **{word: value for value, word in enumerate(_ONES)},
        **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
        **{
            f"{tens} {ones}": 10 * value + more
            for value, tens in enumerate(_TENS, start=2)
            for more, ones in enumerate(_ONES[1:10], start=1)
        },
    }
)
_WORD: Final = re.compile(r"[A-Za-z]+")
_WORDS: Final = re.compile(r"[A-Za-z]+(?:(?: |-)[A-Za-z]+){0,3}")
_TAIL: Final = re.compile(
    r"(?:(?<=[\d})\]])|(?<=\\pi))(\s*)(\\?\^?\{?\\(?:circ|prime)\}?|\\?%"
    r"|[A-Za-z]+(?:[ '/-]+[A-Za-z]+)*)"
    r"(?:\s*\^?\{?[23]\}?)?\s*$"
)
_MONEY: Final = re.compile(r"^([+-]?)\s*[\\$€£]+\s*(?=[\d.])")
_SHORT: Final = frozenset({"day", "way", "mph", "deg", "of", "usd", "eur", "sq", "cup", "bus"})
_ALSO_WORDS: Final = frozenset({"in", "b", "bit", "g", "h", "l", "m", "s", "t", "second"})
"""In a question they need not be units."""
_JOINING: Final = frozenset({"and", "or", "sqrt", "infinity"})
_PLAIN: Final = frozenset({"degree", "degrees", "percent"})
"""As good as their signs, which are left out."""
_LONG: Final = 4
"""Letters from which on it is a word, and not unknowns that are multiplied."""


@dataclass(frozen=True, slots=True)
class Measured:
    text: str
    """Without its unit."""
    unit: str = ""
    """What is left of it: nothing where the question says it."""
    scale: Fraction = Fraction(1)
    """What the number is multiplied by."""


def spelt_out(text: str, question: str) -> str:
    """`Forty-two bytes` in digits: up to ninety-nine, where nothing but what is counted follows."""
    if not _WORDS.fullmatch(text):
        return text
    words = text.casefold().replace("-", " ").split()
    for many in (2, 1):
        value = _SPELT.get(" ".join(words[:many]))
        if value is not None:
            counts = {*UNITS, *_SCALES, *_PLAIN, *_WORD.findall(question.casefold())}
            rest = words[many:]
            return " ".join([str(value), *rest]) if counts.issuperset(rest) else text
    return text


def measured(text: str, question: str) -> Measured:
    """Of a number and what follows it. A question of no words takes any unit for its own."""
    bare = _MONEY.sub(r"\1", spelt_out(text, question))
    found = _TAIL.search(bare)
    if found is None:
        return Measured(bare)
    word = found.group(2).strip(" ^{}").casefold()
    if not _is_unit(word, apart=bool(found.group(1))):
        return Measured(bare)
    rest = bare[: found.start()].strip()
    scale, word = _scaled(word)
    if not word or not question or word in _PLAIN:
        return Measured(rest, "", scale)
    return _in_question(rest, word, scale, question)


def _is_unit(word: str, *, apart: bool) -> bool:
    """`5 m` is a length, `5m` a product: a letter is a unit only if it stands apart."""
    if not word[0].isalpha():
        return True
    head = word.partition(" ")[0]
    if head in _JOINING or any(each in FUNCTIONS for each in word.split()):
        return False
    if len(head) == 1:
        return apart and head in UNITS
    return len(head) >= _LONG or head in UNITS or head in _SHORT


def _scaled(word: str) -> tuple[Fraction, str]:
    """`9 billion people`."""
    head, _, tail = word.partition(" ")
    return (Fraction(_SCALES[head]), tail) if head in _SCALES else (Fraction(1), word)


def _in_question(rest: str, word: str, scale: Fraction, question: str) -> Measured:
    unit = UNITS.get(word)
    asked = question.casefold()
    if unit is None:
        return Measured(rest, "" if word in asked or not word.isalpha() else word, scale)
    named = [
        UNITS[each] for each in _WORD.findall(asked) if each in UNITS and each not in _ALSO_WORDS
    ]
    for each in named:
        if each.of == unit.of:
            return Measured(rest, "", scale * unit.size / each.size)
    return Measured(rest, unit.of, scale * unit.size)
