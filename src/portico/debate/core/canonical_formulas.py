"""Formulas in canonical form: tokens, expressions, evaluation."""

import cmath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from math import factorial, isqrt, pi
from typing import Final

# A formula as its pieces: numbers, names, signs, however LaTeX or a keyboard writes them.

MAX_FORMULA_LENGTH: Final = 400
"""Characters of a formula; a longer one is taken as a text."""


class Kind(Enum):
    NUMBER = auto()
    NAME = auto()
    FUNCTION = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str


class NoFormula(Exception):
    """It is none, or one that is too large to be read."""


FUNCTIONS: Final = (
    *("arcsin", "arccos", "arctan", "sin", "cos", "tan", "cot", "sec", "csc"),
    *("log", "ln", "exp", "sqrt"),
)
_NAMES: Final = (
    *("alpha", "beta", "gamma", "delta", "theta", "lambda", "omega", "phi", "rho", "sigma"),
    *("mu", "pi", "infty", "ell"),
)
_SIGNS: Final = {"cdot": "*", "times": "*", "div": "/", "frac": "frac"}
_WORDS: Final = sorted([*FUNCTIONS, *_NAMES, *_SIGNS], key=len, reverse=True)
_COMMAND: Final = re.compile(rf"\\({'|'.join(_WORDS)})")
_BARE: Final = re.compile(
    rf"({'|'.join(sorted(FUNCTIONS, key=len, reverse=True))}|pi|infinity|inf)"
)
_NUMBER: Final = re.compile(
    r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}(?![\d.])"
    r"|\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d+\.\d+|\d+|\.\d+"
)
_WORD: Final = re.compile(r"[a-zA-Z]{4,}")
_ALONE: Final = re.compile(r"\s*(?!inf)[a-zA-Z]{3}\s*")
_NAMED: Final = re.compile(r"[a-zA-Z]\d")
_DOTTED: Final = re.compile(r"\.\d")
_SINGLE: Final = frozenset("+-*/^!(){}[]_")


def tokens(text: str) -> list[Token]:
    """Raises `NoFormula`, also for what is rather a name than a product: TCP is not PTC, a1b2 not
    b2a1, and 10.0.0.1 is no number."""
    if _ALONE.fullmatch(text):
        raise NoFormula
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        token, at = _token(text, at)
        found.append(token)
    return found


def _token(text: str, at: int) -> tuple[Token, int]:
    char = text[at]
    if char == "\\":
        return _command(text, at)
    if number := _NUMBER.match(text, at):
        if _DOTTED.match(text, number.end()):
            raise NoFormula  # an address, a version
        return Token(Kind.NUMBER, _digits(number.group())), number.end()
    if bare := _BARE.match(text, at):
        return _bare(bare.group()), bare.end()
    if char.isascii() and char.isalpha():
        if _WORD.match(text, at) or _NAMED.match(text, at):
            raise NoFormula  # words and ids, not the product of their letters
        return Token(Kind.NAME, char), at + 1
    if char in _SINGLE:
        return Token(Kind.SIGN, char), at + 1
    raise NoFormula


def _digits(number: str) -> str:
    return number.replace("{,}", "").replace(",", "")


def _bare(word: str) -> Token:
    if word in FUNCTIONS:
        return Token(Kind.FUNCTION, word)
    return Token(Kind.NAME, "pi" if word == "pi" else "infty")


def _command(text: str, at: int) -> tuple[Token, int]:
    found = _COMMAND.match(text, at)
    if found is None:
        raise NoFormula
    word = found.group(1)
    if word in FUNCTIONS:
        return Token(Kind.FUNCTION, word), found.end()
    if word in _SIGNS:
        return Token(Kind.SIGN, _SIGNS[word]), found.end()
    return Token(Kind.NAME, word), found.end()


