"""How an argument follows from earlier values, with an explanation."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from portico.kernel.json import JsonValue
from portico.learning.core.observed_calls import Candidate, Origin, Source, View, tokens
from portico.learning.core.observed_values import SQL, Value, nobodys, sort_of

Candidates = Sequence[Candidate]
Choice = Callable[[View, str, Candidates], Candidate | None]
_MOST_OF_A_LIST: Final = 40


def _only(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[0] if len(of) == 1 else None


def _first(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[0]


def _second(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[1] if len(of) > 1 else None


def _third(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[2] if len(of) > 2 else None


def _last(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[-1] if len(of) > 1 else None


def _next(view: View, _origin: str, of: Candidates) -> Candidate | None:
    """After the last that was used; nothing if none was."""
    used = [number for number, it in enumerate(of) if it.value in view.used]
    return of[used[-1] + 1] if used and used[-1] + 1 < len(of) else None


def _fresh(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return next((it for it in of if it.value not in view.used), None)


def _wanted(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return _best(of, view.asked("words"))


def _echoed(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return _best([it for it in of if it.value not in view.used], view.asked("arguments"))


def _beside(view: View, origin: str, of: Candidates) -> Candidate | None:
    """In the row of a value that was used, where that is not said of every row."""
    rows = _rows_in_hand(view, origin)
    return next(
        (it for it in of if it.value not in view.used and not rows.isdisjoint(it.rows)), None
    )


CHOICES: Final[dict[str, Choice]] = {
    "only": _only,
    "first": _first,
    "second": _second,
    "third": _third,
    "last": _last,
    "next": _next,
    "fresh": _fresh,
    "wanted": _wanted,
    "echoed": _echoed,
    "beside": _beside,
}


def _all(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of


def _all_wanted(view: View, _origin: str, of: Candidates) -> Candidates:
    asked = view.asked("words")
    return [it for it in of if _likeness(it.raw, asked)]


def _all_beside(view: View, origin: str, of: Candidates) -> Candidates:
    rows = _rows_in_hand(view, origin)
    return [it for it in of if it.value not in view.used and not rows.isdisjoint(it.rows)]


def _first_two(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of[:2] if len(of) > 2 else ()


def _first_three(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of[:3] if len(of) > 3 else ()


SEVERAL: Final[dict[str, Callable[[View, str, Candidates], Candidates]]] = {
    "[all]": _all,
    "[wanted]": _all_wanted,
    "[beside]": _all_beside,
    "[two]": _first_two,
    "[three]": _first_three,
}
ONE: Final = {f"[{name}]": how for name, how in CHOICES.items() if f"[{name}]" not in SEVERAL}
LISTS: Final = (*SEVERAL, *ONE)


def chosen(view: View, origin: str, of: Candidates, choice: str) -> JsonValue:
    """One value, or for a choice in brackets a list; None if it chooses nothing."""
    if not of:
        return None
    if choice in SEVERAL:
        several = SEVERAL[choice](view, origin, of)
        return [it.value for it in several] if 0 < len(several) <= _MOST_OF_A_LIST else None
    how = CHOICES.get(choice) or ONE.get(choice)
    found = None if how is None else how(view, origin, of)
    if found is None:
        return None
    return [found.value] if choice in ONE else found.value


def _best(of: Candidates, asked: frozenset[str]) -> Candidate | None:
    """The first of those that share most words with what was asked for."""
    scored = [(_likeness(it.raw, asked), -number) for number, it in enumerate(of)]
    most, place = max(scored, default=(0, 0))
    return of[-place] if most else None


def _likeness(raw: Value, asked: frozenset[str]) -> int:
    if not isinstance(raw, str) or not asked:
        return 0
    return sum(token in asked or token.rstrip("s") in asked for token in set(tokens(raw)))


def _rows_in_hand(view: View, origin: str) -> frozenset[int]:
    if origin not in view.in_hand:
        view.in_hand[origin] = _rows(view, origin)
    return view.in_hand[origin]


def _rows(view: View, origin: str) -> frozenset[int]:
    return frozenset(
        row
        for place, pool in view.seats[origin].places.items()
        if not place.startswith("given")
        for value, row in zip(pool.values, pool.rows, strict=True)
        if value in view.used
    )


# How an argument is got from what a task has seen: a value from somewhere, or a text around some.
#
# `ValueDerivation` says from whom, from which place, changed how, and which of those that stand
# there. `Filled` is a text with such values in it. `Fixed` is a value that is nobody's.


class ValueDerivation(NamedTuple):
    origin: str
    place: str
    change: str
    sort: str
    """Of those there, only values of this sort."""
    choice: str


class Filled(NamedTuple):
    literals: tuple[str, ...]
    """One more than there are values."""
    slots: tuple[ValueDerivation, ...]


class Fixed(NamedTuple):
    text: str
    """As JSON."""


Derivation = ValueDerivation | Filled | Fixed


def derive(view: View, derivation: Derivation) -> JsonValue:
    """None if it gives nothing here."""
    if derivation not in view.given:
        view.given[derivation] = _derive(view, derivation)
    return view.given[derivation]


def _derive(view: View, derivation: Derivation) -> JsonValue:
    match derivation:
        case Fixed():
            fixed: JsonValue = json.loads(derivation.text)
            return fixed
        case ValueDerivation(origin, place, change, sort, choice):
            return chosen(view, origin, view.candidates(origin, place, change, sort), choice)
        case _:
            values = [derive(view, slot) for slot in derivation.slots]
            return _filled(derivation.literals, values)


def _filled(literals: Sequence[str], values: Sequence[JsonValue]) -> str | None:
    if any(value is None or isinstance(value, list) for value in values):
        return None
    pairs = zip(literals, [*map(str, values), ""], strict=True)
    return "".join(literal + value for literal, value in pairs)


def written(derivation: Derivation) -> str:
    match derivation:
        case Fixed():
            whole: list[object] = ["fixed", derivation.text]
        case ValueDerivation():
            whole = ["taken", *derivation]
        case _:
            whole = ["filled", *derivation]
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=16_384)
def read(text: str) -> Derivation:
    """Raises `ValueError` for what `written` did not write."""
    try:
        match json.loads(text):
            case ["fixed", str(value)]:
                json.loads(value)
                return Fixed(value)
            case ["taken", *texts]:
                return _taken(texts)
            case ["filled", [*literals], [*slots]] if len(literals) == len(slots) + 1:
                return Filled(tuple(map(_text, literals)), tuple(map(_taken, slots)))
    except TypeError as error:
        raise ValueError(text) from error
    raise ValueError(text)


def _taken(texts: Sequence[object]) -> ValueDerivation:
    return ValueDerivation(*map(_text, texts))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


# Every way in which an argument may have come from what its task had seen before.

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
    found: list[Derivation] = list(islice(_taken_explain(view, value), _MOST))
    if isinstance(value, str) and not found:
        found += [*islice(_joined(view, value), _MOST)] or _filled_text(view, value)
    if nobodys(value, own):
        found.append(Fixed(json.dumps(value, ensure_ascii=False)))
    return found


def _taken_explain(view: View, value: JsonValue) -> Iterator[ValueDerivation]:
    match value:
        case None | bool():
            return
        case str() | int() | float():
            yield from _single(view, value, value, tuple(CHOICES))
        case [str() | int() as first, *_] if len(value) <= _LONGEST:
            yield from _single(view, first, value, LISTS)


def _single(
    view: View, sought: Value, whole: JsonValue, choices: Sequence[str]
) -> Iterator[ValueDerivation]:
    sort = sort_of(sought)
    for origin, place, change in islice(_where(view, sought), _MOST_PLACES):
        for choice in choices:
            way = ValueDerivation(origin, place, change, sort, choice)
            if same(derive(view, way), whole):
                yield way


def _where(view: View, sought: Value) -> Iterator[tuple[str, str, str]]:
    for origin, seat in view.seats.items():
        for place, change in seat.found.get(sought, ()):
            yield origin, place, change


def same(one: JsonValue, other: JsonValue) -> bool:
    return one == other and type(one) is type(other)


def _filled_text(view: View, text: str) -> Sequence[Filled]:
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
        heads = list(islice(_taken_explain(view, text[:cut]), _A_SLOT))
        tail = text[cut + 1 :]
        for head in heads:
            if nobodys(tail):
                yield Filled(("", text[cut:]), (head,))
            for rest in islice(_taken_explain(view, tail), _A_SLOT):
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


def _slot(view: View, part: str) -> list[ValueDerivation]:
    if part.lower() in SQL or (len(part) == 1 and part.isalpha()):
        return []
    ways = list(islice(_taken_explain(view, part), _A_SLOT))
    if not ways and part.isdecimal() and len(part) <= _LONGEST_NUMBER:
        ways = list(islice(_taken_explain(view, int(part)), _A_SLOT))
    return ways


def _combined(
    literals: tuple[str, ...], slots: Sequence[Sequence[ValueDerivation]]
) -> Sequence[Filled]:
    """The likeliest of each, and each other way with the likeliest of the others."""
    best = [ways[0] for ways in slots]
    found = [Filled(literals, tuple(best))]
    found += [
        Filled(literals, (*best[:number], way, *best[number + 1 :]))
        for number, ways in enumerate(slots)
        for way in ways[1:]
    ]
    return found


# Where the value of an argument is from: what a gate asks that must not let a stranger steer.


def sources_of(view: View, way: Derivation, value: JsonValue) -> AbstractSet[Source]:
    """What somebody said, or gave to an earlier call, is named together with every result that it
    stood in as well: they may have had it from there."""
    match way:
        case Fixed():
            return frozenset({Source(Origin.CONSTANT)})
        case ValueDerivation():
            return frozenset(_taken_sources(view, way, value))
        case _:
            found = {Source(Origin.CONSTANT)}
            return found.union(
                *(_taken_sources(view, slot, derive(view, slot)) for slot in way.slots)
            )


def _taken_sources(view: View, way: ValueDerivation, value: JsonValue) -> Iterator[Source]:
    call = view.seats[way.origin].call
    if call is None:
        yield Source(Origin.WORDS)
        yield from _standing_in(view, value)
    elif way.place.startswith("given"):
        yield Source(Origin.ARGUMENT, call.tool)
        yield from _standing_in(view, value)
    else:
        yield Source(Origin.RESULT, call.tool)


def _standing_in(view: View, value: JsonValue) -> Iterator[Source]:
    values = value if isinstance(value, list) else [value]
    texts = [it for it in values if isinstance(it, (str, int, float))]
    for call in view.window.calls:
        places = (place for it in texts for place, _ in call.found.get(it, ()))
        if any(not place.startswith("given") for place in places):
            yield Source(Origin.RESULT, call.tool)
