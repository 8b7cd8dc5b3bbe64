"""Who asks: set once where a request comes in, and passed on explicitly from there."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from portico.kernel.ids import ContextId, PrincipalId, SpaceId
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
    """When the key that it came with ends, if it does; in a session, the one that this was opened
    with."""
    key: str | None = None
    """The id of the key that it came with, whose task it is at; in a session, its id, or for
    whoever may make no keys that of the key that it was opened with."""
    tools: tuple[tuple[str, ...], ...] = ()
    """Lists of tools, with wildcards, each of which must name a tool that it may use: one that was
    set for itself, one for its key."""
    reach: Label | None = None
    """What that key was made for: nothing above this was ever read through it, whatever the
    clearance of its principal was since."""
    context: ContextId | None = None
    """The task that it says it is at; if it says nothing, that of its key."""
    place: str | None = None
    """What a person has open: each such place is a task of its own, unless they say which."""
    window: bool = False
    """A model reads along, whoever's key it is: all that it opens is the one task of that key."""

    @property
    def shared(self) -> bool:
        """An agent in one of its runs: others have it act for them too, each in a task of its own,
        and what is theirs is not to be told here."""
        return self.kind is PrincipalKind.AGENT and self.key is None and self.context is not None

    def may(self, scope: str) -> bool:
        return scope in self.scopes
