"""Which of the choices an answer is: by its letter, its number, its text, or its text with a letter
before it; case, punctuation and wrapping do not count."""

import re
from collections.abc import Sequence
from typing import Final

MOST: Final = 2_000
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
    return _WRAPPING.sub(" ", text[:MOST]).strip().casefold()


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
