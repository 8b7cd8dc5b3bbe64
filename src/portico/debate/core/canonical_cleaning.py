"""An answer without what is around it: wrapping, sentences, names of what it is the value of."""

import re
from typing import Final

MOST: Final = 2_000
"""Characters that are looked at."""

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
_LEAD: Final = re.compile(
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
    text = _UNSEEN.sub("", answer.strip()[:MOST]).translate(_PLAIN)
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
    for around in (_LEAD, _ABOUT, NAMED, _ABOUT, _REMARK):
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
