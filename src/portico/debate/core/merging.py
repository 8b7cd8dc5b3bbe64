"""Which answers are counted as one: those whose keys are equal, and those that were found to mean
the same."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from portico.debate.core.debate import Debate
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.said import Said

SURELY: Final = 0.95
"""How near two texts are that are taken as one without asking anybody."""
HARDLY: Final = 0.60
"""And below which they are taken as two."""
_NUMBERS: Final = re.compile(r"\d+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_AROUND: Final = "\"'`*_“”‘’«»"  # noqa: RUF001 # quotes of typographers
_AFTER: Final = _AROUND + ".,:;!?…"
_NOT: Final = frozenset({"not", "no", "never", "none", "without", "isn", "doesn", "t", "cannot"})


def pair_name(one: str, other: str, seed: int) -> str:
    """The same in either order. Nobody who does not know the seed finds out by it what it is
    about: it names steps, which more people see than the debate."""
    both = "\x00".join([str(seed), *sorted((one, other))])
    return hashlib.sha256(both.encode("utf-8", "replace")).hexdigest()[:24]


def matched(debate: Debate, said: Sequence[Said], notes: Sequence[Note]) -> tuple[Said, ...]:
    """As they are counted: equal texts of an open question are one answer, before any judge looks
    at them, and go by the first of their voices."""
    return merged(said if debate.question.kind.closed else _by_text(debate, said), notes)


def _by_text(debate: Debate, said: Sequence[Said]) -> Sequence[Said]:
    order = {voice.name: place for place, voice in enumerate(debate.voices)}
    first: dict[str, Said] = {}
    for each in sorted(said, key=lambda each: order.get(each.voice, len(order))):
        first.setdefault(plain_text(each.answer), each)
    return [replace(each, key=first[plain_text(each.answer)].key) for each in said]


def plain_text(text: str) -> str:
    """For comparing whole texts: without case, and without spaces and punctuation between words.
    Signs inside of words stay: they may be what it says."""
    words = unicodedata.normalize("NFKC", text).casefold().split()
    return " ".join(word.lstrip(_AROUND).rstrip(_AFTER) or word for word in words)


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
