"""What a project remembers: values under keys, with their history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.bridge.core.errors import MemoryChanged, flaws_of_line, flaws_of_text
from portico.bridge.core.projects import ProjectId
from portico.kernel.errors import FieldError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue, canonical
from portico.kernel.label import Label

MOST_LETTERS: Final = 200
"""Of a key."""
MOST_OF_VALUE: Final = 100_000
"""Letters of its text as JSON."""
MOST_VERSIONS: Final = 200
"""That are shown of a key."""
_DEEPEST: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One of a key and a label. The same key can be there under several labels: whoever asks for
    it is given the most secret that they may read."""

    project: ProjectId
    key: str
    value: JsonValue
    label: Label
    version: int
    """From 1, within its label: one more each time, also when it is forgotten and there again."""
    expires_at: datetime | None = None
    forgotten: bool = False
    """From this version on there is nothing, until there is a later one."""
    untrusted: bool = False
    """Its writer had read strangers' words in the same task."""
    by: PrincipalId
    at: datetime

    def there(self, now: datetime) -> bool:
        return not self.forgotten and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRemember:
    project: ProjectId
    key: str
    value: JsonValue
    label: Label | None = None
    """None: as secret as what was read in this task, and as the project."""
    version: int | None = None
    """The one that it follows upon, within its label; 0 if there must be none. None: whatever is
    there."""
    expires_at: datetime | None = None


def next_version(wanted: ToRemember, last: MemoryEntry | None, at: datetime) -> int:
    """Upon the last one under the same label, whatever that is. Raises `MemoryChanged` if that is
    not what its writer has read."""
    there = last.version if last is not None and last.there(at) else 0
    if wanted.version not in (None, there):
        raise MemoryChanged(wanted.key, wanted=wanted.version or 0, there=there)
    return 1 if last is None else last.version + 1


def flaws_of_memory(wanted: ToRemember, now: datetime) -> Iterator[FieldError]:
    """Raises `NotCanonical` of a value that is not JSON."""
    yield from flaws_of_line("key", wanted.key, most=MOST_LETTERS)
    if _can_be_kept(wanted.value):
        yield from flaws_of_text("value", canonical(wanted.value).decode(), most=MOST_OF_VALUE)
    else:
        yield FieldError("value", f"is nested more than {_DEEPEST} deep, or has a NUL in a text")
    if wanted.version is not None and wanted.version < 0:
        yield FieldError("version", "is at least 0")
    if wanted.expires_at is not None and wanted.expires_at <= now:
        yield FieldError("expires_at", "is over already")


def _can_be_kept(value: JsonValue, deep: int = 0) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    if not isinstance(value, Sequence | Mapping):
        return True
    inside = value if isinstance(value, Sequence) else [*value, *value.values()]
    return deep < _DEEPEST and all(_can_be_kept(each, deep + 1) for each in inside)
