"""Which parts of a call's arguments a person should look at first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from portico.kernel.json import JsonObject, JsonValue, pointed

_MOST: Final = 50
_DEEPEST: Final = 20


class Danger(StrEnum):
    PATH = "path"
    COMMAND = "command"
    ADDRESS = "address"
    RECIPIENT = "recipient"
    DELETION = "deletion"
    HIDDEN = "hidden"
    """Part of it is not shown: a secret of the house."""
    UNSEEN = "unseen"
    """More, or deeper, than was looked through: all of it is to be looked at."""


DANGER_WORDS: Final[Mapping[str, str]] = {
    Danger.HIDDEN: "part of this is not shown",
    Danger.UNSEEN: "there is more than was looked through",
}
"""Where the word itself would not say it."""
_ORDER: Final = (
    Danger.HIDDEN,
    Danger.UNSEEN,
    Danger.COMMAND,
    Danger.DELETION,
    Danger.RECIPIENT,
    Danger.ADDRESS,
    Danger.PATH,
)
"""Which are marked where there are too many, so that none hides behind harmless ones."""


@dataclass(frozen=True, slots=True)
class Mark:
    pointer: str
    """RFC 6901, into the arguments."""
    why: Danger


_WORDS: Final[Sequence[tuple[Danger, re.Pattern[str]]]] = [
    (danger, re.compile(words))
    for danger, words in [
        (
            Danger.DELETION,
            "delete[sd]?|removed?|drop|purge|destroy|force|overwrite|recursive|truncate|permanent",
        ),
        (Danger.COMMAND, "commands?|cmd|shell|script|code|sql|query|statement|argv|exec"),
        (
            Danger.RECIPIENT,
            "to|b?cc|recipients?|emails?|mail|channel|phone|assignees?|invitees?|members?",
        ),
        (Danger.ADDRESS, "urls?|uri|href|link|endpoint|host|hostname|webhook|domain|origin"),
        (
            Danger.PATH,
            "paths?|files?|filename|folders?|directory|directories|dir|destination|target|root|cwd",
        ),
    ]
]
"""By a word of the name that a value stands under; the first that fits is why."""
_FORMS: Final[Sequence[tuple[Danger, re.Pattern[str]]]] = [
    (Danger.ADDRESS, re.compile(r"(?i)[a-z][a-z0-9+.-]{0,30}://\S")),
    (Danger.RECIPIENT, re.compile(r"[^\s@]{1,100}@[^\s@.]{1,100}\.[^\s@]{2,100}\s*")),
    (Danger.PATH, re.compile(r"(?:/|~/|\.\.?/|[A-Za-z]:\\)[^\s/]")),
]
"""By what a value looks like at its beginning, whatever it is called."""
_MOVED: Final = frozenset({"path", "source", "src"})
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def marked(arguments: JsonObject, shown: JsonObject | None = None) -> tuple[Mark, ...]:
    """Whole values, in their order; of a list that stands under such a name each one. `shown` is
    what people see of them: the marks point into that, and say where something is missing. What
    is not marked is not thereby harmless."""
    found = [*_walk(_Place(arguments, arguments if shown is None else shown))]
    if len(found) <= _MOST:
        return tuple(found)
    worst = sorted(found, key=lambda mark: _ORDER.index(mark.why))[:_MOST]
    return (*worst, Mark("", Danger.UNSEEN))


@dataclass(frozen=True, slots=True)
class _Place:
    value: JsonValue
    shown: JsonValue
    pointer: str = ""
    named: Danger | None = None
    depth: int = 0

    def inner(self, value: JsonValue, shown: JsonValue, name: str, why: Danger | None) -> "_Place":
        return _Place(value, shown, pointed(self.pointer, name), why, self.depth + 1)


def _walk(place: _Place) -> Iterator[Mark]:
    match place.value:
        case str(text):
            yield from _leaf(place, place.named or _looks_like(text))
        case Mapping() | Sequence() if place.depth == _DEEPEST:
            yield Mark(place.pointer, Danger.UNSEEN)
        case Mapping() as whole:
            yield from _members(place, whole)
        case Sequence() as whole:
            yield from _items(place, whole)
        case value:
            deletes = value is True and place.named is Danger.DELETION
            yield from _leaf(place, place.named if deletes else None)


def _leaf(place: _Place, why: Danger | None) -> Iterator[Mark]:
    if place.value != place.shown:
        yield Mark(place.pointer, Danger.HIDDEN)
    if why is not None:
        yield Mark(place.pointer, why)


def _members(place: _Place, whole: JsonObject) -> Iterator[Mark]:
    """If as many are shown as there are, each stands in the place that it has."""
    if not isinstance(place.shown, Mapping) or len(place.shown) != len(whole):
        yield Mark(place.pointer, Danger.HIDDEN)
        return
    for (name, item), (seen_name, seen) in zip(whole.items(), place.shown.items(), strict=True):
        why = Danger.PATH if _is_new_place(name, item, whole) else _named(name)
        inside = place.inner(item, seen, seen_name, why)
        if name != seen_name:
            yield Mark(inside.pointer, Danger.HIDDEN)
        yield from _walk(inside)


def _items(place: _Place, whole: Sequence[JsonValue]) -> Iterator[Mark]:
    shown = place.shown if isinstance(place.shown, Sequence) else ()
    for number, (item, seen) in enumerate(zip_longest(whole, shown)):
        yield from _walk(place.inner(item, seen, str(number), place.named))


def _named(name: str) -> Danger | None:
    words = [word.lower() for word in _WORD.findall(name)]
    return next((why for why, form in _WORDS if any(map(form.fullmatch, words))), None)


def _is_new_place(name: str, item: JsonValue, beside: JsonObject) -> bool:
    """`to` beside a `path`: where that goes, unless it is somebody."""
    if name != "to" or not isinstance(item, str) or not _MOVED & beside.keys():
        return False
    return not set("@:") & set(item) and any(sign in item for sign in "/.")


def _looks_like(text: str) -> Danger | None:
    return next((danger for danger, form in _FORMS if form.match(text)), None)
