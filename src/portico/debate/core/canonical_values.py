"""The key of a cleaned answer: by its value where it has one, else by its words."""

import re
from fractions import Fraction
from typing import Final

from portico.debate.core.canonical_cleaning import NAMED
from portico.debate.core.canonical_evaluation import at_places, key_of, names_in, number_key
from portico.debate.core.canonical_expressions import Applied, Number, Tree, read_expression
from portico.debate.core.canonical_sets import parted_key
from portico.debate.core.canonical_tokens import MOST, NoFormula, tokens
from portico.debate.core.canonical_units import measured

_WORDS: Final = re.compile(r"[^\W\d_]+(?:[\s\"'`*_,;:!?.-]+[^\W\d_]+)*")
_PUNCTUATION: Final = re.compile(r"[\s\"'`*_,;:!?.-]+")
_LETTER: Final = re.compile(r"\(?([A-Za-z])[).:]?")
_LABELLED: Final = re.compile(r"\(([A-Z])\)\s*\\?\s*\S")
_REPEATING: Final = re.compile(r"(-?)(\d*)\.(\d*)\\overline\{(\d+)\}")
_EMPTY: Final = frozenset({"\\emptyset", "\\varnothing", "\\{\\}", "{}"})
_DEEPEST: Final = 3


def value_key(plain: str, question: str = "", depth: int = 0) -> str:
    """Total: a text is a value too."""
    if len(plain) > MOST or depth > _DEEPEST:
        return text_key(plain)
    letter = _LETTER.fullmatch(plain) or _LABELLED.match(plain)
    if letter is not None:
        return f"t:{letter.group(1).casefold()}"
    if plain in _EMPTY:
        return "s:"
    found = measured(plain, question)
    if repeating := _REPEATING.fullmatch(found.text):
        return _repeating_key(*repeating.groups())
    parted = parted_key(
        found.text, lambda part: value_key(NAMED.sub("", part), question, depth + 1)
    )
    if parted is not None:
        return parted
    try:
        return _formula_key(found.text, found.scale) + (f" {found.unit}" if found.unit else "")
    except (NoFormula, OverflowError):
        return text_key(plain)


def text_key(plain: str) -> str:
    """Words without case, spaces or punctuation; what else it may be, without case and spaces."""
    if _WORDS.fullmatch(plain):
        return f"t:{_PUNCTUATION.sub('', plain).casefold()}"
    return f"t:{plain.replace(' ', '').replace('_{', '_').casefold()}".rstrip("}")


def _formula_key(text: str, scale: Fraction) -> str:
    if text.replace(" ", "") in ("\\infty", "+\\infty", "-\\infty"):
        return f"n:{'-' if text.startswith('-') else ''}infinity"
    sides = [read_expression(tokens(each)) for each in text.split("=")]
    if len(sides) == 1:
        return key_of(sides[0] if scale == 1 else Applied("*", (Number(scale), sides[0])))
    keys = {key_of(each) for each in sides}
    if len(keys) == 1:
        return keys.pop()
    if len(sides) > 2:
        raise NoFormula
    return _equation_key(*sides)


def _equation_key(left: Tree, right: Tree) -> str:
    """Both sides' difference, whatever it is multiplied by."""
    whole = Applied("-", (left, right))
    unknowns = sorted(names_in(whole))
    if not unknowns:
        raise NoFormula  # two numbers that are not equal
    first, *others = (complex(each) for each in at_places(whole, unknowns))
    if not first:
        raise NoFormula
    return f"e:{'|'.join(number_key(each / first) for each in others)}"


def _repeating_key(minus: str, whole: str, fixed: str, again: str) -> str:
    """`0.1\\overline{6}`: exactly."""
    start = Fraction(int((whole or "0") + fixed), 10 ** len(fixed))
    value = start + Fraction(int(again), (10 ** len(again) - 1) * 10 ** len(fixed))
    return number_key(-value if minus else value)
