"""Where answers wait that nobody has asked for yet: seen by none but whoever asks for exactly that.

An answer is found only by who it was read for, in the task that it was read in, at the tool as it
was then and with the very same arguments; once, and for a short while.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.gateway.core.calls import Answer
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import Act
from portico.guard.core.contexts import context_of
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.wanted import Wanted

MOST: Final = 256
MOST_OF_ONE: Final = 16
MOST_BYTES: Final = 16_000_000
MOST_BYTES_OF_ONE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Whose it is, and in which task."""

    space: SpaceId
    principal: PrincipalId
    context: ContextId


def place_of(caller: Principal) -> Place:
    return Place(caller.space, caller.id, context_of(caller))


@dataclass(frozen=True, slots=True)
class Key:
    place: Place
    hash: str
    """Of the act: tool, arguments, principal, definition and launch."""


def key_of(act: Act) -> Key:
    """Raises `NotCanonical`."""
    return Key(place_of(act.caller), act.hash)


@dataclass(slots=True, eq=False, kw_only=True)
class Held:
    """One call, from when it is begun to when its answer is served or thrown away."""

    key: Key
    act: Act
    server: Server
    """As it was when it was decided about."""
    wanted: Wanted
    label: Label
    """What the task had read."""
    begun: float = 0.0
    begun_at: datetime | None = None
    """When the server was asked, in seconds and by the clock; None: not yet."""
    until: float = 0.0
    """When its answer is too old."""
    answer: Answer | None = None
    size: int = 0
    took: float = 0.0
    doomed: bool = False
    """It may not be served any more, however far it has come."""

    def too_old(self, now: float) -> bool:
        """What is still under way never is: whoever joins it waits for it."""
        return self.answer is not None and now >= self.until


@dataclass(slots=True, kw_only=True)
class Buffer:
    """Times are seconds."""

    most: int = MOST
    most_of_one: int = MOST_OF_ONE
    most_bytes: int = MOST_BYTES
    most_bytes_of_one: int = MOST_BYTES_OF_ONE
    _held: dict[Key, Held] = field(default_factory=dict)
    _of: dict[tuple[SpaceId, PrincipalId], dict[Key, Held]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        return sum(held.size for held in self._held.values())

    def has_any(self, caller: Principal) -> bool:
        return (caller.space, caller.id) in self._of

    def holds(self, key: Key) -> bool:
        return key in self._held

    def hold(self, held: Held) -> bool:
        """Its place, from when it is begun. False if there is none, or it has one already."""
        mine = self._of.get(_whose(held.key), {})
        full = len(self._held) >= self.most or len(mine) >= self.most_of_one
        if full or held.key in self._held:
            return False
        self._held[held.key] = held
        self._of.setdefault(_whose(held.key), {})[held.key] = held
        return True

    def room(self, caller: Principal) -> int:
        """Bytes that an answer of theirs may have now."""
        mine = sum(held.size for held in self._of.get((caller.space, caller.id), {}).values())
        return max(0, min(self.most_bytes - self.size, self.most_bytes_of_one - mine))

    def take(self, act: Act, now: float) -> Held | None:
        """What was held for exactly this, if it is still good: out of here, so that nobody else
        finds it. It may still be under way. Raises `NotCanonical`."""
        held = self._held.get(key_of(act))
        if held is None or held.doomed or held.too_old(now) or not _exactly(held.act, act):
            return None
        self.forget(held)
        return held

    def forget(self, held: Held) -> None:
        """Once or several times."""
        if self._held.get(held.key) is held:
            del self._held[held.key]
            mine = self._of[_whose(held.key)]
            del mine[held.key]
            if not mine:
                del self._of[_whose(held.key)]

    def which(self, wanted: Callable[[Held], bool]) -> Sequence[Held]:
        return [held for held in self._held.values() if wanted(held)]


def _whose(key: Key) -> tuple[SpaceId, PrincipalId]:
    return key.place.space, key.place.principal


def _exactly(one: Act, other: Act) -> bool:
    """Also what JSON takes for the same, and a server may not: 1 and 1.0."""
    return _spelt(one.arguments) == _spelt(other.arguments)


def _spelt(arguments: JsonObject) -> str:
    return json.dumps(arguments, sort_keys=True, default=dict)
