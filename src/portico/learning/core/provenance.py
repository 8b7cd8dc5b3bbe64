"""Where an argument came from: a value that is no coincidence, and that a tool gave before.

Values themselves are not held: only digests of them, with a key that nobody else has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from portico.gateway.core.inferred_schema import Passed, ToolPlace, names_a_field
from portico.gateway.core.results import item, member
from portico.kernel.json import JsonObject, JsonValue

_SHORTEST: Final = 6
_LONGEST: Final = 500
_SMALLEST: Final = 10_000
_VALUES: Final = 300
"""Of one result, that are remembered."""
_DEEPEST: Final = 6

Digest = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Trace:
    """What one call was given, and what came of it."""

    tool: ToolPlace
    started: datetime
    ended: datetime
    took: Mapping[str, AbstractSet[bytes]]
    """By parameter."""
    gave: Mapping[bytes, str | None]
    """Where each stood; None if it stood in several places."""

    def knew(self, value: bytes) -> bool:
        return any(value in taken for taken in self.took.values())


def telling(value: JsonValue) -> str | None:
    """As a text that is only this value's, if two who say it are not likely to mean two things:
    a short word, a small number, a yes are said by everybody."""
    match value:
        case bool():
            return None
        case int() if abs(value) >= _SMALLEST:
            return f"int {value}"
        case str() if _SHORTEST <= len(value) <= _LONGEST:
            return f"str {value}"
        case _:
            return None


def took(arguments: JsonObject, digest: Digest) -> Mapping[str, AbstractSet[bytes]]:
    """Of each parameter the value itself, or those of its list."""
    return {
        name: frozenset(digest(text) for text in map(telling, _flat(value)) if text is not None)
        for name, value in arguments.items()
        if names_a_field(name)
    }


def gave(document: JsonObject, digest: Digest) -> Mapping[bytes, str | None]:
    """Of what a step gives: what it says as JSON, or else its text."""
    found: dict[bytes, str | None] = {}
    root = "text" if document.get("json") is None else "json"
    for path, value in islice(_leaves(document.get(root), root, 0), _VALUES):
        text = telling(value)
        if text is not None:
            mark = digest(text)
            found[mark] = path if found.get(mark, path) == path else None
    return found


def came_from(earlier: Sequence[Trace], now: Trace) -> AbstractSet[Passed]:
    """From the last that gave it before this began, and did not only say it again; not what the
    caller had before anybody gave it, and not what could have come from several places."""
    return {
        Passed(source.tool, path, now.tool, parameter)
        for parameter, values in now.took.items()
        for value in values
        for source, path in _source(earlier, now, value)
    }


def _source(earlier: Sequence[Trace], now: Trace, value: bytes) -> Iterator[tuple[Trace, str]]:
    before = sorted(
        (trace for trace in earlier if trace.ended <= now.started and value in trace.gave),
        key=lambda trace: trace.ended,
    )
    if not before or any(it.knew(value) for it in earlier if it.started <= before[0].started):
        return
    source = [trace for trace in before if not trace.knew(value)][-1]
    path = source.gave[value]
    if path is not None:
        yield source, path


def _flat(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _leaves(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if depth > _DEEPEST:
        return
    match value:
        case Mapping():
            for key, inner in value.items():
                if names_a_field(key):
                    yield from _leaves(inner, member(path, key), depth + 1)
        case str() | None:
            yield path, value
        case Sequence():
            for inner in value:
                yield from _leaves(inner, item(path), depth + 1)
        case _:
            yield path, value
