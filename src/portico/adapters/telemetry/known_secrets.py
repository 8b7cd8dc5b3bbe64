"""The values that must not be told, as they become known; whatever leaves the house asks here."""

from collections.abc import Iterable
from threading import Lock

from portico.kernel.json import JsonValue
from portico.kernel.redaction import Redaction


class KnownSecrets:
    """One for the whole process. A value that is learnt late is blacked out from then on."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._redaction = Redaction(values)
        self._learning = Lock()

    def learn(self, *values: str) -> None:
        with self._learning:
            self._redaction = Redaction({*self._redaction.values, *values})

    def clean(self, text: str) -> str:
        return self._redaction.clean(text)

    def clean_json(self, value: JsonValue) -> JsonValue:
        return self._redaction.clean_json(value)
