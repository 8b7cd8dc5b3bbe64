"""Text of strangers: hidden characters, look-alikes, plain text."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_DRAWN_ALIKE: Final = {
    # Cyrillic
    **dict(
        zip("абвгеёзийкмнопрстухьѕіїјѵѡһԁԛԝӏґ", "a6breë3uŭkmhonpctyxbsiïjvwhdqwlr", strict=True)
    ),
    # Greek
    **dict(zip("αβγδεζηικλμνοπρστυφχωϲϳ", "abydeznikλuvonpotuφxwcj", strict=True)),
    # Armenian
    **dict(zip("օսհոցզյ", "ouhngqj", strict=True)),
    # Latin with a stroke or without its dot, and letters made for phonetics
    **dict(zip("ıɩɪǀłøđħŧɑɡʏʟɴʀꜱƅɵ", "lllllodhtagylnrsbo", strict=True)),
    # digits, and the two letters that are most often written for each other
    **dict(zip("01i", "oll", strict=True)),
    # pairs of letters that run together
    "m": "rn",
    "w": "vv",
}
"""Ours, and small: what is most often mistaken, after the idea of UTS 39."""


def skeleton(name: str) -> str:
    """Equal for two names that can be taken for each other; not fit to be shown."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    bare = _without_marks(folded)
    drawn = _without_marks("".join(_DRAWN_ALIKE.get(char, char) for char in bare))
    again = "".join(_DRAWN_ALIKE.get(char, char) for char in drawn)
    return "".join(char for char in again if char not in "_-./:@+ ")


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """One of the others that this name can be taken for; itself does not count."""
    mine = skeleton(name)
    return next((other for other in others if other != name and skeleton(other) == mine), None)


def _without_marks(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(char for char in parts if unicodedata.category(char) != "Mn")


LONGEST_NAME: Final = 128

_PICTURES: Final = (
    (0x00A9, 0x00A9),
    (0x00AE, 0x00AE),
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2190, 0x21FF),
    (0x2300, 0x23FF),
    (0x24C2, 0x24C2),
    (0x25A0, 0x27BF),
    (0x2900, 0x297F),
    (0x2B00, 0x2BFF),
    (0x3030, 0x303D),
    (0x3297, 0x3299),
    (0x1F000, 0x1FAFF),
)
"""Where emoji are. Python's tables are older than some of them, which it calls unassigned."""

_JOINED_SCRIPTS: Final = range(0x0600, 0x0E00)
"""Arabic to Sinhala: here a joiner between two letters changes how they are written."""

_SELECTORS: Final = "\ufe0e\ufe0f"
_JOINERS: Final = "\u200c\u200d"
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_NAME_MARKS: Final = frozenset("_-./:@+ ")
_UNUSUAL: Final = re.compile(r"[^\n\t\r -~]")


def text_flaw(text: str) -> str | None:
    """What is hidden in a description, in words; None if all of it can be seen."""
    for found in _UNUSUAL.finditer(text):
        if _hidden(found[0]) and not _has_reason(text, found.start()):
            return f"hides {_named(found[0])} at character {found.start() + 1}"
    return None


def name_flaw(text: str) -> str | None:
    """Why this cannot be the name of a tool, in words. Stricter than for a description: a name
    is all that stands between two tools."""
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    for place, char in enumerate(text):
        if not (char in _NAME_MARKS or _letter(char)):
            return f"has {_named(char)} at character {place + 1}"
    if unicodedata.normalize("NFKC", text) != text or text != " ".join(text.split()):
        return "is not in its simplest form"
    if len(_alphabets(text)) > 1:
        return "mixes letters of several alphabets"
    return None


def visible(text: str, longest: int = 80) -> str:
    """For people to look at: what is hidden is spelt out, what is long is cut."""
    shown = "".join(
        char
        if char == " " or (char.isprintable() and not _hidden(char))
        else f"<U+{ord(char):04X}>"
        for char in text[:longest]
    )
    return shown if len(text) <= longest else f"{shown}…"


def _hidden(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cn":
        return not _pictured(char)
    return category in {"Cf", "Co", "Cs", "Cc"} or char in _BLANK_LETTERS or _selects(char)


def _has_reason(text: str, place: int) -> bool:
    """A selector after a picture, a joiner between two of them or in a script that needs it."""
    char, before, after = text[place], text[max(0, place - 3) : place], text[place + 1 : place + 2]
    if char in _SELECTORS:
        return _pictured(before[-1:]) or (
            before[-1:] in tuple("0123456789#*") and after == "\u20e3"
        )
    if char not in _JOINERS:
        return False
    if _pictured(before.rstrip(_SELECTORS)[-1:]):
        return _pictured(after)
    return _joins(before[-1:]) and _joins(after)


def _selects(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\u180b" <= char <= "\u180f" or _supplement(char)


def _supplement(char: str) -> bool:
    return "\U000e0100" <= char <= "\U000e01ef"


def _pictured(char: str) -> bool:
    return char != "" and any(first <= ord(char) <= last for first, last in _PICTURES)


def _joins(char: str) -> bool:
    return char != "" and ord(char) in _JOINED_SCRIPTS and unicodedata.category(char)[0] in "LM"


def _letter(char: str) -> bool:
    category = unicodedata.category(char)
    return (category[0] in "LM" or category == "Nd") and not _hidden(char)


def _alphabets(text: str) -> set[str]:
    """Of those that share letters with each other; 漢字 and Latin beside it are no disguise."""
    found = {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}
    return found & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}


def _named(char: str) -> str:
    name = unicodedata.name(char, "").lower()
    return f"U+{ord(char):04X} ({name})" if name else f"U+{ord(char):04X}"


_MARKUP: Final = re.compile(r"(?:(?<=\s)|^)(?:[#>\u203a*+=~|_-]+|\d+\.)(?=\s|$)")
_EMPHASIS: Final = re.compile(r"\*{2,}|_{2,}(?=\s|$)|(?:(?<=\s)|^)_{2,}|~{2,}|`{3,}")
_INSTEAD: Final = str.maketrans({"`": "'", "<": "\u2039", ">": "\u203a", "[": "(", "]": ")"})
_END: Final = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)[.!?](?=\s+[^a-z\s]|\s*$)|[\u3002\uff01\uff1f]"
)
_BREAK: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*#]|[\w ]{1,30}:[ \t]*(?:\n|$)))")
"""An empty line, or a list or a heading on the next one."""


def plain(text: str, longest: int) -> str:
    """On one line, cut at a word; nothing in it can begin a heading, a list, a quote, a code
    block or a tag, and brackets are left to us."""
    seen = "".join(char if char.isprintable() else " " for char in text)
    calm = _EMPHASIS.sub("", seen).translate(_INSTEAD)
    return cut(" ".join(_MARKUP.sub(" ", " ".join(calm.split())).split()), longest)


def first_sentence(text: str) -> str:
    """Of its first paragraph that has words in it."""
    paragraphs = (part.strip() for part in _BREAK.split(text))
    first = next((part for part in paragraphs if any(map(str.isalnum, part))), "")
    end = _END.search(first)
    return first[: end.end()] if end else first


def cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    words, space, _ = head.rpartition(" ")
    return f"{words.rstrip(' ,;:.') if space else head}…"
