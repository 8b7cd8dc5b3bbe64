"""What is counted of calls: predictions, and layers of what was learned."""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, Self
from uuid import UUID

from portico.gateway.core.servers import ServerId
from portico.kernel.label import Label

# Counters of what could be foreseen: of which kind, of what, and how often it came true.

LONGEST_KEY: Final = 4_000
LONGEST_KIND: Final = 32
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID: Final = re.compile(r"srv_[0-7][0-9a-hjkmnp-tv-z]{25}")
"""Wherever they stand: in JSON the sign before one can be a letter, as in `\\t`."""
_UNWRITABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""What the database takes in no text."""


@dataclass(frozen=True, slots=True)
class CountKey:
    """`key` is canonical JSON; `servers` are those that it names, and with any of which it goes."""

    kind: str
    key: str
    servers: frozenset[ServerId]

    @classmethod
    def of(cls, kind: str, key: str) -> Self:
        """Whatever in it looks like the id of a server is taken for one."""
        plain = {ServerId(UUID(text)) for text in _UUID.findall(key)}
        return cls(kind, key, frozenset(plain | {*map(ServerId.parse, _ID.findall(key))}))

    @property
    def fits(self) -> bool:
        """Whether it can be kept."""
        sized = 0 < len(self.kind) <= LONGEST_KIND and 0 < len(self.key) <= LONGEST_KEY
        return sized and not _UNWRITABLE.search(self.kind + self.key)


@dataclass(frozen=True, slots=True)
class Count:
    tried: int
    hit: int
    last_seen: datetime

    def and_then(self, other: "Count") -> "Count":
        return Count(
            self.tried + other.tried,
            self.hit + other.hit,
            max(self.last_seen, other.last_seen),
        )


# All that is counted at one label: how often something was tried, and how often it came true.
#
# Counters stand in tables by their kind, in each by what they are about, and there by what was
# found of it. Every table is bounded: what was not seen for longest goes first.

FOLLOWS: Final = "follows"
"""After what, which form was called."""
HINTS: Final = "hints"
"""After what and with which sign, which form was called."""
WAYS: Final = "ways"
"""Into which argument, which derivation gave what was then given."""
MADE: Final = "made"
"""Of each form, which derivations together gave the call that was then made."""
RECORD: Final = "record"
"""Of each edge, what became of what was predicted."""

LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    FOLLOWS: (4_000, 48),
    HINTS: (20_000, 24),
    WAYS: (8_000, 48),
    MADE: (1_000, 64),
    RECORD: (12_000, 1),
}
"""How many things, and how much of each."""
_MOST: Final[Mapping[str, int]] = {
    FOLLOWS: 12_000,
    HINTS: 60_000,
    WAYS: 60_000,
    MADE: 16_000,
    RECORD: 12_000,
}
"""In all."""
_LONGEST_KEY: Final = 2_000
_NOTHING: Final[Mapping[str, list[int]]] = MappingProxyType({})


class Increment(NamedTuple):
    kind: str
    key: str
    """Canonical JSON: what it is about, and what was found of it."""
    tried: int
    hit: int


@dataclass(slots=True)
class _Table:
    outers: int
    inners: int
    most: int
    rows: OrderedDict[str, dict[str, list[int]]] = field(default_factory=OrderedDict)
    held: int = 0
    made: int = 0
    """Counters, since it is there."""

    def add(self, outer: str, inner: str, tried: int, hit: int) -> None:
        row = self.rows.get(outer)
        if row is None:
            row = self.rows[outer] = {}
        self.rows.move_to_end(outer)
        count = row.pop(inner, None)
        if count is None:
            self._make_room(row)
            count, self.held, self.made = [0, 0], self.held + 1, self.made + 1
        count[0] += tried
        count[1] += hit
        row[inner] = count
        while len(self.rows) > self.outers or self.held > self.most:
            self.held -= len(self.rows.popitem(last=False)[1])

    def _make_room(self, row: dict[str, list[int]]) -> None:
        """What came true least goes, and of those what was not seen for longest."""
        if len(row) >= self.inners:
            del row[min(row, key=lambda inner: row[inner][1] ** 2 / row[inner][0])]
            self.held -= 1


def _tables() -> dict[str, _Table]:
    return {kind: _Table(*limits, _MOST[kind]) for kind, limits in LIMITS.items()}


@dataclass(slots=True)
class LabelModel:
    label: Label
    _by_kind: dict[str, _Table] = field(default_factory=_tables)

    @classmethod
    def of(cls, label: Label, rows: Iterable[Increment]) -> Self:
        """Least lately seen first."""
        layer = cls(label)
        layer.add(rows)
        return layer

    def add(self, increments: Iterable[Increment]) -> None:
        """What is of no known kind, or does not read as a key, is passed over."""
        for kind, key, tried, hit in increments:
            pair = _pair(kind, key) if kind in self._by_kind and 0 <= hit <= tried else None
            if pair is not None and tried:
                self._by_kind[kind].add(*pair, tried, hit)

    def note(self, kind: str, outer: str, inner: str, hit: int = 1) -> Iterable[Increment]:
        """One more, and how it is written down; nothing of what is too long for that."""
        key = _key(kind, outer, inner)
        if len(key) > _LONGEST_KEY:
            return ()
        self._by_kind[kind].add(outer, inner, 1, hit)
        return (Increment(kind, key, 1, hit),)

    def row(self, kind: str, outer: str) -> Mapping[str, list[int]]:
        """Of each that was found: how often tried, how often true."""
        return self._by_kind[kind].rows.get(outer, _NOTHING)

    def counted(self) -> Iterator[Increment]:
        for kind, table in self._by_kind.items():
            for outer, row in table.rows.items():
                for inner, (tried, hit) in row.items():
                    yield Increment(kind, _key(kind, outer, inner), tried, hit)

    @property
    def size(self) -> int:
        return sum(table.held for table in self._by_kind.values())

    @property
    def made(self) -> int:
        """Counters since it is there, with those that have gone again."""
        return sum(table.made for table in self._by_kind.values())


def added_up(increments: Iterable[Increment]) -> Mapping[tuple[str, str], Increment]:
    total: dict[tuple[str, str], Increment] = {}
    for kind, key, tried, hit in increments:
        before = total.get((kind, key))
        if before is not None:
            tried, hit = before.tried + tried, before.hit + hit  # noqa: PLW2901 # the sum
        total[kind, key] = Increment(kind, key, tried, hit)
    return total


def summed(layers: Iterable[LabelModel], kind: str, outer: str) -> Mapping[str, tuple[int, int]]:
    """Over all layers."""
    total: dict[str, tuple[int, int]] = {}
    for layer in layers:
        for inner, (tried, hit) in layer.row(kind, outer).items():
            before = total.get(inner, (0, 0))
            total[inner] = (before[0] + tried, before[1] + hit)
    return total


def _key(kind: str, outer: str, inner: str) -> str:
    """That of a record is its edge as it is written."""
    if kind == RECORD:
        return outer
    return json.dumps([outer, inner], ensure_ascii=False, separators=(",", ":"))


def _pair(kind: str, key: str) -> tuple[str, str] | None:
    if len(key) > _LONGEST_KEY:
        return None
    if kind == RECORD:
        return key, ""
    try:
        found = json.loads(key)
    except ValueError:
        return None
    match found:
        case [str(outer), str(inner)]:
            return outer, inner
        case _:
            return None
