"""What a tool can change, in a word and a colour."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.catalog_snapshot import Standing
from portico.kernel.effect import EFFECT_WORDS, Effect


@dataclass(frozen=True, slots=True)
class Mark:
    """A word with a colour: the word says it too."""

    word: str
    tone: str
    title: str


_WORDS: Final[Mapping[Effect, tuple[str, str]]] = {
    Effect.PURE: ("pure", "ok"),
    Effect.LOCAL_READ: ("reads", "ok"),
    Effect.EXTERNAL_READ: ("reads elsewhere", "ok"),
    Effect.LOCAL_WRITE: ("writes", "warn"),
    Effect.EXTERNAL_WRITE: ("writes elsewhere", "warn"),
    Effect.IRREVERSIBLE: ("cannot be undone", "bad"),
    Effect.UNKNOWN: ("effect unknown", "bad"),
}
_STANDS: Final[Mapping[Standing, Mark]] = {
    Standing.LIVE: Mark("in use", "ok", "It is found and can be called"),
    Standing.PENDING: Mark("waits", "warn", "Its server has not been approved yet"),
    Standing.NEW: Mark("quarantined: new", "warn", "It came after its server was approved"),
    Standing.CHANGED: Mark(
        "quarantined: changed", "warn", "Its definition is not the one that was approved"
    ),
    Standing.REFUSED: Mark("cannot be used", "bad", "Its definition cannot be used"),
    Standing.GONE: Mark("gone", "", "Its server does not have it any more"),
}


def effect_mark(effect: Effect) -> Mark:
    word, tone = _WORDS[effect]
    return Mark(word, tone, f"It {EFFECT_WORDS[effect]}" if tone != "bad" else EFFECT_WORDS[effect])


def standing_mark(standing: Standing) -> Mark:
    return _STANDS[standing]


EFFECTS: Final = [(str(effect), effect_mark(effect).word) for effect in Effect]
"""For whoever chooses one."""
