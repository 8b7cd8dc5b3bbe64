"""Answers in canonical form, so that equal ones are counted as one."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from portico.debate.core.canonical_formulas import (
    FUNCTIONS,
    MAX_FORMULA_LENGTH,
    Applied,
    NoFormula,
    Number,
    Tree,
    at_places,
    key_of,
    names_in,
    number_key,
    read_expression,
    tokens,
)
from portico.debate.core.questions import Question, QuestionKind

MAX_ANSWER_LENGTH: Final = 2_000
"""Characters of an answer that are looked at: a choice is short."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_WRAPPING: Final = re.compile(r"[\s\"'`*_$(){}\[\]<>.,:;!?]+")
_LEAD: Final = re.compile(
    r"^(?:the )?(?:final |correct |right |best |my )?(?:answer|choice|option|vote)"
    r"(?: is| would be)? "
)
_YES: Final = frozenset(
    {"yes", "y", "true", "correct", "right", "ja", "affirmative", "yep", "yeah"}
)
_NO: Final = frozenset({"no", "n", "false", "incorrect", "wrong", "nein", "negative", "nope"})


def folded(text: str) -> str:
    """For comparing: one space between words, no wrapping, no case."""
    return _WRAPPING.sub(" ", text[:MAX_ANSWER_LENGTH]).strip().casefold()


def _led(text: str) -> str:
    """Without `The answer is`."""
    plain = folded(text)
    return _LEAD.sub("", plain)


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    """Its place among the choices; None if it is none of them, or could be two."""
    plain = _led(answer)
    texts = [folded(each) for each in choices]
    for said in (folded(answer), plain):
        if said in texts:
            return texts.index(said)
    letter = _lettered(plain, texts)
    if letter is not None:
        return letter
    # A sentence that names one choice whole, and no other.
    named = [at for at, text in enumerate(texts) if text and _names(plain, text)]
    longest = [at for at in named if not _inside_another(at, named, texts)]
    return longest[0] if len(longest) == 1 else None


def _lettered(plain: str, texts: Sequence[str]) -> int | None:
    """`B`, `option b`, `b) Paris`, `2`; with a text that is not that choice's it is none."""
    head, _, rest = plain.partition(" ")
    if len(head) == 1 and head in _LETTERS[: len(texts)]:
        at = _LETTERS.index(head)
    elif head.isascii() and head.isdigit() and len(head) <= 3 and 1 <= int(head) <= len(texts):
        at = int(head) - 1
    else:
        return None
    return at if not rest or rest == texts[at] else None


def _names(said: str, text: str) -> bool:
    return f" {text} " in f" {said} "


def _inside_another(at: int, named: Sequence[int], texts: Sequence[str]) -> bool:
    """`New York` inside `New York City`, where both were found."""
    return any(each != at and _names(texts[each], texts[at]) for each in named)


def yes_or_no(answer: str) -> str | None:
    """By its first word: `Yes, because …`."""
    head = _led(answer).partition(" ")[0]
    if head in _YES:
        return "yes"
    return "no" if head in _NO else None


_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2060\ufeff\ud800-\udfff]")
_PLAIN: Final = str.maketrans(
    {
        "−": "-",  # noqa: RUF001 # a minus of typographers
        "–": "-",  # noqa: RUF001 # a dash used as one
        "×": "*",  # noqa: RUF001 # the sign for multiplying
        "·": "*",
        "÷": "/",
        "≈": "~",
        "±": "\\pm ",
        "≤": "\\le ",
        "≥": "\\ge ",
        "∞": "\\infty ",
        "∪": "\\cup ",  # noqa: RUF001 # a union, not a letter
        "π": "\\pi ",
        "√": "\\sqrt ",
        "°": " degrees ",
        "’": "'",  # noqa: RUF001 # a quote of typographers
        "“": '"',
        "”": '"',
        "\u00a0": " ",
        "½": "\\frac{1}{2}",
        "¼": "\\frac{1}{4}",
        "¾": "\\frac{3}{4}",
        "²": "^2",
        "³": "^3",
    }
)
_SPACING: Final = re.compile(
    r"\\(?:[,;:! ]|left(?![a-z])|right(?![a-z])|displaystyle|quad|qquad|big|Big)"
)
_WRAPPED: Final = re.compile(
    r"\\(?:text|textbf|textit|textsf|mbox|mathrm|mathbf|boldsymbol|boxed|fbox|emph)\s*\{"
)
_FRACTION: Final = re.compile(r"\\[dtc]frac")
_SENTENCE: Final = re.compile(r"\. ?(?=[A-Z][a-z])|\. (?=[A-Z])")
_LEAD_IN: Final = re.compile(
    r"^(?:(?:therefore|thus|hence|so|finally)\W*)?(?:the\s*)?(?:final\s*|correct\s*)?"
    r"(?:answer|result|solution|value)\s*(?:is|=|:)\s*",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"^(?:approximately|about|roughly|exactly|equalto|equal to|~|\\approx)\s*", re.IGNORECASE
)
NAMED: Final = re.compile(
    r"^(?:[a-zA-Z]|\\(?:theta|alpha|beta))(?:_\{?\w{1,3}\}?|\^\{-1\})?(?:\([a-z](?:,[a-z])*\))?"
    r"\s*(?:=|~|\\approx|\\in)\s*(?=\S)"
)
_REMARK: Final = re.compile(
    r"\((?:or|rounded|to|in|as|expressed|approximately|about)\b[^()]*\)$"
    r"|\((?:or|rounded|to|in|as|expressed)[a-z]{3,}[^()]*\)$"
    r"|,? ?or ?(?:approximately|about|simply|roughly|around|\\approx|~).*$",
    re.IGNORECASE,
)
_START: Final = " \t\r\n,;:$`*\"'"
_END: Final = _START + "."
"""Not `!`, which is a factorial."""


