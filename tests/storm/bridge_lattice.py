"""Who may know what on the bridge, worked out without a line of the product.

Labels are texts here, as `confidential+law`. A canary is a word that stands in one field of one
thing, and nowhere else: wherever it comes out, it is known what was told.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LEVELS = ("public", "team", "confidential", "restricted")
COMPARTMENTS = ("finance", "law")
CANARY = re.compile(r"zq\d{7}k")
ID = re.compile(r"\b(?:prj|cnv|msg|wrk|lse|dbt)_[0-9a-z]{26}\b")
EVERY_LABEL = tuple(
    "+".join([level, *inside])
    for level in LEVELS
    for inside in ((), ("finance",), ("law",), ("finance", "law"))
)


def covers(one: str, other: str) -> bool:
    """Whether whoever is cleared for the first may read the second."""
    (level, *inside), (its_level, *its_inside) = one.split("+"), other.split("+")
    return LEVELS.index(level) >= LEVELS.index(its_level) and {*inside} >= {*its_inside}


def joined(labels: Iterable[str]) -> str:
    level, every = 0, set[str]()
    for label in labels:
        its, *inside = label.split("+")
        level, every = max(level, LEVELS.index(its)), every | {*inside}
    return "+".join([LEVELS[level], *sorted(every)])


def met(one: str, other: str) -> str:
    (level, *inside), (its_level, *its_inside) = one.split("+"), other.split("+")
    least = min(LEVELS.index(level), LEVELS.index(its_level))
    return "+".join([LEVELS[least], *sorted({*inside} & {*its_inside})])


@dataclass(frozen=True, slots=True)
class Needs:
    label: str
    inside: str | None = None
    """Of a closed conversation: only for those who take part in it."""


@dataclass(frozen=True, slots=True)
class Leak:
    way: str
    reader: str
    what: str
    why: str


@dataclass(slots=True)
class Book:
    """What there is, who takes part in what, and how secret each word and each id is."""

    needs: dict[str, Needs] = field(default_factory=dict)
    members: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    canaries: list[str] = field(default_factory=list)

    def canary(self, label: str, inside: str | None = None) -> str:
        word = f"zq{len(self.needs):07d}k"
        self.needs[word] = Needs(label, inside)
        self.canaries.append(word)
        return word

    def there_is(self, id_: object, label: str, inside: str | None = None) -> None:
        self.needs.setdefault(str(id_), Needs(label, inside))

    def may_know(self, word: str, who: str, cleared: str) -> bool:
        its = self.needs.get(word)
        if its is None:
            return True
        here = its.inside is None or who in self.members[its.inside]
        return here and covers(cleared, its.label)

    def leaks(self, text: str, *, way: str, who: str, cleared: str, asked: str) -> Iterator[Leak]:
        """Of what somebody was told, without what they had named themselves."""
        for word in {*CANARY.findall(text), *ID.findall(text)}:
            if word not in asked and not self.may_know(word, who, cleared):
                yield Leak(way, f"{who} cleared for {cleared}", word, str(self.needs[word]))
