"""Gates that a prefetch must pass: budget, staleness, switches, terms."""

import json
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.servers import Server, ServerId
from portico.guard.core.access_request import (
    AccessRequest,
    ActionTarget,
    Allowed,
    Decision,
    TaintContext,
)
from portico.guard.core.rules import fits
from portico.kernel.effect import Effect
from portico.kernel.ids import InvalidId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC
from portico.learning.core.observed_calls import Origin, ReadRequest, Source
from portico.learning.core.prefetch_cache import BufferedCall, ContextKey

# Where something is being changed, or may still be: nothing is read ahead of time there.

_REST: Final = 60.0
"""Seconds after a change of which nobody knows whether it was made, or still will be."""

_HERE: Final = "here/"
"""All servers that run here; none is called so."""

Subject = tuple[SpaceId, PrincipalId | str]
"""A principal, or a server by its name, or `_HERE`."""


@dataclass(slots=True)
class Unsettled:
    """Times are seconds."""

    _under_way: Counter[Subject] = field(default_factory=Counter)
    _until: dict[Subject, float] = field(default_factory=dict)

    def start(self, act: AccessRequest) -> None:
        self._under_way.update(_subjects(act))

    def end(self, act: AccessRequest, now: float, *, known: bool) -> None:
        """`known`: it has been answered, one way or the other."""
        for subject in _subjects(act):
            self._under_way[subject] -= 1
            if not self._under_way[subject]:
                del self._under_way[subject]
            if not known:
                self._until[subject] = now + _REST

    def touches(self, act: AccessRequest, now: float) -> bool:
        return any(
            subject in self._under_way or now < self._until.get(subject, now)
            for subject in _subjects(act)
        )

    def sweep(self, now: float) -> None:
        self._until = {subject: until for subject, until in self._until.items() if now < until}


def _subjects(act: AccessRequest) -> Iterator[Subject]:
    yield act.caller.space, act.caller.id
    yield act.caller.space, act.target.server
    if act.target.here:
        yield act.caller.space, _HERE


class PrefetchMode(StrEnum):
    """In the order of what they let happen."""

    OFF = "off"
    """Nothing is foretold, and nothing is made."""
    SHADOW = "shadow"
    """What would be made is foretold and compared with what is asked for, and not made."""
    LIVE = "live"
    """What has proved right is made."""


_ORDER: Final = tuple(PrefetchMode)


def strictest(*modes: PrefetchMode) -> PrefetchMode:
    return min(modes, key=_ORDER.index)


