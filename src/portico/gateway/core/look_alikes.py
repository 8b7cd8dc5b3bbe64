"""Names that are different to a machine and the same to an eye have the same skeleton."""

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
