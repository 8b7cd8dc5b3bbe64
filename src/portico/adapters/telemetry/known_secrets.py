"""Values that must not be written down, and any value as JSON."""

from collections import deque
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Final

from portico.kernel.json import JsonValue
from portico.kernel.redaction import Redaction

# The values that must not be told, as they become known; whatever leaves the house asks here.

_PASSING: Final = 500
"""Of what is good for a while alone, only so many are remembered: the latest."""


class KnownSecrets:
    """One for the whole process. A value that is learnt late is blacked out from then on."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lasting = frozenset(values)
        self._passing: deque[str] = deque(maxlen=_PASSING)
        self._redaction = Redaction(values)
        self._learning = Lock()

    def learn(self, *values: str) -> None:
        with self._learning:
            self._lasting |= frozenset(values)
            self._redaction = Redaction({*self._lasting, *self._passing})

    def learn_passing(self, value: str) -> None:
        """One that is replaced by another before long, such as a token of an hour."""
        with self._learning:
            if value not in self._passing:
                self._passing.append(value)
                self._redaction = Redaction({*self._lasting, *self._passing})

    def clean(self, text: str) -> str:
        return self._redaction.clean(text)

    def clean_json(self, value: JsonValue) -> JsonValue:
        return self._redaction.clean_json(value)

    def known_in(self, text: str) -> Iterable[tuple[int, int]]:
        """Where they stand, from where to where."""
        return self._redaction.known_in(text)

    def hide_json(self, value: JsonValue) -> JsonValue:
        """Only the very values that are known."""
        return self._redaction.hide_json(value)


_DEEPEST: Final = 20


def plain(value: object, depth: int = 0) -> JsonValue:
    """What is not JSON is told by its own name for itself."""
    if depth > _DEEPEST:
        return "…"
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): plain(item, depth + 1) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item, depth + 1) for item in value]
        case _:
            return repr(value)