@dataclass(frozen=True, slots=True)
class ServerSwitch:
    mode: PrefetchMode = PrefetchMode.LIVE
    external: bool | None = None
    """Whether what it reads elsewhere may be read ahead; None: as the configuration says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSwitches:
    """What a space has decided."""

    mode: PrefetchMode = PrefetchMode.LIVE
    learning: bool = True
    """Off: of its calls nothing is noted."""
    servers: Mapping[ServerId, ServerSwitch] = field(default_factory=lambda: MappingProxyType({}))


SHUT: Final = SpaceSwitches(mode=PrefetchMode.OFF, learning=False)
"""What is taken for decided where nobody can tell what was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What is in force in a space."""

    installation: PrefetchMode
    external: frozenset[str]
    """The servers by name of which the configuration lets what they read elsewhere be read."""
    space: SpaceSwitches

    @property
    def mode(self) -> PrefetchMode:
        return strictest(self.installation, self.space.mode)

    @property
    def learning(self) -> bool:
        return self.space.learning

    def mode_of(self, server: Server) -> PrefetchMode:
        return strictest(self.mode, self.own(server).mode)

    def external_for(self, server: Server) -> bool:
        own = self.own(server).external
        return server.name in self.external if own is None else own

    def own(self, server: Server) -> ServerSwitch:
        return self.space.servers.get(server.id, ServerSwitch())


def switches_json(switches: SpaceSwitches) -> JsonObject:
    return {
        "mode": str(switches.mode),
        "learning": switches.learning,
        "servers": {
            str(server): {"mode": str(switch.mode), "external": switch.external}
            for server, switch in switches.servers.items()
        },
    }


def read_switches(found: JsonValue) -> SpaceSwitches:
    """As `switches_json` wrote it; of what cannot be read, nothing is let happen."""
    if found is None:
        return SpaceSwitches()
    try:
        return _read(found)
    except (InvalidId, ValueError, KeyError, TypeError):
        return SHUT


def _read(found: JsonValue) -> SpaceSwitches:
    whole = _object(found)
    servers = {
        ServerId.parse(key): _switch(each) for key, each in _object(whole["servers"]).items()
    }
    return SpaceSwitches(
        mode=_mode(whole["mode"]), learning=whole["learning"] is True, servers=servers
    )


def _switch(found: JsonValue) -> ServerSwitch:
    switch = _object(found)
    external = switch["external"]
    return ServerSwitch(_mode(switch["mode"]), None if external is None else external is True)


def _mode(found: JsonValue) -> PrefetchMode:
    return PrefetchMode(str(found))


def _object(found: JsonValue) -> JsonObject:
    if not isinstance(found, Mapping):
        raise TypeError
    return found


def switched_on(switches: Switches, server: Server, act: AccessRequest) -> bool:
    """Whether it may be made ahead of time by what somebody has switched on."""
    leaves = act.target.outside or act.target.effect.rank > Effect.LOCAL_READ.rank
    live = switches.mode_of(server) is PrefetchMode.LIVE
    return live and (not leaves or switches.external_for(server))


def touched(change: AccessRequest, held: BufferedCall) -> bool:
    """Whether what was read can be another after this: by the same principal, who may have changed
    it by another way; or by whomever, at the same server or at another that runs here too."""
    caller, place, read = change.caller, held.key.place, held.access_request.target
    same = caller.id == place.principal or change.target.server == read.server
    return caller.space == place.space and (same or (change.target.here and read.here))


def size_of(answer: ToolResult) -> int:
    """What it takes up, in characters."""
    whole = [list(answer.content), answer.structured, answer.meta]
    return len(json.dumps(whole, default=dict))


# How much may be done ahead: what the configuration allows.


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchLimits:
    mode: PrefetchMode = PrefetchMode.LIVE
    external: frozenset[str] = frozenset()
    """Servers by name of which what they read elsewhere may be read ahead."""
    least_gain: timedelta = timedelta(milliseconds=50)
    """A tool that usually answers sooner is not called ahead: nothing would be won."""
    keep: timedelta = timedelta(seconds=10)
    """How long what came of a call waits to be asked for."""
    calls_at_once: int = 4
    """In this process."""
    calls_a_principal: int = 2
    """At once, of those."""
    calls_a_minute: int = 60
    """Of one principal."""
    longest: timedelta = timedelta(seconds=5)
    dollars: float = 0.10
    """What the calls made ahead for one task may cost in an hour."""
    prices: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Dollars a call, by wildcards of tools."""
    share: float = 0.25
    """Of a server's or a tool's limit, the most that is used up ahead."""

    def price_of(self, tool: str) -> float:
        """The highest that a wildcard which stands for it names; nothing if none does."""
        return max((price for name, price in self.prices.items() if fits(tool, [name])), default=0)


