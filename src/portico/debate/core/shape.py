"""What an answer looks like: right answers are more often short and plain than wrong ones, and how
much so is learnt from what is known. Read from keys alone, never from words."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import log
from typing import Final

from portico.debate.core.fitting import Signs

_LONGEST: Final = 60
_DIGITS: Final = 6
_SIDES: Final = 5


@lru_cache(maxsize=20_000)
def shape_of(key: str) -> Signs:
    """Signs of one answer by its key: its form, its size, its length."""
    form, _, rest = key.partition(":")
    signs = {"length": min(len(rest), _LONGEST) / 20}
    if form != "n":
        return {**signs, f"form {form}": 1.0}
    if rest.startswith("-"):
        signs["negative"] = 1.0
    value = number_of(key)
    if value is None:
        return {**signs, "form complex" if rest.endswith("i") else "form irrational": 1.0}
    return {**signs, **(_whole(int(value)) if value.denominator == 1 else _broken(value))}


def _whole(value: int) -> Signs:
    size = abs(value)
    signs = {"form whole": 1.0, f"digits {min(len(str(size)), _DIGITS)}": 1.0}
    if size <= 1:
        signs["tiny"] = 1.0
    if size >= 100 and size % 10 == 0:
        signs["round"] = 1.0
    return signs


def _broken(value: Fraction) -> Signs:
    above, below = len(str(abs(value.numerator))), len(str(value.denominator))
    signs = {
        "form fraction": 1.0,
        f"above {min(above, _SIDES)}": 1.0,
        f"below {min(below, _SIDES)}": 1.0,
    }
    if _only_twos_and_fives(value.denominator):
        signs["decimal"] = 1.0
    return signs


def _only_twos_and_fives(value: int) -> bool:
    return pow(10, value.bit_length(), value) == 0


def number_of(key: str) -> Fraction | None:
    """Of a key that is an exact number."""
    form, _, rest = key.partition(":")
    digits = rest.removeprefix("-").replace("/", "", 1)
    return Fraction(rest) if form == "n" and digits.isascii() and digits.isdigit() else None


def kin_of(keys: Sequence[str]) -> Signs:
    """How answers that differ are related: off by one, the other sign, another form."""
    return {_kin(one, other): 1.0 for one, other in combinations(keys, 2)}


@lru_cache(maxsize=50_000)
def _kin(one: str, other: str) -> str:
    if one[0] != other[0]:
        return "kin: other forms"
    if one[0] != "n":
        return f"kin: both {one[0]}"
    first, second = number_of(one), number_of(other)
    if first is None or second is None:
        return "kin: not exact"
    return f"kin: {_related(first, second)}"


def _related(first: Fraction, second: Fraction) -> str:
    if first == -second:
        return "negated"
    if abs(first - second) == 1:
        return "off by one"
    if not first or not second:
        return "one is nothing"
    ratio = abs(first / second)
    if 1 in (ratio.numerator, ratio.denominator):
        return "doubled" if 2 in (ratio.numerator, ratio.denominator) else "multiple"
    apart = abs(log(ratio.numerator) - log(ratio.denominator))
    return f"apart {min(int(2 * apart), 6)}"
