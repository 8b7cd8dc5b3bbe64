"""Canaries, who may know them, and what was told: an oracle of leaks."""

import enum
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from portico.bridge.core.attachments import Digest
from portico.kernel.errors import PorticoError
from portico.kernel.ids import Id
from portico.kernel.label import Label

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


def plain(thing: Any) -> Any:
    """As it would be written down for somebody."""
    match thing:
        case str() | int() | float() | None:
            return thing
        case Id() | Label() | Digest() | datetime() | timedelta() | enum.Enum():
            return str(thing)
        case bytes():
            return thing.decode("latin-1")
        case Mapping():
            return {str(name): plain(value) for name, value in thing.items()}
        case Sequence() | AbstractSet():
            return [plain(each) for each in thing]
        case _ if is_dataclass(thing):
            return {each.name: plain(getattr(thing, each.name)) for each in fields(thing)}
        case _:
            return str(thing)


def as_text(thing: object) -> str:
    return json.dumps(plain(thing))


def refusal(error: PorticoError) -> object:
    """All that a face could tell of it."""
    told = {name: value for name, value in vars(error).items() if not name.startswith("__")}
    return [type(error).__name__, error.code, str(error), error.fix, error.title, told]


@dataclass(frozen=True, slots=True)
class Judged:
    """Of one question."""

    calls: int
    outcome: str
    """`answered`, or by which code it was refused."""
    canaries: int
    """How many words they were told that somebody must not know."""
    leaks: Sequence[Leak]


class Tally:
    """Of many questions."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        """By way out: answers, or refusals, each judged whole."""
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.canaries: Counter[str] = Counter()
        self.wrote: Counter[str] = Counter()
        self.changed = 0
        self.worlds = 0
        self.leaks: list[Leak] = []

    def note(self, way: str, judged: Judged) -> None:
        self.reads[way] += judged.calls
        self.outcomes[way, judged.outcome] += 1
        self.canaries[way] += judged.canaries
        self.leaks += judged.leaks

    def answered(self, way: str) -> int:
        return self.outcomes[way, "answered"]

    @property
    def refused(self) -> Counter[str]:
        codes: Counter[str] = Counter()
        for (_, outcome), many in self.outcomes.items():
            codes[outcome] += many
        del codes["answered"]
        return codes

    def __str__(self) -> str:
        return (
            f"{self.reads.total()} reads by {len(self.reads)} ways out"
            f" (fewest: {min(self.reads.values(), default=0)}) in {self.worlds} worlds,"
            f" {self.refused.total()} refused; {self.canaries.total()} canaries told;"
            f" {self.wrote.total()} writes of {len(self.wrote)} kinds,"
            f" {self.changed} changes of clearance; {len(self.leaks)} leaks"
        )


_REPLACED = re.compile(
    r"(?P<id>\b[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+\d\d:\d\d|Z))"
    r"|(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)"
    r"|(?P<cursor>(?<=\"next\": \")[^\"]+|(?<=\"cursor\": \")[^\"]+|[\w-]{50,}={0,2}(?=\"))"
)


@dataclass(slots=True)
class Transcript:
    lines: list[str] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    def note(self, step: str, told: object) -> None:
        self.lines.append(f"{step}: {_REPLACED.sub(self._by_order, as_text(told))}")

    def _by_order(self, found: "re.Match[str]") -> str:
        kind, text = found.lastgroup, found.group()
        if kind == "second":
            return "<to the second>"  # two times may be one of these, or not
        if kind == "cursor" and re.fullmatch("[0-9a-f]{64}", text):
            return text  # what a content is known by is the same in both
        length = "" if kind == "time" else f", {len(text)} letters"
        return self._seen.setdefault(text, f"<{kind} {len(self._seen)}{length}>")


class WatchedLog(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines = 0
        self.canaries: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += 1
        self.canaries += CANARY.findall(f"{self.format(record)} {vars(record)}")


@contextmanager
def watched_log() -> Iterator[WatchedLog]:
    log, ours = WatchedLog(), logging.getLogger("portico")
    before = ours.level
    ours.setLevel(logging.DEBUG)
    ours.addHandler(log)
    try:
        yield log
    finally:
        ours.removeHandler(log)
        ours.setLevel(before)
