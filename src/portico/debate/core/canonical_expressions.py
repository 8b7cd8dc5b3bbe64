"""A formula as a tree, read by its pieces: fractions, roots, powers, products without a sign."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from portico.debate.core.canonical_tokens import Kind, NoFormula, Token

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
