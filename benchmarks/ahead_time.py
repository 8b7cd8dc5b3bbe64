"""How long a session takes, and how long with what was foretold: a model of time, around calls and
answers that are real.

The agent thinks, then calls, then waits. What is foretold begins when the answer before it is
there, and waits as long as the product lets it; the caller's own call joins one that is under way.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from random import Random
from typing import Final

from benchmarks.ahead_foretold import Foretold, Replayed
from benchmarks.ahead_gates import TERMS, Lane
from benchmarks.ahead_sessions import Made, Session, key_of
from benchmarks.ahead_truth import LetIn
from portico.learning.core.prefetch_gates import Use

THINKS: Final = (1.2, 0.5, 0.5, 3.0)
"""Lognormal: median and spread, and between what it is cut; seconds."""
SPREAD: Final = 0.6
"""Of a tool's latency around its median, lognormal as well."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast tools are."""

    median: float | None = None
    """Seconds, of all of them; None: as each was measured."""
    usual: Mapping[str, float] = field(default_factory=dict)
    """As measured, by tool."""
    serial: bool = False
    """Whether a server does one thing at a time, and cannot be told to stop."""

    def of(self, name: str) -> float:
        return self.usual.get(name, 0.0) if self.median is None else self.median

    def drawn(self, name: str, chance: Random) -> float:
        return chance.lognormvariate(log(max(self.of(name), 1e-4)), SPREAD)


@dataclass(slots=True)
class Spent:
    """Of one session."""

    calls: int = 0
    tried: int = 0
    exact: int = 0
    """Of those tried, what the very next call was."""
    served: int = 0
    unsafe: int = 0
    """Tried, of a tool that does more than read in truth."""
    asked: float = 0.0
    """Seconds, if nothing is made ahead."""
    ahead: float = 0.0
    kept_out: Counter[str] = field(default_factory=Counter)
    """By gate."""

    @property
    def wasted(self) -> int:
        return self.tried - self.served


@dataclass(slots=True)
class _Held:
    name: str
    server: str
    begun: float
    ready: float


@dataclass(slots=True)
class Clocked:
    """One session, gone through once more with a clock."""

    lane: Lane
    pace: Pace
    session: Session
    seed: int = 0
    now: float = 0.0
    held: dict[str, _Held] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)

    def foretold(self, each: Foretold, call: Made | None) -> None:
        key = key_of(each.name, each.wanted.arguments)
        server = each.name.partition(".")[0]
        under_way = [held for held in self.held.values() if held.ready > self.now]
        here = sum(held.server == server for held in under_way)
        use = Use(len(under_way), len(under_way), here, self.spent.tried)
        gate = self.lane.closed(each, self.pace.of(each.name), use)
        if gate is not None or key in self.held:
            self.spent.kept_out[gate or "held already"] += 1
            return
        took = self.took(each.name, key)
        self.held[key] = _Held(each.name, server, self.now, self.now + took)
        self.spent.tried += 1
        self.spent.exact += call is not None and call.key == key
        self.spent.unsafe += not self.lane.tools[each.name].truly_reads

    def called(self, call: Made) -> None:
        thought, took = self.thought(), self.took(call.name, call.key)
        self.spent.calls += 1
        self.spent.asked += thought + took
        self.now += thought
        self._tidy()
        if not self.lane.tools[call.name].effect.is_read_only:
            self.held.clear()
        held = self.held.pop(call.key, None)
        if held is None or call.failed:
            self.now = max(self.now, self._free(call.server)) + took
            return
        self.spent.served += 1
        self.now = max(self.now, held.ready)

    def _tidy(self) -> None:
        """What was answered too long ago, as the product counts it, or is not answered in time."""
        keep, longest = TERMS.keep.total_seconds(), TERMS.longest.total_seconds()
        gone = [
            key
            for key, held in self.held.items()
            if held.begun + keep <= self.now or min(held.ready, self.now) - held.begun > longest
        ]
        for key in gone:
            del self.held[key]

    def _free(self, server: str) -> float:
        """When a server that does one thing at a time is done with what nobody had asked for."""
        at_it = [held.ready for held in self.held.values() if held.server == server]
        return max(at_it, default=0.0) if self.pace.serial else 0.0

    def thought(self) -> float:
        median, spread, least, most = THINKS
        chance = Random(f"{self.seed} {self.session.number} think {self.spent.calls}")  # noqa: S311 # a model
        return min(most, max(least, chance.lognormvariate(log(median), spread)))

    def took(self, name: str, key: str) -> float:
        """The same for the same call, whoever makes it."""
        return self.pace.drawn(name, Random(f"{self.seed} {self.session.number} {key}"))  # noqa: S311 # a model


def clocked(lane: Lane, pace: Pace, replayed: Replayed, least: float = 0.0) -> Spent:
    """`least`: what a confidence has to be beyond what the product asks for."""
    clock = Clocked(lane, pace, replayed.session)
    calls = replayed.session.calls
    for place, foretold in enumerate(replayed.foretold):
        call = calls[place] if place < len(calls) else None
        for each in foretold:
            if each.confidence >= least:
                clock.foretold(each, call)
        if call is not None:
            clock.called(call)
    clock.spent.ahead = clock.now
    return clock.spent


def all_served(tools: Mapping[str, LetIn], session: Session) -> Spent:
    """At one second a call: the most that could be won, were everything foretold in time."""
    clock = Clocked(Lane(tools), Pace(1.0), session)
    for call in session.calls:
        thought = clock.thought()
        took = clock.took(call.name, call.key)
        clock.spent.calls += 1
        clock.spent.asked += thought + took
        clock.spent.ahead += max(thought, took)
    return clock.spent
