"""The values of an answer, of arguments, of words, each with the place that it stands at.

A place is written so that it is the same in every answer of a tool: `json.items[0].id` is the id of
any item, `text|[FILE]|1` the second word of any line that begins with `[FILE]`, `text~path` any
path in a text, `text<in` what stands after "in".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from portico.gateway.core.inferred_schema import names_a_field
from portico.gateway.core.results import item, member
from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.nobodys import FIELDS
from portico.learning.core.prefetch.spoken import spoken

Value = str | int | float

_LONGEST: Final = 500
_LONGEST_PLACE: Final = 160
_MOST_VALUES: Final = 800
_MOST_A_PLACE: Final = 150
_MOST_PLACES: Final = 120
_DEEPEST: Final = 8
_LINES: Final = 200
_COLUMNS: Final = 7
_AROUND: Final = "'\",;:()[]{}<>"
_MARK: Final = re.compile(
    r"\[(?:FILE|DIR|LINK)\]|[-+*#@=>|.]{1,4}|commit|diff|index|modified|new|deleted"
)
"""What lines begin with everywhere; any other word there is the text's own."""


@dataclass(slots=True)
class Pool:
    """What stands at one place, in its order, with the row (item, line) that it stands in."""

    values: list[Value] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Pools:
    places: dict[str, Pool] = field(default_factory=dict)
    held: int = 0
    rows: int = 0

    def put(self, place: str, value: Value, row: int) -> None:
        if self.held >= _MOST_VALUES or len(place) > _LONGEST_PLACE:
            return
        if isinstance(value, str) and not 0 < len(value) <= _LONGEST:
            return
        pool = self.places.get(place)
        if pool is None:
            if len(self.places) >= _MOST_PLACES:
                return
            pool = self.places[place] = Pool()
        if len(pool.values) < _MOST_A_PLACE:
            pool.values.append(value)
            pool.rows.append(row)
            self.held += 1

    def row(self, within: int | None) -> int:
        """A new one for what stands in none yet."""
        if within is not None:
            return within
        self.rows += 1
        return self.rows


def answered(value: JsonValue) -> Pools:
    """Of what a tool gave, as `readings.reading` reads it."""
    pools = Pools()
    _walk(pools, value, "text" if isinstance(value, str) else "json", 0, None)
    return pools


def given(arguments: JsonValue) -> Pools:
    pools = Pools()
    _walk(pools, arguments, "given", 0, None)
    return pools


def said(texts: Sequence[str]) -> Pools:
    """Of the caller's words: the latest first."""
    pools = Pools()
    for text in reversed(texts):
        for kind, value in spoken(text):
            pools.put(f"said{kind}" if kind.startswith("<") else f"said~{kind}", value, 0)
    return pools


def _walk(pools: Pools, value: JsonValue, path: str, depth: int, row: int | None) -> None:
    if depth > _DEEPEST or pools.held >= _MOST_VALUES:
        return
    match value:
        case None | bool():
            return
        case str():
            _text(pools, value, path, row)
        case int() | float():
            pools.put(path, value, row or 0)
        case Mapping():
            _members(pools, value, path, depth, row)
        case _:
            for inner in value[:_MOST_A_PLACE]:
                _walk(pools, inner, item(path), depth + 1, pools.row(row))


def _members(
    pools: Pools, value: Mapping[str, JsonValue], path: str, depth: int, row: int | None
) -> None:
    listed = _listed(value)
    for key, inner in islice(value.items(), _MOST_A_PLACE):
        if not listed and names_a_field(key):
            _walk(pools, inner, member(path, key), depth + 1, row)
        else:
            at = pools.row(row)
            pools.put(f"{path}!", key, at)
            _walk(pools, inner, f"{path}.*", depth + 1, at)


def _listed(value: Mapping[str, JsonValue]) -> bool:
    """Whether it is a list of things that are alike, so that its keys are data."""
    kinds = {tuple(sorted(it)) if isinstance(it, Mapping) else None for it in value.values()}
    return len(value) > 1 and len(kinds) == 1 and None not in kinds


def _text(pools: Pools, text: str, path: str, row: int | None) -> None:
    if len(text) <= _LONGEST:
        pools.put(path, text.strip(), row or 0)
    if len(text.split(maxsplit=1)) < 2:
        return
    for line in text.split("\n", _LINES)[:_LINES]:
        at = pools.row(row)
        _columns(pools, line, path, at)
        for kind, value in spoken(line):
            if kind not in {"word", "other"}:
                pools.put(f"{path}{kind}" if kind[0] == "<" else f"{path}~{kind}", value, at)


def _columns(pools: Pools, line: str, path: str, row: int) -> None:
    tokens = line[:_LONGEST].split(maxsplit=_COLUMNS)
    if not tokens:
        return
    mark = _mark(tokens[0])
    if mark and len(tokens) > 1:
        pools.put(f"{path}|{mark}|", line[:_LONGEST].split(maxsplit=1)[1].strip(), row)
    for number, token in enumerate(tokens[:_COLUMNS]):
        pools.put(f"{path}|{mark}|{number}", token.strip(_AROUND), row)


def _mark(token: str) -> str:
    """What a line begins with, if that says what kind of line it is."""
    named = token.endswith(":") and token[:-1].lower() in FIELDS
    return token if named or _MARK.fullmatch(token) else ""