@dataclass(frozen=True, slots=True)
class Use:
    """What is under way ahead of time, and was of late."""

    at_once: int = 0
    """In this process."""
    own_at_once: int = 0
    """Of this principal."""
    at_server: int = 0
    last_minute: int = 0
    """Begun for this principal."""
    spent: float = 0.0
    """Dollars in the last hour, for this task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    wanted: ReadRequest
    access_request: AccessRequest
    """What would be made: for the caller as they are now, at the tool as it is now."""
    stands: bool
    """Whether the caller's key still opens."""
    mode: PrefetchMode
    external: bool
    """Whether an operator lets what leaves this machine be asked of this server ahead of time."""
    workflows: bool
    """Whether the tool is a workflow that somebody has saved."""
    task: TaintContext
    """What the caller's task has taken in, and what it would have by then."""
    trusted: AbstractSet[ServerId]
    """The servers whose results are no stranger's words."""
    field_errors: int
    """Of the arguments, by the tool's schema."""
    decision: Decision
    """The guard's, as if the caller had made the call."""
    usual: timedelta | None
    """How long the tool takes; None: nobody knows."""
    settled: bool
    """Nothing is being changed by this principal or at this server, and of what was, it is known
    what became of it."""
    awake: bool
    """Whether the server is running."""
    busy: int
    """Calls that it is at."""
    alone: bool
    """Whether it is a process of ours, which may do one thing at a time."""
    use: Use
    price: float
    terms: PrefetchLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What is known of a call that was made ahead of time, once it is answered."""

    access_request: AccessRequest
    target: ActionTarget | None
    """What it is aimed at by now; None if there is no such thing any more."""
    on: bool
    """Whether everything that has to be is still switched on."""
    overtaken: bool
    """Whether something was changed meanwhile, or it was called off."""
    failed: bool
    asked: bool
    """Whether the server wanted something of the caller, who was not there."""
    orders: bool
    """Whether the answer is one that has something else done."""
    size: int
    room: int


# What has to be true of a call before it is made ahead of time, and before its answer is kept.
#
# Each gate is one predicate, and all of them stand in one row: none knows of another, and each
# keeps out something that all the others would let through.

_Either = TypeVar("_Either", Attempt, Arrival)


class NamedGate(NamedTuple, Generic[_Either]):
    name: str
    """What it is called where it is told that it was closed."""
    is_open: Callable[[_Either], bool]


Gate = NamedGate[Attempt]
ArrivalGate = NamedGate[Arrival]

_AT_A_SERVER: Final = 4
"""Calls at once at one that is reached over a network, beyond which nothing is put on top."""
_A_TRIFLE: Final = 1e-9


def mode_is_live(attempt: Attempt) -> bool:
    return attempt.mode is PrefetchMode.LIVE


def in_good_standing(attempt: Attempt) -> bool:
    return attempt.stands


def still_approved(attempt: Attempt) -> bool:
    return attempt.access_request.target.live


def pinned_as_foretold(attempt: Attempt) -> bool:
    return attempt.access_request.target.pin == attempt.wanted.pin


def only_reads(attempt: Attempt) -> bool:
    return attempt.access_request.target.effect.is_read_only


def no_workflow(attempt: Attempt) -> bool:
    """One makes calls of its own, with a record of them, which nobody could take back."""
    return not attempt.workflows


def stays_here(attempt: Attempt) -> bool:
    """Or may leave: what is sent is nobody's secret, and no stranger has had a say in it."""
    aim = attempt.access_request.target
    if aim.effect.rank <= Effect.LOCAL_READ.rank and not aim.outside:
        return True
    sources = [source for each in attempt.wanted.sources.values() for source in each]
    public = attempt.task.label == PUBLIC
    return attempt.external and public and all(_no_strangers(source, attempt) for source in sources)


def complete(attempt: Attempt) -> bool:
    """Nothing in it is made up: of every argument it is known where it comes from."""
    wanted = attempt.wanted
    return wanted.arguments.keys() == wanted.sources.keys() and all(wanted.sources.values())


def fits_its_schema(attempt: Attempt) -> bool:
    return attempt.field_errors == 0


def proven(attempt: Attempt) -> bool:
    return attempt.wanted.proven


def worth_it(attempt: Attempt) -> bool:
    return attempt.usual is not None and attempt.usual >= attempt.terms.least_gain


def allowed(attempt: Attempt) -> bool:
    """Nobody is asked to approve what nobody has asked for."""
    return isinstance(attempt.decision, Allowed)


def settled(attempt: Attempt) -> bool:
    return attempt.settled


def awake(attempt: Attempt) -> bool:
    """No process is started for it, and none ended to make room."""
    return attempt.awake


def not_in_the_way(attempt: Attempt) -> bool:
    """Whoever has really asked for something does not wait behind it."""
    most = 1 if attempt.alone else _AT_A_SERVER
    return attempt.busy < most and attempt.use.at_server < most


def few_at_once(attempt: Attempt) -> bool:
    return attempt.use.at_once < attempt.terms.calls_at_once


def few_of_one(attempt: Attempt) -> bool:
    return attempt.use.own_at_once < attempt.terms.calls_a_principal


def few_a_minute(attempt: Attempt) -> bool:
    return attempt.use.last_minute < attempt.terms.calls_a_minute


def affordable(attempt: Attempt) -> bool:
    return attempt.use.spent + attempt.price <= attempt.terms.dollars + _A_TRIFLE


GATES: Final[tuple[Gate, ...]] = (
    Gate("switched_on", mode_is_live),
    Gate("in_good_standing", in_good_standing),
    Gate("still_approved", still_approved),
    Gate("pinned_as_foretold", pinned_as_foretold),
    Gate("only_reads", only_reads),
    Gate("no_workflow", no_workflow),
    Gate("stays_here", stays_here),
    Gate("complete", complete),
    Gate("fits_its_schema", fits_its_schema),
    Gate("proven", proven),
    Gate("worth_it", worth_it),
    Gate("allowed", allowed),
    Gate("settled", settled),
    Gate("awake", awake),
    Gate("not_in_the_way", not_in_the_way),
    Gate("few_at_once", few_at_once),
    Gate("few_of_one", few_of_one),
    Gate("few_a_minute", few_a_minute),
    Gate("affordable", affordable),
)


