"""What a formula comes to: exactly where it can, else to ten digits; with unknowns in it, at three
places, where two different formulae hardly ever agree."""

import cmath
from fractions import Fraction
from math import factorial, isqrt, pi
from typing import Final

from portico.debate.core.canonical_expressions import Applied, Name, Number, Tree
from portico.debate.core.canonical_tokens import NoFormula

Value = Fraction | complex

_PLACES: Final = (0.731, 1.379, 2.113)
_LARGEST_EXPONENT: Final = 64
_LARGEST_BITS: Final = 4_096
_LARGEST_FACTORIAL: Final = 200
_SAME: Final = 1e-11
_CONSTANTS: Final[dict[str, complex]] = {"pi": complex(pi), "e": cmath.e + 0j, "i": 1j}


def key_of(tree: Tree) -> str:
    """Equal for equal values. Raises `NoFormula`."""
    unknowns = sorted(names_in(tree))
    if not unknowns:
        return number_key(evaluate(tree, {}))
    keys = [number_key(each) for each in at_places(tree, unknowns)]
    return keys[0] if len(set(keys)) == 1 else f"f:{'|'.join(keys)}"


def at_places(tree: Tree, unknowns: list[str]) -> list[Value]:
    """Each unknown has its own value at each place, whatever other unknowns there are."""
    return [
        evaluate(tree, {each: complex(place + _offset(each)) for each in unknowns})
        for place in _PLACES
    ]


def _offset(name: str) -> float:
    return sum((at + 1) * ord(char) for at, char in enumerate(name[:12])) % 997 / 353


def names_in(tree: Tree) -> set[str]:
    if isinstance(tree, Name):
        return set() if tree.text in _CONSTANTS else {tree.text}
    if isinstance(tree, Number):
        return set()
    return set().union(*(names_in(each) for each in tree.to))


def evaluate(tree: Tree, given: dict[str, complex]) -> Value:
    """Raises `NoFormula` for what has no value."""
    try:
        return _value(tree, given)
    except (ZeroDivisionError, OverflowError, ValueError) as problem:
        raise NoFormula from problem


def _value(tree: Tree, given: dict[str, complex]) -> Value:
    if isinstance(tree, Number):
        return tree.value
    if isinstance(tree, Applied):
        return _apply(tree.what, [_value(each, given) for each in tree.to])
    if tree.text == "infty":
        raise NoFormula
    return _CONSTANTS[tree.text] if tree.text in _CONSTANTS else given[tree.text]


def _apply(what: str, to: list[Value]) -> Value:
    one, *others = to
    match what:
        case "+":
            return one + others[0]
        case "-":
            return one - others[0]
        case "*":
            return _held(one * others[0])
        case "/":
            return _held(one / others[0])
        case "^":
            return _power(one, others[0])
        case "!":
            return _factorial(one)
        case _:
            return _function(what, complex(one), others)


def _held(value: Value) -> Value:
    """Exact numbers stay small enough to be reckoned with."""
    if isinstance(value, Fraction) and _bits(value) > _LARGEST_BITS:
        raise NoFormula
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        exact = _exact_power(base, exponent)
        if exact is not None:
            return exact
    number = complex(base)
    if isinstance(exponent, Fraction) and exponent.denominator % 2 and _is_negative(number):
        # An odd root of a negative number is the real one.
        size = float(abs(number) ** float(exponent))
        return complex(-size if exponent.numerator % 2 else size)
    return number ** complex(exponent)


def _is_negative(value: complex) -> bool:
    return value.real < 0 and value.imag == 0


def _exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator == 1 and abs(exponent) <= _LARGEST_EXPONENT:
        if _bits(base) * abs(int(exponent)) > _LARGEST_BITS:
            raise NoFormula
        return Fraction(base ** int(exponent))
    if exponent == Fraction(1, 2) and base >= 0:
        above, below = isqrt(base.numerator), isqrt(base.denominator)
        if above * above == base.numerator and below * below == base.denominator:
            return Fraction(above, below)
    return None


def _factorial(value: Value) -> Fraction:
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise NoFormula
    if not 0 <= value <= _LARGEST_FACTORIAL:
        raise NoFormula
    return Fraction(factorial(int(value)))


def _function(what: str, at: complex, base: list[Value]) -> complex:
    match what:
        case "log" if base:
            return cmath.log(at) / cmath.log(complex(base[0]))
        case "log" | "ln":
            return cmath.log(at) if what == "ln" else cmath.log10(at)
        case "cot":
            return 1 / cmath.tan(at)
        case "sec":
            return 1 / cmath.cos(at)
        case "csc":
            return 1 / cmath.sin(at)
        case "arcsin" | "arccos" | "arctan":
            return complex(getattr(cmath, "a" + what[3:])(at))
        case _:
            return complex(getattr(cmath, what)(at))


def number_key(value: Value) -> str:
    """`n:3/2` of what is rational, whichever way it was reckoned; else ten digits."""
    if isinstance(value, Fraction):
        return f"n:{value}"
    if not cmath.isfinite(value):
        raise NoFormula
    size = abs(value)
    if abs(value.imag) <= _SAME * size:
        return f"n:{_rational(value.real)}"
    real = 0.0 if abs(value.real) <= _SAME * size else value.real
    return f"n:{_rational(real)}+{_rational(value.imag)}i"


def _rational(value: float) -> str:
    near = Fraction(value).limit_denominator(1_000)
    if abs(value - near) <= _SAME * max(1.0, abs(value)) and abs(value) < 1e9:
        return str(near)
    return f"{value:.9e}"
