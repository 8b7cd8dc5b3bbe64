"""Which answers are counted as one: those whose keys are equal, and those that were found to mean
the same."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from portico.debate.core.note import Note, NoteKind
from portico.debate.core.said import Said

SURELY: Final = 0.95
"""How near two texts are that are taken as one without asking anybody."""
HARDLY: Final = 0.60
"""And below which they are taken as two."""
_NUMBERS: Final = re.compile(r"\d+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_NOT: Final = frozenset({"not", "no", "never", "none", "without", "isn", "doesn", "t", "cannot"})


def pair_name(one: str, other: str, seed: int) -> str:
    """The same in either order. Nobody who does not know the seed finds out by it what it is
    about: it names steps, which more people see than the debate."""
    both = "\x00".join([str(seed), *sorted((one, other))])
    return hashlib.sha256(both.encode("utf-8", "replace")).hexdigest()[:24]


def merged(said: Sequence[Said], notes: Sequence[Note]) -> tuple[Said, ...]:
    """With one key for all that mean the same, and what the first of them is shown as."""
    heads = _heads(notes)
    shown: dict[str, str] = {}
    for each in said:
        shown.setdefault(_head(heads, each.key), each.shown)
    return tuple(
        replace(each, key=_head(heads, each.key), shown=shown[_head(heads, each.key)])
        for each in said
    )


def nearness(one: str, other: str, near: float) -> bool | None:
    """Whether they mean the same, by how near they are; None where only a judge could say. Texts
    with other numbers in them, or of which one says no, are near and mean something else."""
    if near < HARDLY:
        return False
    if near < SURELY or _telling(one) != _telling(other):
        return None
    return True


def _telling(text: str) -> tuple[Counter[str], int]:
    words = Counter(_WORDS.findall(text.casefold()))
    return Counter(_NUMBERS.findall(text)), sum(words[word] for word in _NOT)


def _heads(notes: Sequence[Note]) -> dict[str, str]:
    heads: dict[str, str] = {}
    for note in notes:
        if note.kind is NoteKind.SAME and note.body.get("same") is True:
            one, other = (_head(heads, str(note.body[side])) for side in ("one", "other"))
            if one != other:
                heads[max(one, other)] = min(one, other)
    return heads


def _head(heads: dict[str, str], key: str) -> str:
    while key in heads:
        key = heads[key]
    return key
