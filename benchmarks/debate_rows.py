"""Recorded debates: what each agent said first and in the end, and what was right."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from portico.debate.core.canonical_answers import canonical_value

FILE: Final = "dylan-math.json"


@dataclass(frozen=True, slots=True)
class Row:
    topic: str
    level: int
    """A label of the data set; in production nobody knows it."""
    right: str
    rounds: int
    first: tuple[str | None, ...]
    """Keys; None where nothing could be read."""
    last: tuple[str | None, ...]
    """Of the last round; those of the first if there was none."""
    strict: tuple[bool, ...]
    """Whether each first answer is right by the letter."""

    @property
    def whole(self) -> int:
        """Calls of the whole debate as it was held: a ranker chose two of four after a round."""
        if self.rounds == 1:
            return len(self.first)
        if self.rounds == 2:
            return 9 if len(self.last) == 2 else 4 + len(self.last)
        return 11

    def orders(self) -> Sequence[tuple[str | None, ...]]:
        """Where it was debated, the recorded order knows who was picked later: any is as good."""
        return [self.first] if self.rounds == 1 else list(itertools.permutations(self.first))


def file_in(data: Path) -> Path:
    """A file, its folder, or the folder above."""
    if data.is_file():
        return data
    inner = data / "debates" / FILE
    return inner if inner.exists() else data / FILE


@lru_cache(maxsize=50_000)
def key_of(text: str | None) -> str | None:
    """Each text is read once."""
    found = None if text is None else canonical_value(text)
    return None if found is None else found.key


def read_rows(file: Path) -> Sequence[Row]:
    return [
        Row(
            topic=each["typ"],
            level=each["lev"],
            right=key_of(each["gt"]) or "",
            rounds=each["nr"],
            first=tuple(key_of(answer) for answer in each["r1"]),
            last=tuple(key_of(answer) for answer in each["fin"]),
            strict=tuple(answer == each["gt"] for answer in each["r1"]),
        )
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]


def merged(file: Path) -> dict[str, int]:
    """Pairs of different texts in one debate that are counted as one answer, by what they are."""
    found: Counter[str] = Counter()
    for each in json.loads(file.read_text(encoding="utf-8")):
        texts = sorted({text for text in (*each["r1"], each["gt"]) if text})
        for one, other in itertools.combinations(texts, 2):
            if key_of(one) == key_of(other) is not None:
                found[_FORMS.get((key_of(one) or "")[:1], "words")] += 1
    return dict(sorted(found.items()))


_FORMS: Final = {
    "n": "numbers",
    "f": "formulae",
    "s": "sets",
    "p": "points and intervals",
    "u": "unions",
    "m": "matrices",
    "e": "equations",
}