def cleaned(answer: str) -> str:
    """In its plain form: what is shown, and what its value is read from."""
    text = _UNSEEN.sub("", answer.strip()[:MAX_ANSWER_LENGTH]).translate(_PLAIN)
    text = (
        _first_paragraph(text)
        .replace("\\(", "")
        .replace("\\)", "")
        .replace("\\[", "")
        .replace("\\]", "")
    )
    text = _FRACTION.sub(r"\\frac", _SPACING.sub(" ", text.replace("\\$", "$")))
    text = _unwrapped(text)
    text = _first_sentence(text).lstrip(_START).rstrip(_END)
    text = text.replace("$", "")
    for around in (_LEAD_IN, _ABOUT, NAMED, _ABOUT, _REMARK):
        text = around.sub("", text)
    return " ".join(text.lstrip(_START).rstrip(_END).split())


def _unwrapped(text: str) -> str:
    r"""`\text{…}` and its like give way to what is in them; of a `\boxed` only that counts."""
    boxed = text.rfind("\\boxed{")
    if boxed >= 0:
        start = boxed + len("\\boxed{")
        text = text[start : _closing(text, start)]
    pieces: list[str] = []
    at = 0
    for found in _WRAPPED.finditer(text):
        if found.start() < at:
            continue
        end = _closing(text, found.end())
        pieces += [text[at : found.start()], " ", text[found.end() : end], " "]
        at = end + 1
    return "".join([*pieces, text[at:]])


def _closing(text: str, at: int) -> int:
    """Where the brace that was opened before `at` is closed; the end, if it never is."""
    depth = 1
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)


def _first_paragraph(text: str) -> str:
    """With one blank where there were many: what looks for more of them would take long."""
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    return " ".join(lines[: lines.index("")] if "" in lines else lines)


def _first_sentence(text: str) -> str:
    """`219. Therefore, he weighs …`: what follows explains it."""
    return _SENTENCE.split(text.strip(), maxsplit=1)[0]


# Answers that are made of others: lists, pairs, intervals, unions, matrices, inequalities.

KeyOf = Callable[[str], str]
"""Of one part."""

_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_MATRIX: Final = re.compile(r"^\\begin\{([pbv]?matrix)\}(.*)\\end\{\1\}$", re.DOTALL)
_ROWS: Final = re.compile(r"\\(?=\\(?:frac|sqrt|pi|sin|cos|tan|theta))|\\\\|\\(?![a-zA-Z])")
"""Two backslashes; or one of them, as some cleaners leave it."""
_AND: Final = re.compile(r"\s*(?:,\s*)?\b(?:and|or)\b\s*", re.IGNORECASE)
_BOUND: Final = re.compile(r"^([a-z])(<=|>=|<|>)(.+)$")
_BETWEEN: Final = re.compile(r"^([^<>]+?)(<=|<)([a-z])(<=|<)([^<>]+)$")
_THOUSANDS: Final = re.compile(r"^[+-]?\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?$")
_UNION: Final = "\u222a"
_MOST: Final = 64


def parted_key(text: str, key_of: KeyOf) -> str | None:
    """None where it is not made of parts."""
    matrix = _MATRIX.match(text)
    if matrix is not None:
        return _matrix_key(matrix.group(2), key_of)
    inequality = _inequality_key(text, key_of)
    if inequality is not None:
        return inequality
    united = _split(text.replace("\\cup", _UNION), _UNION)
    if len(united) > 1:
        return f"u:{_UNION.join(sorted(key_of(each) for each in united))}"
    return _bracketed_key(text, key_of) or _list_key(text, key_of)


def _matrix_key(inside: str, key_of: KeyOf) -> str:
    rows = [row for row in _ROWS.split(inside.strip()) if row.strip()]
    cells = [[key_of(cell.strip()) for cell in row.split("&")] for row in rows[:_MOST]]
    return f"m:{';'.join(','.join(row) for row in cells)}"


def _bracketed_key(text: str, key_of: KeyOf) -> str | None:
    """`(1,2)` is a point or an interval: its order and its brackets count. `{1,2}` is a set."""
    opened, inside, closed = _bracketed(text)
    if opened == "\\{":
        return _set_key(_split(inside, ","), key_of)
    if not opened:
        return None
    parts = _split(inside, ",")
    if len(parts) < 2 or _THOUSANDS.match(inside):
        return None
    return f"p:{opened}{','.join(key_of(each) for each in parts[:_MOST])}{closed}"


