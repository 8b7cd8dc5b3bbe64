"""Calls as the predictor sees them: forms, windows, changes."""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple, Self

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace, names_a_field
from portico.gateway.core.servers import ServerId
from portico.kernel.ids import InvalidId
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.learning.core.observed_values import (
    Pool,
    Value,
    answered,
    given,
    reading,
    said,
    sort_of,
)
from portico.workflows.core.plan_values import step_document

START: Final = "start"
_MOST_NAMES: Final = 16
_LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class CallForm:
    tool: ToolPlace
    names: tuple[str, ...]
    """Of its arguments, in their order."""

    def __str__(self) -> str:
        return form_text(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for what `str` did not write."""
        match _texts(text):
            case [place, *names]:
                return cls(place_of(place), tuple(names))
            case _:
                raise ValueError(text)


@dataclass(frozen=True, slots=True)
class EdgeKey:
    """From where a task stood to what it was thought to call."""

    before: ToolPlace | None
    """What was called before the last; None as well where that is not looked at."""
    last: ToolPlace | None
    failed: bool
    form: CallForm
    band: int
    """Of fifths, how sure it was at first sight."""

    def __str__(self) -> str:
        where = [_or_start(self.before), _or_start(self.last)]
        return _written([*where, "!" if self.failed else "", str(self.form), str(self.band)])

    @property
    def way(self) -> "EdgeKey":
        """The same, however sure each single time was."""
        return replace(self, band=0)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for what `str` did not write."""
        match _texts(text):
            case [before, last, failed, form, band]:
                places = [None if it == START else place_of(it) for it in (before, last)]
                return cls(places[0], places[1], failed == "!", CallForm.parse(form), int(band))
            case _:
                raise ValueError(text)


def form_of(tool: ToolPlace, arguments: JsonObject) -> CallForm:
    return CallForm(tool, tuple(sorted(arguments)))


def learnable(form: CallForm) -> bool:
    """Names of arguments that are data, or more than anybody gives, are not written down."""
    short = len(form.names) <= _MOST_NAMES and len(form.tool.tool) <= _LONGEST_NAME
    return short and all(map(names_a_field, form.names))


@lru_cache(maxsize=4_096)
def form_text(form: CallForm) -> str:
    return _written([place_text(form.tool), *form.names])


@lru_cache(maxsize=4_096)
def place_text(place: ToolPlace) -> str:
    return f"{place.server}/{place.tool}"


def place_of(text: str) -> ToolPlace:
    """Raises `ValueError` for what `place_text` did not write."""
    server, slash, tool = text.partition("/")
    if not slash or not tool:
        raise ValueError(text)
    try:
        return ToolPlace(ServerId.parse(server), tool)
    except InvalidId as error:
        raise ValueError(text) from error


def _or_start(place: ToolPlace | None) -> str:
    return START if place is None else place_text(place)


def _written(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _texts(text: str) -> list[str]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(it, str) for it in found):
        raise ValueError(text)
    return found


Change = Callable[[str, str | None], Value | None]
"""Of a text, and the path that its call was made for."""

_SIDE: Final = re.compile(r"[ab]/(.+)")
_DIGITS: Final = re.compile(r"-?\d{1,15}")
_SINGULAR: Final = re.compile(r"[a-z_]{2,40}[a-rt-z]")
_LONGEST: Final = 500


def _folder(text: str, _: str | None) -> Value | None:
    head, slash, _tail = text.rstrip("/").rpartition("/")
    return head if slash and head else None


def _above(text: str, _: str | None) -> Value | None:
    folder = _folder(text, None)
    return _folder(folder, None) if isinstance(folder, str) else None


def _name(text: str, _: str | None) -> Value | None:
    return text.rstrip("/").rpartition("/")[2] if "/" in text else None


def _stem(text: str, _: str | None) -> Value | None:
    stem, dot, _extension = text.rpartition("/")[2].rpartition(".")
    return stem if dot and stem else None


def _side(text: str, _: str | None) -> Value | None:
    found = _SIDE.fullmatch(text)
    return found[1] if found else None


def _under(text: str, base: str | None) -> Value | None:
    if base is None or text.startswith(("/", "~")) or len(text) + len(base) > _LONGEST:
        return None
    inner = _SIDE.fullmatch(text)
    return f"{base.rstrip('/')}/{(inner[1] if inner else text).removeprefix('./')}"


def _within(text: str, base: str | None) -> Value | None:
    if base is None or not text.startswith(base.rstrip("/") + "/"):
        return None
    return text[len(base.rstrip("/")) + 1 :] or None


def _number(text: str, _: str | None) -> Value | None:
    return int(text) if _DIGITS.fullmatch(text) else None


def _lower(text: str, _: str | None) -> Value | None:
    lower = text.lower()
    return lower if lower != text else None


def _plural(text: str, _: str | None) -> Value | None:
    """Of a ticket, the table `tickets`."""
    return f"{text}s" if _SINGULAR.fullmatch(text) else None


CHANGES: Final[dict[str, Change]] = {
    "": lambda text, _: text,
    "folder": _folder,
    "above": _above,
    "name": _name,
    "stem": _stem,
    "side": _side,
    "under": _under,
    "within": _within,
    "number": _number,
    "lower": _lower,
    "plural": _plural,
}


def changed(value: Value, change: str, base: str | None) -> Value | None:
    if not isinstance(value, str):
        return {"": value, "text": str(value)}.get(change)
    how = CHANGES.get(change)
    return None if how is None else how(value, base)


def all_changed(value: Value, base: str | None) -> Iterator[tuple[str, Value]]:
    names = CHANGES if isinstance(value, str) else ("", "text")
    for name in names:
        became = changed(value, name, base)
        if became is not None:
            yield name, became


# What one task did last and said, for as long as it is at it; values are nowhere else.

IDLE: Final = timedelta(minutes=10)
LONGEST: Final = timedelta(minutes=30)
_CALLS: Final = 32
_VALUES: Final = 4_000
_TEXTS: Final = 8
_TEXT: Final = 2_000
_LARGEST: Final = 200_000
"""Characters of an answer beyond which its values are not looked for."""

_LARGEST_CALL: Final = 20_000
"""Bytes of what is called beyond which it is not followed."""

ValuePositions = Mapping[Value, tuple[tuple[str, str], ...]]
"""At which place, changed how, a value is found."""


@dataclass(frozen=True, slots=True)
class ObservedCall:
    tool: ToolPlace
    arguments: JsonObject
    places: Mapping[str, Pool]
    """Of what it was given and of what it gave."""
    found: ValuePositions
    failed: bool
    ended: datetime
    reads: bool = True
    """It changed nothing, so that what others gave is still so."""
    own: AbstractSet[str] = frozenset()
    base: str | None = None
    """The path that it was made for."""
    key: bytes = b""
    """The same for the same call; empty for one that nothing is learnt from."""

    @property
    def form(self) -> CallForm:
        return form_of(self.tool, self.arguments)

    @property
    def values(self) -> int:
        return sum(len(pool.values) for pool in self.places.values())


def seen_call(  # noqa: PLR0913 # a call, and what its tool says of itself
    tool: ToolPlace,
    arguments: JsonObject,
    answer: ToolResult,
    *,
    ended: datetime,
    reads: bool,
    own: AbstractSet[str] = frozenset(),
    parameters: AbstractSet[str] | None = None,
) -> ObservedCall:
    """`own` are values, and `parameters` names, that stand in the tool's definition; None: any."""
    key = call_key(tool, arguments) if parameters is None or arguments.keys() <= parameters else b""
    arguments = arguments if key else {}
    base = _base(arguments)
    small = answer.size <= _LARGEST
    value = reading(step_document(answer)) if small else ""
    places = {**given(arguments).places, **answered(value).places}
    found = where_found(places, base)
    return ObservedCall(tool, arguments, places, found, answer.failed, ended, reads, own, base, key)


def call_key(tool: ToolPlace, arguments: JsonObject) -> bytes:
    """The same for the same call, and empty for one that cannot be written, or is too long."""
    whole: list[JsonValue] = [str(tool.server), tool.tool, arguments]
    try:
        written = canonical(whole)
    except NotCanonical:
        return b""
    return b"" if len(written) > _LARGEST_CALL else blake2b(written, digest_size=16).digest()


def where_found(places: Mapping[str, Pool], base: str | None) -> ValuePositions:
    found: dict[Value, dict[tuple[str, str], None]] = {}
    for place, pool in places.items():
        for value in dict.fromkeys(pool.values):
            for change, became in all_changed(value, base):
                found.setdefault(became, {})[place, change] = None
    return {value: tuple(where) for value, where in found.items()}


def _base(arguments: JsonObject) -> str | None:
    paths = (value for _, value in sorted(arguments.items()) if isinstance(value, str))
    return next((path for path in paths if "/" in path and len(path) <= 300), None)


@dataclass(frozen=True, slots=True)
class RecentCalls:
    calls: tuple[ObservedCall, ...] = ()
    words: tuple[str, ...] = ()
    started: datetime | None = None

    def then(self, call: ObservedCall) -> "RecentCalls":
        calls = (*self.calls, call)[-_CALLS:]
        held = sum(it.values for it in calls)
        while held > _VALUES and len(calls) > 1:
            held, calls = held - calls[0].values, calls[1:]
        return RecentCalls(calls, self.words, self.started or call.ended)

    def told(self, text: str) -> "RecentCalls":
        text = text.strip()[:_TEXT]
        if not text or text in self.words:
            return self
        return RecentCalls(self.calls, (*self.words, text)[-_TEXTS:], self.started)

    def over(self, now: datetime) -> bool:
        """Whether what comes now belongs to something else."""
        if not self.calls or self.started is None:
            return False
        return now - self.calls[-1].ended > IDLE or now - self.started > LONGEST


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
    found: ValuePositions
    call: ObservedCall | None


def tokens(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text[:2_000].lower()):
        if token not in _COMMON:
            yield token


@dataclass(slots=True)
class View:
    window: RecentCalls
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

    def _first(self, call: ObservedCall) -> None:
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


def _seat(call: ObservedCall) -> Seat:
    return Seat(call.places, call.found, call)


class Origin(StrEnum):
    WORDS = "words"
    """The caller's own."""
    CONSTANT = "constant"
    ARGUMENT = "argument"
    """Of an earlier call, wherever its caller had it from."""
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Source:
    origin: Origin
    tool: ToolPlace | None = None
    """Whose argument or result it was."""


@dataclass(frozen=True, slots=True)
class Predicted:
    form: CallForm
    arguments: JsonObject
    confidence: float
    edge: EdgeKey
    live: bool
    """Whether the record of its edge is good enough for it to be made."""
    sources: Mapping[str, AbstractSet[Source]]
    """Of each argument; a value may stand in several places."""


# A read that somebody will probably ask for: what, with what, and where each value is from.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    ref: ToolRef
    pin: str
    """Of the definition that it was foretold of."""
    arguments: JsonObject
    sources: Mapping[str, AbstractSet[Source]] = field(default_factory=dict)
    """Of each argument."""
    proven: bool
    """Whether what foretold it has been right often enough."""
    edge: EdgeKey | None = None
    """What foretold it; None: a suggestion."""
    then: "Callable[[ToolResult], Sequence[ReadRequest]] | None" = None
    """What can be read once this has been answered; it keeps nothing of the answer."""

    @classmethod
    def of(cls, predicted: Predicted, ref: ToolRef, pin: str) -> Self:
        return cls(
            ref=ref,
            pin=pin,
            arguments=predicted.arguments,
            sources=predicted.sources,
            proven=predicted.live,
            edge=predicted.edge,
        )
