"""How much a tool can change: from nothing at all to nobody knows."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """In this order; whatever is not known to be less is the top."""

    PURE = "pure"
    LOCAL_READ = "local_read"
    EXTERNAL_READ = "external_read"
    LOCAL_WRITE = "local_write"
    EXTERNAL_WRITE = "external_write"
    IRREVERSIBLE = "irreversible"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        return _ORDER.index(self)

    @property
    def is_read_only(self) -> bool:
        return self.rank <= Effect.EXTERNAL_READ.rank

    @property
    def destroys(self) -> bool:
        """Or may: what is not known counts."""
        return self.rank >= Effect.IRREVERSIBLE.rank


_ORDER: Final = tuple(Effect)
EFFECT_WORDS: Final[Mapping[Effect, str]] = {
    Effect.PURE: "changes nothing",
    Effect.LOCAL_READ: "only reads here",
    Effect.EXTERNAL_READ: "sends what it is given to somebody else's server",
    Effect.LOCAL_WRITE: "changes something here",
    Effect.EXTERNAL_WRITE: "changes something elsewhere",
    Effect.IRREVERSIBLE: "cannot be undone",
    Effect.UNKNOWN: "nobody has said what it can change",
}
"""For whoever has to decide about it."""


def worst(effects: Iterable[Effect]) -> Effect:
    return max(effects, key=lambda effect: effect.rank, default=Effect.PURE)