_DEEPEST: Final = 30
_LONGEST: Final = 150


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    text: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A sign or a function, and what it is applied to."""

    what: str
    to: tuple["Tree", ...]


Tree = Number | Name | Applied

_OPEN: Final = {"(": ")", "{": "}", "[": "]"}
_HALF: Final = Number(Fraction(1, 2))


def read_expression(tokens: Sequence[Token]) -> Tree:
    """All of it. Raises `NoFormula`; also for one that is too long to be walked through."""
    if len(tokens) > _LONGEST:
        raise NoFormula
    reader = _Reader(tokens)
    tree = reader.sum()
    if not reader.done:
        raise NoFormula
    return tree


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._tokens)

    def _next(self, ahead: int = 0) -> Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _sees(self, *signs: str) -> bool:
        token = self._next()
        return token is not None and token.kind is Kind.SIGN and token.text in signs

    def _take(self) -> Token:
        token = self._next()
        if token is None:
            raise NoFormula
        self._at += 1
        return token

    def sum(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormula
        tree = self._signed()
        while self._sees("+", "-"):
            sign = self._take().text
            tree = Applied(sign, (tree, self._product()))
        self._depth -= 1
        return tree

    def _signed(self) -> Tree:
        if self._sees("+", "-"):
            minus = self._take().text == "-"
            tree = self._signed()
            return Applied("-", (Number(Fraction(0)), tree)) if minus else tree
        return self._product()

    def _product(self) -> Tree:
        tree = self._power()
        while True:
            if self._sees("*", "/"):
                sign = self._take().text
                tree = Applied(sign, (tree, self._factor()))
            elif self._starts_a_factor():
                tree = self._joined(tree)
            else:
                return tree

    def _factor(self) -> Tree:
        if self._sees("-"):
            self._take()
            return Applied("-", (Number(Fraction(0)), self._factor()))
        return self._power()

    def _joined(self, tree: Tree) -> Tree:
        """`2x` is a product, `1\\frac{4}{5}` a mixed number."""
        mixed = self._sees("frac") and isinstance(tree, Number) and tree.value.denominator == 1
        right = self._power()
        if mixed and _is_plain_fraction(right):
            return Applied("+", (tree, right))
        return Applied("*", (tree, right))

    def _starts_a_factor(self) -> bool:
        token = self._next()
        if token is None:
            return False
        return token.kind is not Kind.SIGN or token.text in ("(", "{", "[", "frac")

    def _power(self) -> Tree:
        tree = self._atom()
        while self._sees("^", "!"):
            if self._take().text == "!":
                tree = Applied("!", (tree,))
            else:
                tree = Applied("^", (tree, self._argument()))
        return tree

    def _argument(self) -> Tree:
        """Of a command: what is in braces, or the one piece that follows; of a number its first
        digit, as LaTeX has it."""
        if self._sees("{", "("):
            return self._group()
        if self._sees("-"):
            self._take()
            return Applied("-", (Number(Fraction(0)), self._argument()))
        token = self._next()
        if token is not None and token.kind is Kind.NUMBER and len(token.text) > 1:
            return self._digit(token.text)
        return self._atom()

    def _digit(self, text: str) -> Tree:
        if not text.isdigit():
            return self._atom()
        self._tokens = [
            *self._tokens[: self._at],
            Token(Kind.NUMBER, text[0]),
            Token(Kind.NUMBER, text[1:]),
            *self._tokens[self._at + 1 :],
        ]
        return self._atom()

    def _group(self) -> Tree:
        closing = _OPEN[self._take().text]
        tree = self.sum()
        if not self._sees(closing):
            raise NoFormula
        self._take()
        return tree

    def _atom(self) -> Tree:
        token = self._take()
        match token.kind:
            case Kind.NUMBER:
                return Number(Fraction(token.text))
            case Kind.NAME:
                return self._name(token.text)
            case Kind.FUNCTION:
                return self._root() if token.text == "sqrt" else self._function(token.text)
            case _:
                self._at -= 1
                return self._signed_atom()

    def _signed_atom(self) -> Tree:
        if self._sees("frac"):
            self._take()
            above = self._argument()
            return Applied("/", (above, self._argument()))
        if self._sees(*_OPEN):
            return self._group()
        raise NoFormula

    def _name(self, text: str) -> Tree:
        """`a_1`, `a_{12}`: one name."""
        if not self._sees("_"):
            return Name(text)
        self._take()
        inside = self._argument()
        if isinstance(inside, Number | Name):
            return Name(f"{text}_{inside.value if isinstance(inside, Number) else inside.text}")
        raise NoFormula

    def _root(self) -> Tree:
        r"""`\sqrt{2}`, `\sqrt2`, `\sqrt[3]{2}`; and what a common cleaner makes of them:
        `\sqrt{}2`, `\sqrt{[}3]{2}`."""
        degree = self._degree()
        if self._sees("{") and self._closes_at_once():
            self._at += 2
        inside = self._group() if self._sees("{", "(") else self._atom()
        power = _HALF if degree is None else Applied("/", (Number(Fraction(1)), degree))
        return Applied("^", (inside, power))

    def _closes_at_once(self) -> bool:
        return self._next(1) == Token(Kind.SIGN, "}")

    def _degree(self) -> Tree | None:
        opened = [Token(Kind.SIGN, each) for each in "{[}"]
        if list(self._tokens[self._at : self._at + 3]) == opened:
            self._at += 3
        elif self._sees("["):
            self._at += 1
        else:
            return None
        degree = self._atom()
        if not self._sees("]"):
            raise NoFormula
        self._take()
        return degree

    def _function(self, what: str) -> Tree:
        r"""`\sin x`, `\sin^2 x`, `\log_2 8`, `\sin 2x`: a product without a sign belongs to it."""
        power = base = None
        if self._sees("^"):
            self._take()
            power = self._argument()
        if self._sees("_"):
            self._take()
            base = self._argument()
        inside = self._group() if self._sees("(", "{") else self._inside_function()
        tree = Applied(what, (inside,)) if base is None else Applied(what, (inside, base))
        return tree if power is None else Applied("^", (tree, power))

    def _inside_function(self) -> Tree:
        tree = self._power()
        while (token := self._next()) is not None and token.kind in (Kind.NAME, Kind.NUMBER):
            tree = Applied("*", (tree, self._power()))
        return tree


def _is_plain_fraction(tree: Tree) -> bool:
    return (
        isinstance(tree, Applied)
        and tree.what == "/"
        and all(isinstance(each, Number) for each in tree.to)
    )


# What a formula comes to: exactly where it can, else to ten digits; with unknowns in it, at three
# places, where two different formulae hardly ever agree.

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
