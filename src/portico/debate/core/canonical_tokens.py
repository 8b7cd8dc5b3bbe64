"""A formula as its pieces: numbers, names, signs, however LaTeX or a keyboard writes them."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

MOST: Final = 400
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