def same_aim(arrival: Arrival) -> bool:
    """Its definition, its effect, its labels, its server: all as they were decided about."""
    return arrival.target == arrival.access_request.target


def still_on(arrival: Arrival) -> bool:
    return arrival.on


def not_overtaken(arrival: Arrival) -> bool:
    return not arrival.overtaken


def succeeded(arrival: Arrival) -> bool:
    return not arrival.failed


def asked_nothing(arrival: Arrival) -> bool:
    """Who had been there could have answered, and would have been told something else."""
    return not arrival.asked


def orders_nothing(arrival: Arrival) -> bool:
    return not arrival.orders


def small_enough(arrival: Arrival) -> bool:
    return arrival.size <= arrival.room


ARRIVAL: Final[tuple[ArrivalGate, ...]] = (
    ArrivalGate("same_aim", same_aim),
    ArrivalGate("still_on", still_on),
    ArrivalGate("not_overtaken", not_overtaken),
    ArrivalGate("succeeded", succeeded),
    ArrivalGate("asked_nothing", asked_nothing),
    ArrivalGate("orders_nothing", orders_nothing),
    ArrivalGate("small_enough", small_enough),
)


def closed(facts: _Either, gates: Sequence[NamedGate[_Either]]) -> str | None:
    """The name of the first gate that is, if one is."""
    return next((gate.name for gate in gates if not gate.is_open(facts)), None)


def _no_strangers(source: Source, attempt: Attempt) -> bool:
    if source.origin is Origin.CONSTANT:
        return True
    if source.origin in {Origin.WORDS, Origin.ARGUMENT}:  # who said it may have it from a stranger
        return not attempt.task.untrusted
    return source.tool is not None and source.tool.server in attempt.trusted


# How much is done ahead of time: counted when it is begun, so that no bound is ever passed.

_MINUTE: Final = 60.0
_HOUR: Final = 3_600.0
_REMEMBERED: Final = 1_000
"""Principals and tasks. Who is not among the latest has begun nothing for longer than a minute, or
there are so many that the bound of the process holds all of them."""

_Whose = TypeVar("_Whose")
_What = TypeVar("_What")


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """One call, to be given back when it is over."""

    place: ContextKey
    server: str


@dataclass(slots=True)
class Budget:
    """Times are seconds."""

    _under_way: set[Started] = field(default_factory=set)
    _begun: OrderedDict[tuple[SpaceId, PrincipalId], deque[float]] = field(
        default_factory=OrderedDict
    )
    _spent: OrderedDict[ContextKey, deque[tuple[float, float]]] = field(default_factory=OrderedDict)

    def use(self, place: ContextKey, server: str, now: float) -> Use:
        mine = (place.space, place.principal)
        begun = self._begun.get(mine, ())
        spent = self._spent.get(place, ())
        return Use(
            at_once=len(self._under_way),
            own_at_once=sum(_whose(each.place) == mine for each in self._under_way),
            at_server=sum(
                (each.place.space, each.server) == (place.space, server) for each in self._under_way
            ),
            last_minute=sum(now - at < _MINUTE for at in begun),
            spent=sum(price for at, price in spent if now - at < _HOUR),
        )

    def start(self, place: ContextKey, server: str, price: float, now: float) -> Started:
        """It counts from now on, whatever becomes of it: what was paid is paid."""
        started = Started(place, server)
        self._under_way.add(started)
        times = _latest(self._begun, _whose(place))
        while times and now - times[0] >= _MINUTE:
            times.popleft()
        times.append(now)
        if price > 0:
            paid = _latest(self._spent, place)
            while paid and now - paid[0][0] >= _HOUR:
                paid.popleft()
            paid.append((now, price))
        return started

    def end(self, started: Started) -> None:
        """Once or several times."""
        self._under_way.discard(started)

    @property
    def remembered(self) -> int:
        return len(self._begun) + len(self._spent)


def _latest(of: OrderedDict[_Whose, deque[_What]], who: _Whose) -> deque[_What]:
    found = of.setdefault(who, deque())
    of.move_to_end(who)
    while len(of) > _REMEMBERED:
        of.popitem(last=False)
    return found


def _whose(place: ContextKey) -> tuple[SpaceId, PrincipalId]:
    return place.space, place.principal
