"""The arguments of a call as a table: what to look at first is marked, and nothing is left out."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.guard.core.policy import DANGER_WORDS, Mark
from portico.interfaces.console.screens.approvals.seen import seen
from portico.kernel.json import JsonObject, JsonValue, pointed

_LONG: Final = 400
"""Letters of a value that are shown at once, if nothing is said against it."""
_LONGEST: Final = 4_000
"""Letters of such a value that the page holds at all; the rest is at an address of its own."""
_COMPARED: Final = 400
"""Lines of each side; longer ones are shown as they are."""
_SIGNS: Final = {"-": "gone", "+": "new", " ": "same"}
_PAIRS: Final = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old", "new"),
    ("before", "after"),
)
"""What tools call a text and the one that shall stand in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    name: str
    value: str
    risks: tuple[str, ...] = ()
    was: str | None = None
    """In the request that this one replaces, where it is another there."""
    new: bool = False
    """Not in that one."""
    folded: bool = False
    """Long, or shown as a difference already, and nothing is said against it."""
    cut: int = 0
    """Letters that are not here: only of what nothing is said against."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: str
    """`gone`, `new`, `same`, or `place`: where in the text."""
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    title: str
    lines: Sequence[DiffLine]


def table(
    arguments: JsonObject, marks: Sequence[Mark], before: JsonObject | None = None
) -> Sequence[Argument]:
    """Each single value under its path; `before` are those of the request that it replaces."""
    why, compared = (
        _risks(marks),
        {place for places, *_ in _pairs("", arguments) for place in places},
    )
    old = None if before is None else dict(_leaves("", before))
    rows = [
        _row(pointer, value, why, old, compared=pointer in compared)
        for pointer, value in _leaves("", arguments)
    ]
    known = {pointer for pointer, _ in _leaves("", arguments)}
    gone = [(pointer, value) for pointer, value in (old or {}).items() if pointer not in known]
    return [*rows, *(Argument(name=_name(pointer), value="", was=value) for pointer, value in gone)]


def _row(
    pointer: str,
    value: str,
    why: Mapping[str, tuple[str, ...]],
    old: Mapping[str, str] | None,
    *,
    compared: bool,
) -> Argument:
    risks = _covering(why, pointer)
    cut = 0 if risks else max(0, len(value) - _LONGEST)
    was = None if old is None else old.get(pointer)
    return Argument(
        name=_name(pointer),
        value=value[: len(value) - cut],
        risks=risks,
        was=was if was != value else None,
        new=old is not None and was is None,
        folded=(compared or len(value) > _LONG) and not risks and was in (None, value),
        cut=cut,
    )


def first_risk(arguments: JsonObject, marks: Sequence[Mark]) -> Argument | None:
    """What a list says of it in one line."""
    return next((row for row in table(arguments, marks) if row.risks), None)


def diffs(arguments: JsonObject) -> Sequence[Diff]:
    """Of what a call would put in place of something else, where its arguments say so."""
    return [
        Diff(_name(pointer) if pointer else "What changes", text_diff(was, now))
        for _, pointer, was, now in _pairs("", arguments)
    ]


def _pairs(pointer: str, value: JsonValue) -> Iterator[tuple[tuple[str, str], str, str, str]]:
    """Where both stand, what they are in, and the two texts."""
    if isinstance(value, Mapping):
        for old, new in _PAIRS:
            was, now = value.get(old), value.get(new)
            if isinstance(was, str) and isinstance(now, str) and _comparable(was, now):
                yield (pointed(pointer, old), pointed(pointer, new)), pointer, was, now
        for name, each in value.items():
            yield from _pairs(pointed(pointer, str(name)), each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, each in enumerate(value):
            yield from _pairs(f"{pointer}/{number}", each)


def _comparable(was: str, now: str) -> bool:
    return max(was.count("\n"), now.count("\n")) < _COMPARED


def text_diff(was: str, now: str) -> Sequence[DiffLine]:
    """Every line of both."""
    told = difflib.ndiff(seen(was).split("\n"), seen(now).split("\n"))
    return [DiffLine(_SIGNS[line[0]], line[2:]) for line in told if line[0] in _SIGNS]


def shown_changes(lines: JsonValue) -> Sequence[DiffLine]:
    """As the bridge writes them: `line 7:` says where, then `-`, `+` or a blank before each."""
    if not isinstance(lines, Sequence) or isinstance(lines, str):
        return []
    return [_change(seen(str(line))) for line in lines]


def _change(line: str) -> DiffLine:
    kind = _SIGNS.get(line[:1])
    return DiffLine("place", line) if kind is None else DiffLine(kind, line[1:])


def _risks(marks: Sequence[Mark]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for mark in marks:
        word = DANGER_WORDS.get(mark.why, str(mark.why))
        found[mark.pointer] = (*found.get(mark.pointer, ()), word)
    return found


def _covering(why: Mapping[str, tuple[str, ...]], pointer: str) -> tuple[str, ...]:
    """Of itself, or of what it is a part of."""
    while pointer:
        if pointer in why:
            return why[pointer]
        pointer = pointer.rpartition("/")[0]
    return why.get("", ())


def _leaves(pointer: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(pointed(pointer, str(name)), each)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for number, each in enumerate(value):
            yield from _leaves(f"{pointer}/{number}", each)
    elif pointer:
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield pointer, seen(plain)


def _name(pointer: str) -> str:
    parts = pointer.removeprefix("/").split("/")
    return seen(".".join(part.replace("~1", "/").replace("~0", "~") for part in parts))
