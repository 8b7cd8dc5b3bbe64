"""A window as derivations look at it: where values come from, which were used, what was asked."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.changes import changed
from portico.learning.core.prefetch.forms import place_text
from portico.learning.core.prefetch.pools import Pool, Value, said
from portico.learning.core.prefetch.spoken import sort_of
from portico.learning.core.prefetch.window import Found, SeenCall, Window, where_found

WORDS: Final = "words"
_FIRST: Final = "^"
_TOKEN: Final = re.compile(r"[^\W_]{2,40}")
_PART: Final = re.compile(r"[|~<]")
"""In a place: only a part of a text stands there."""
_RECENT: Final = 6
_MOST_TOKENS: Final = 60
_COMMON_WORDS: Final = (
    "the and for from with into what which where who how are was does did show find read open look "
    "give tell list get files file all any please this that there have has can you its their "
    "select limit count where order"
)
_COMMON: Final = frozenset(_COMMON_WORDS.split())


class Candidate(NamedTuple):
    value: Value
    raw: Value
    rows: list[int]
    """In which it stands."""


class Seat(NamedTuple):
    """Somewhere that values come from: the words of the caller, the first of them, the last call of
    a tool."""

    places: Mapping[str, Pool]
    found: Found
    call: SeenCall | None


def tokens(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text[:2_000].lower()):
        if token not in _COMMON:
            yield token


@dataclass(slots=True)
class View:
    window: Window
    seats: dict[str, Seat] = field(init=False)
    used: set[Value] = field(init=False)
    """Given to a call already."""
    _asked: dict[str, frozenset[str]] = field(default_factory=dict)
    _candidates: dict[tuple[str, str, str, str], tuple[Candidate, ...]] = field(
        default_factory=dict
    )
    given: dict[Hashable, JsonValue] = field(default_factory=dict)
    """What derivations gave, each looked up once."""
    in_hand: dict[str, frozenset[int]] = field(default_factory=dict)
    """The rows of which something was used, by where they come from; looked up once as well."""

    def __post_init__(self) -> None:
        calls = self.window.calls
        self.seats = {}
        if words := self.window.words:
            self.seats[WORDS] = _heard(words)
            self.seats[WORDS + _FIRST] = self.seats[WORDS] if len(words) == 1 else _heard(words[:1])
        for call in reversed(calls):
            self.seats.setdefault(place_text(call.tool), _seat(call))
        for call in calls:
            self._first(call)
        self.used = {
            value
            for call in calls
            for place, pool in call.places.items()
            if place.startswith("given")
            for value in pool.values
        }

    def _first(self, call: SeenCall) -> None:
        """The first call of a tool, where there is a later one too."""
        origin = place_text(call.tool)
        if self.seats[origin].call is not call:
            self.seats.setdefault(origin + _FIRST, _seat(call))

    @property
    def wished(self) -> bool:
        """Whether a call was given, as it is, something that the caller had said."""
        heard = self.seats.get(WORDS)
        return heard is not None and any(
            not heard.found.keys().isdisjoint(pool.values)
            for call in self.window.calls
            for place, pool in call.places.items()
            if place.startswith("given") and not _PART.search(place)
        )

    def candidates(self, origin: str, place: str, change: str, sort: str) -> tuple[Candidate, ...]:
        key = (origin, place, change, sort)
        if key not in self._candidates:
            self._candidates[key] = tuple(self._changed(*key))
        return self._candidates[key]

    def _changed(self, origin: str, place: str, change: str, sort: str) -> Iterator[Candidate]:
        seat = self.seats.get(origin)
        pool = None if seat is None else seat.places.get(place)
        if seat is None or pool is None:
            return
        base = None if seat.call is None else seat.call.base
        found: dict[Value, Candidate] = {}
        for value, row in zip(pool.values, pool.rows, strict=True):
            became = changed(value, change, base)
            if became is None or sort_of(became) != sort:
                continue
            found.setdefault(became, Candidate(became, value, [])).rows.append(row)
        yield from found.values()

    def asked(self, whose: str) -> frozenset[str]:
        """The words of the caller's texts, or of what it gave to its last calls."""
        if whose not in self._asked:
            texts = self.window.words if whose == "words" else self._arguments()
            found = [token for text in texts for token in tokens(text)]
            self._asked[whose] = frozenset(found[:_MOST_TOKENS])
        return self._asked[whose]

    def _arguments(self) -> list[str]:
        return [
            value
            for call in self.window.calls[-_RECENT:]
            for place, pool in call.places.items()
            if place.startswith("given")
            for value in pool.values
            if isinstance(value, str)
        ]


def _heard(texts: Sequence[str]) -> Seat:
    places = said(texts).places
    return Seat(places, where_found(places, None), None)


def _seat(call: SeenCall) -> Seat:
    return Seat(call.places, call.found, call)
