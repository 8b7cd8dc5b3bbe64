"""What has changed, for a person who has to decide: place by place, short, nothing hidden."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, takewhile
from typing import Final

from portico.gateway.core.hidden_text import visible
from portico.gateway.core.pin import definition_pin
from portico.gateway.core.tool import Definition
from portico.kernel.json import JsonObject, JsonValue, canonical

MOST_CHANGES: Final = 100
_LONGEST: Final = 400
_BEFORE_IT: Final = 60
"""Letters of a long text that are shown before the place where it begins to differ."""
_ALIKE: Final = 0.6
_COMPARED: Final = 500


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    """`inputSchema.properties.owner.type`; empty for a line about the rest."""
    before: str | None
    """None where nothing was."""
    after: str | None


@dataclass(frozen=True, slots=True)
class SetDiff:
    added: Sequence[str]
    removed: Sequence[str]
    changed: Mapping[str, Sequence[Change]]
    renamed: Mapping[str, str]
    """Old name to new, where it looks like that; both are also among removed and added."""


def diff_definitions(old: Definition, new: Definition) -> Sequence[Change]:
    return diff_values(old.raw, new.raw)


def diff_values(old: JsonValue, new: JsonValue) -> Sequence[Change]:
    """At most `MOST_CHANGES`, and then one more that says how many there are."""
    found = _changes(old, new, ())
    shown = list(islice(found, MOST_CHANGES))
    rest = sum(1 for _ in found)
    return [*shown, Change("", None, f"and {rest} more changes")] if rest else shown


def diff_sets(old: Iterable[Definition], new: Iterable[Definition]) -> SetDiff:
    before = {each.name: each for each in old}
    after = {each.name: each for each in new}
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    changed = {
        name: diff_definitions(before[name], after[name])
        for name in after
        if name in before and definition_pin(before[name].raw) != definition_pin(after[name].raw)
    }
    renamed = _renamed([before[name] for name in removed], [after[name] for name in added])
    return SetDiff(added, removed, changed, renamed)


def _changes(old: JsonValue, new: JsonValue, path: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_members(old, new, path)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        yield from _of_items(old, new, path)
    elif (told := _told(old)) != _told(new):
        before, after = _around(told, _told(new))
        yield Change(".".join(path), before, after)


def _of_members(old: JsonObject, new: JsonObject, path: tuple[str, ...]) -> Iterator[Change]:
    for key in [*old, *(key for key in new if key not in old)]:
        here = (*path, visible(key))
        if key not in new:
            yield Change(".".join(here), _cut(_told(old[key])), None)
        elif key not in old:
            yield Change(".".join(here), None, _cut(_told(new[key])))
        else:
            yield from _changes(old[key], new[key], here)


def _of_items(
    old: Sequence[JsonValue], new: Sequence[JsonValue], path: tuple[str, ...]
) -> Iterator[Change]:
    """One that was put in front does not make all the others look changed."""
    matched = SequenceMatcher(None, [_told(each) for each in old], [_told(each) for each in new])
    for kind, first, last, start, end in matched.get_opcodes():
        if kind == "equal":
            continue
        both = min(last - first, end - start)
        for step in range(both):
            here = (*path, str(start + step))
            yield from _changes(old[first + step], new[start + step], here)
        for place in range(first + both, last):
            yield Change(".".join((*path, str(place))), _cut(_told(old[place])), None)
        for place in range(start + both, end):
            yield Change(".".join((*path, str(place))), None, _cut(_told(new[place])))


def _renamed(gone: Sequence[Definition], come: Sequence[Definition]) -> Mapping[str, str]:
    """The same schema under another name, and about the same words."""
    free = {each.name: each for each in come}
    found: dict[str, str] = {}
    for old in gone:
        alike = (new for new in free.values() if _like(old, new))
        if (new := next(alike, None)) is not None:
            found[old.name] = new.name
            del free[new.name]
    return found


def _like(one: Definition, other: Definition) -> bool:
    if canonical(one.input_schema) != canonical(other.input_schema):
        return False
    texts = one.description[:_COMPARED], other.description[:_COMPARED]
    return SequenceMatcher(None, *texts, autojunk=False).ratio() >= _ALIKE


def _around(before: str, after: str) -> tuple[str, str]:
    """Long texts from shortly before the place where they part."""
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    pairs = zip(before, after, strict=False)
    parting = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(0, parting - _BEFORE_IT)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int = 0) -> str:
    head = "…" if start else ""
    tail = "…" if len(text) > start + _LONGEST else ""
    return f"{head}{text[start : start + _LONGEST]}{tail}"


def _told(value: JsonValue) -> str:
    """As JSON, so that 1, 1.0, true and "1" are told apart."""
    text = json.dumps(value, ensure_ascii=False)
    return visible(text, longest=len(text))