def _bracketed(text: str) -> tuple[str, str, str]:
    """What opens it, what is inside, what closes it; empty if it is not bracketed as a whole."""
    if text.startswith("\\{") and text.endswith("\\}"):
        return "\\{", text[2:-2], "\\}"
    if text.startswith("{") and text.endswith("}") and "," in text:
        return "\\{", text[1:-1], "\\}"
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and _whole(text):
        return text[0], text[1:-1], text[-1]
    return "", "", ""


def _whole(text: str) -> bool:
    depth = 0
    for at, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth == 0:
            return at == len(text) - 1
    return False


def _list_key(text: str, key_of: KeyOf) -> str | None:
    """`2, 3` and `3 and 2`: the order of a bare list says nothing."""
    if _THOUSANDS.match(text):
        return None
    parts = _split(_AND.sub(",", text), ",")
    if len(parts) == 1 and "\\pm" in text:
        parts = [text.replace("\\pm", "+", 1), text.replace("\\pm", "-", 1)]
    return _set_key(parts, key_of) if len(parts) > 1 else None


def _set_key(parts: list[str], key_of: KeyOf) -> str:
    keys = {key_of(each.strip()) for each in parts[:_MOST] if each.strip()}
    return next(iter(keys)) if len(keys) == 1 else f"s:{','.join(sorted(keys))}"


def _split(text: str, at: str) -> list[str]:
    """By a sign that is in no bracket."""
    parts, depth, begun = [], 0, 0
    for place, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == at and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]


def _inequality_key(text: str, key_of: KeyOf) -> str | None:
    """`x > 5` is `(5, ∞)`."""
    plain = (
        text.replace("\\leq", "<=")
        .replace("\\geq", ">=")
        .replace("\\le", "<=")
        .replace("\\ge", ">=")
    ).replace(" ", "")
    if between := _BETWEEN.match(plain):
        low, left, _, right, high = between.groups()
        return f"p:{_edge(left, '(', '[')}{key_of(low)},{key_of(high)}{_edge(right, ')', ']')}"
    if bound := _BOUND.match(plain):
        _, sign, edge = bound.groups()
        if sign[0] == ">":
            return f"p:{_edge(sign, '(', '[')}{key_of(edge)},n:infinity)"
        return f"p:(n:-infinity,{key_of(edge)}{_edge(sign, ')', ']')}"
    return None


def _edge(sign: str, without: str, within: str) -> str:
    return within if sign.endswith("=") else without


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
_PLAIN_UNITS: Final = frozenset({"degree", "degrees", "percent"})
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
            counts = {*UNITS, *_SCALES, *_PLAIN_UNITS, *_WORD.findall(question.casefold())}
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
    if not word or not question or word in _PLAIN_UNITS:
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


_WORDS_ONLY: Final = re.compile(r"[^\W\d_]+(?:[\s\"'`*_,;:!?.-]+[^\W\d_]+)*")
_PUNCTUATION: Final = re.compile(r"[\s\"'`*_,;:!?.-]+")
_LETTER: Final = re.compile(r"\(?([A-Za-z])[).:]?")
_LABELLED: Final = re.compile(r"\(([A-Z])\)\s*\\?\s*\S")
_REPEATING: Final = re.compile(r"(-?)(\d*)\.(\d*)\\overline\{(\d+)\}")
_EMPTY: Final = frozenset({"\\emptyset", "\\varnothing", "\\{\\}", "{}"})
_DEEPEST: Final = 3


def value_key(plain: str, question: str = "", depth: int = 0) -> str:
    """Total: a text is a value too."""
    if len(plain) > MAX_FORMULA_LENGTH or depth > _DEEPEST:
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
    if _WORDS_ONLY.fullmatch(plain):
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


# What an answer is counted as: equal keys for answers that mean the same. Pure, total, and in time
# linear in the text, whatever it holds.


@dataclass(frozen=True, slots=True)
class Canonical:
    key: str
    shown: str
    """In its plain form: what is given out if it wins."""


def canonical(question: Question, answer: str) -> Canonical | None:
    """None where it is no answer: empty, or none of the choices."""
    match question.kind:
        case QuestionKind.CHOICE:
            choice = chosen(answer, question.choices)
            return None if choice is None else Canonical(f"c:{choice}", question.choices[choice])
        case QuestionKind.YES_NO:
            word = yes_or_no(answer)
            return None if word is None else Canonical(f"c:{word}", word)
        case QuestionKind.NUMBER | QuestionKind.TEXT:
            return canonical_value(answer, question.text)
        case _:
            text = answer.strip()
            return Canonical(f"o:{text}", text) if text else None


def canonical_value(answer: str, question: str = "") -> Canonical | None:
    """A number, a formula, a set or a few words; units as the question's text names them."""
    plain = cleaned(answer)
    return Canonical(value_key(plain, question), plain) if plain else None
