"""Who asks: set once where a request comes in, and passed on explicitly from there."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label


class PrincipalKind(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    WORKER = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    id: PrincipalId
    space: SpaceId
    kind: PrincipalKind
    name: str
    roles: AbstractSet[str] = field(default_factory=frozenset)
    scopes: AbstractSet[str] = field(default_factory=frozenset)
    clearance: Label = PUBLIC
    whole: bool = True
    """Asks with all that it may, now and later; not so through a key that names its scopes."""
    until: datetime | None = None
    """When the key that it came with ends, if it does."""

    def may(self, scope: str) -> bool:
        return scope in self.scopes
