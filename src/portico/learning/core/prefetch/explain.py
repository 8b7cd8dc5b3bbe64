"""Every way in which an argument may have come from what its task had seen before."""

import json
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.choices import CHOICES, LISTS
from portico.learning.core.prefetch.derivations import Derivation, Filled, Fixed, Taken, derive
from portico.learning.core.prefetch.nobodys import SQL, nobodys
from portico.learning.core.prefetch.pools import Value
from portico.learning.core.prefetch.spoken import sort_of
from portico.learning.core.prefetch.view import View

_MOST: Final = 24
_MOST_PLACES: Final = 24
_LONGEST: Final = 400
_PART: Final = re.compile(r"\w(?:[\w./@-]*\w)?")
_WORD: Final = re.compile(r"\w+")
_MOST_PARTS: Final = 32
_MOST_SPLITS: Final = 8
_LONGEST_NUMBER: Final = 15
_MOST_SLOTS: Final = 4
_A_SLOT: Final = 2

Span = tuple[int, int]


def explained(view: View, value: JsonValue, own: AbstractSet[str]) -> Sequence[Derivation]:
    """Also as itself, if it is nobody's; nothing if it came from nowhere."""
    found: list[Derivation] = list(islice(_taken(view, value), _MOST))
    if isinstance(value, str) and not found:
        found += [*islice(_joined(view, value), _MOST)] or _filled(view, value)
    if nobodys(value, own):
        found.append(Fixed(json.dumps(value, ensure_ascii=False)))
    return found


def _taken(view: View, value: JsonValue) -> Iterator[Taken]:
    match value:
        case None | bool():
            return
        case str() | int() | float():
            yield from _single(view, value, value, tuple(CHOICES))
        case [str() | int() as first, *_] if len(value) <= _LONGEST:
            yield from _single(view, first, value, LISTS)


def _single(view: View, sought: Value, whole: JsonValue, choices: Sequence[str]) -> Iterator[Taken]:
    sort = sort_of(sought)
    for origin, place, change in islice(_where(view, sought), _MOST_PLACES):
        for choice in choices:
            way = Taken(origin, place, change, sort, choice)
            if same(derive(view, way), whole):
                yield way


def _where(view: View, sought: Value) -> Iterator[tuple[str, str, str]]:
    for origin, seat in view.seats.items():
        for place, change in seat.found.get(sought, ()):
            yield origin, place, change


def same(one: JsonValue, other: JsonValue) -> bool:
    return one == other and type(one) is type(other)


def _filled(view: View, text: str) -> Sequence[Filled]:
    """The text with its words taken from somewhere, where all that stays is nobody's."""
    if len(text) > _LONGEST:
        return []
    parts = {span: _slot(view, text[slice(*span)]) for span in _parts(view, text)}
    stays = {span: nobodys(text[slice(*span)]) for span in parts}
    if len(parts) > _MOST_PARTS or not all(ways or stays[it] for it, ways in parts.items()):
        return []
    needed = [span for span in parts if not stays[span]]
    optional = [span for span, ways in parts.items() if stays[span] and ways]
    filled = dict[Filled, None]()
    for spans in _subsets(needed, optional):
        around = _around(text, spans)
        filled.update(dict.fromkeys(_combined(around, [parts[it] for it in spans])))
    return list(filled)[:_MOST]


def _parts(view: View, text: str) -> Iterator[Span]:
    """Words, and what is written together with dots and slashes where that is found as it is."""
    for part in _PART.finditer(text):
        if _WORD.fullmatch(part[0]) or _slot(view, part[0]):
            yield part.span()
        else:
            at = part.start()
            yield from ((at + it.start(), at + it.end()) for it in _WORD.finditer(part[0]))


def _joined(view: View, text: str) -> Iterator[Filled]:
    """A path that begins somewhere and goes on with what was found elsewhere, or is nobody's."""
    cuts = [at for at, letter in enumerate(text[:_LONGEST]) if letter == "/" and at][-_MOST_SPLITS:]
    for cut in reversed(cuts):
        heads = list(islice(_taken(view, text[:cut]), _A_SLOT))
        tail = text[cut + 1 :]
        for head in heads:
            if nobodys(tail):
                yield Filled(("", text[cut:]), (head,))
            for rest in islice(_taken(view, tail), _A_SLOT):
                yield Filled(("", "/", ""), (head, rest))


def _subsets(needed: Sequence[Span], optional: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """What must be taken, with none, all, or one of what could be."""
    extra = [[], optional, *([one] for one in optional)]
    for more in extra:
        spans = sorted([*needed, *more])
        if 0 < len(spans) <= _MOST_SLOTS:
            yield spans


def _around(text: str, spans: Sequence[Span]) -> tuple[str, ...]:
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), len(text)]
    return tuple(text[end:begin] for end, begin in zip(ends, begins, strict=True))


def _slot(view: View, part: str) -> list[Taken]:
    if part.lower() in SQL or (len(part) == 1 and part.isalpha()):
        return []
    ways = list(islice(_taken(view, part), _A_SLOT))
    if not ways and part.isdecimal() and len(part) <= _LONGEST_NUMBER:
        ways = list(islice(_taken(view, int(part)), _A_SLOT))
    return ways


def _combined(literals: tuple[str, ...], slots: Sequence[Sequence[Taken]]) -> Sequence[Filled]:
    """The likeliest of each, and each other way with the likeliest of the others."""
    best = [ways[0] for ways in slots]
    found = [Filled(literals, tuple(best))]
    found += [
        Filled(literals, (*best[:number], way, *best[number + 1 :]))
        for number, ways in enumerate(slots)
        for way in ways[1:]
    ]
    return found
