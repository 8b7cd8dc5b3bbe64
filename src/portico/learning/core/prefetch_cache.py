"""The cache of prefetched answers, and the share of effort that each caller has."""

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median_low
from typing import Final

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.contexts import context_of
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.observed_calls import ReadRequest
from portico.learning.core.prefetch_predictor import Trust

# Where answers wait that nobody has asked for yet: seen by none but whoever asks for exactly that.
#
# An answer is found only by who it was read for, in the task that it was read in, at the tool as it
# was then and with the very same arguments; once, and for a short while.

MOST: Final = 256
MOST_OF_ONE: Final = 16
MOST_BYTES: Final = 16_000_000
MOST_BYTES_OF_ONE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class ContextKey:
    """Whose it is, and in which task."""

    space: SpaceId
    principal: PrincipalId
    context: ContextId


def place_of(caller: Principal) -> ContextKey:
    return ContextKey(caller.space, caller.id, context_of(caller))


@dataclass(frozen=True, slots=True)
class Key:
    place: ContextKey
    hash: str
    """Of the act: tool, arguments, principal, definition and launch."""


def key_of(act: AccessRequest) -> Key:
    """Raises `NotCanonical`."""
    return Key(place_of(act.caller), act.hash)


@dataclass(slots=True, eq=False, kw_only=True)
class BufferedCall:
    """One call, from when it is begun to when its answer is served or thrown away."""

    key: Key
    access_request: AccessRequest
    server: Server
    """As it was when it was decided about."""
    wanted: ReadRequest
    label: Label
    """What the task had read."""
    started: float = 0.0
    begun_at: datetime | None = None
    """When the server was asked, in seconds and by the clock; None: not yet."""
    until: float = 0.0
    """When its answer is too old."""
    answer: ToolResult | None = None
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

    limit: int = MOST
    most_of_one: int = MOST_OF_ONE
    most_bytes: int = MOST_BYTES
    most_bytes_of_one: int = MOST_BYTES_OF_ONE
    _held: dict[Key, BufferedCall] = field(default_factory=dict)
    _of: dict[tuple[SpaceId, PrincipalId], dict[Key, BufferedCall]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        return sum(held.size for held in self._held.values())

    def has_any(self, caller: Principal) -> bool:
        return (caller.space, caller.id) in self._of

    def holds(self, key: Key) -> bool:
        return key in self._held

    def hold(self, held: BufferedCall) -> bool:
        """Its place, from when it is begun. False if there is none, or it has one already."""
        mine = self._of.get(_whose(held.key), {})
        full = len(self._held) >= self.limit or len(mine) >= self.most_of_one
        if full or held.key in self._held:
            return False
        self._held[held.key] = held
        self._of.setdefault(_whose(held.key), {})[held.key] = held
        return True

    def room(self, caller: Principal) -> int:
        """Bytes that an answer of theirs may have now."""
        mine = sum(held.size for held in self._of.get((caller.space, caller.id), {}).values())
        return max(0, min(self.most_bytes - self.size, self.most_bytes_of_one - mine))

    def take(self, act: AccessRequest, now: float) -> BufferedCall | None:
        """What was held for exactly this, if it is still good: out of here, so that nobody else
        finds it. It may still be under way. Raises `NotCanonical`."""
        held = self._held.get(key_of(act))
        if (
            held is None
            or held.doomed
            or held.too_old(now)
            or not _exactly(held.access_request, act)
        ):
            return None
        self.forget(held)
        return held

    def forget(self, held: BufferedCall) -> None:
        """Once or several times."""
        if self._held.get(held.key) is held:
            del self._held[held.key]
            mine = self._of[_whose(held.key)]
            del mine[held.key]
            if not mine:
                del self._of[_whose(held.key)]

    def which(self, wanted: Callable[[BufferedCall], bool]) -> Sequence[BufferedCall]:
        return [held for held in self._held.values() if wanted(held)]


def _whose(key: Key) -> tuple[SpaceId, PrincipalId]:
    return key.place.space, key.place.principal


def _exactly(one: AccessRequest, other: AccessRequest) -> bool:
    """Also what JSON takes for the same, and a server may not: 1 and 1.0."""
    return _spelt(one.arguments) == _spelt(other.arguments)


def _spelt(arguments: JsonObject) -> str:
    return json.dumps(arguments, sort_keys=True, default=dict)


# How much of the time goes into something: a share of it, and a little that was saved up.


@dataclass(slots=True)
class EffortShare:
    """Times are seconds."""

    share: float
    left: float
    max_saved: float
    """That may be saved up."""
    _seen: float | None = None

    def may(self, now: float) -> bool:
        gone = 0.0 if self._seen is None else max(0.0, now - self._seen)
        self._seen = now
        self.left = min(self.max_saved, self.left + gone * self.share)
        return self.left > 0

    def spent(self, seconds: float) -> None:
        self.left -= seconds


# Who looking ahead is done for: nobody's work keeps it from the others.

_PART: Final = 0.25
"""Of the whole, what one may use of the half that is kept for those who use little."""
_REMEMBERED: Final = 1_000


@dataclass(slots=True)
class FairEffort:
    """Times are seconds. One half is anybody's; of the other each has a part, and no more."""

    share: float = 0.03
    saved: float = 0.25
    """Of work that may be saved up."""
    _open: EffortShare = field(init=False)
    _kept: EffortShare = field(init=False)
    _own: OrderedDict[Hashable, EffortShare] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._open, self._kept = self._part(0.5), self._part(0.5)

    def may(self, who: Hashable, now: float) -> bool:
        own = self._of(who).may(now)
        kept, anybodys = self._kept.may(now), self._open.may(now)
        return anybodys or (own and kept)

    def spent(self, who: Hashable, seconds: float) -> None:
        """First of what is anybody's. What is beyond one's own part too is owed by both."""
        own = self._of(who)
        beyond = seconds - min(seconds, max(0.0, self._open.left))
        mine = min(beyond, max(0.0, own.left))
        own.spent(beyond)
        self._kept.spent(mine)
        self._open.spent(seconds - mine)

    def _of(self, who: Hashable) -> EffortShare:
        own = self._own.get(who)
        if own is None:
            own = self._own[who] = self._part(_PART)
        self._own.move_to_end(who)
        while len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        return own

    def _part(self, part: float) -> EffortShare:
        return EffortShare(self.share * part, self.saved * part, self.saved * part)


# How long tools usually take, by the calls of this process that somebody waited for.

_LATEST: Final = 32
_ENOUGH: Final = 3
_TOOLS: Final = 5_000


@dataclass(slots=True)
class Paces:
    _took: OrderedDict[tuple[SpaceId, ToolPlace], deque[timedelta]] = field(
        default_factory=OrderedDict
    )

    def note(self, space: SpaceId, tool: ToolPlace, took: timedelta) -> None:
        place = (space, tool)
        self._took.setdefault(place, deque(maxlen=_LATEST)).append(took)
        self._took.move_to_end(place)
        while len(self._took) > _TOOLS:
            self._took.popitem(last=False)

    def usual(self, space: SpaceId, tool: ToolPlace) -> timedelta | None:
        """None while too few are known."""
        took = self._took.get((space, tool), ())
        return median_low(took) if len(took) >= _ENOUGH else None


# For whom calls are made ahead: those whose next calls were foretold well of late.

_PRINCIPALS: Final = 1_000
"""Who is not among the latest begins anew."""
PROVEN_FOR_CALLER: Final = "proven_for_caller"
"""What forbids a call where it is not so, as a gate is called."""


@dataclass(slots=True)
class TrustInAll:
    new_trust: Callable[[], Trust] = Trust
    """For a principal of whom nothing is known yet."""
    _of: OrderedDict[tuple[SpaceId, PrincipalId], Trust] = field(default_factory=OrderedDict)

    def predicted(self, caller: Principal, calls: Iterable[bytes]) -> bool:
        """Whether what was foretold for them before came true. What is foretold now, in the task
        that they are at, counts for the next time."""
        trust = self._in(caller)
        good = trust.good
        trust.note_predictions(place_of(caller), calls)
        return good

    def saw(self, caller: Principal, call: bytes, *, reads: bool) -> None:
        self._in(caller).saw(place_of(caller), call, reads=reads)

    def ended(self, caller: Principal) -> None:
        """The task that they are at."""
        self._in(caller).ended(place_of(caller))

    def _in(self, caller: Principal) -> Trust:
        who = (caller.space, caller.id)
        trust = self._of.get(who)
        if trust is None:
            trust = self._of[who] = self.new_trust()
        self._of.move_to_end(who)
        while len(self._of) > _PRINCIPALS:
            self._of.popitem(last=False)
        return trust
