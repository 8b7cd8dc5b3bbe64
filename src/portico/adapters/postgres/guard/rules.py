"""Policy rules in PostgreSQL, and rate limits by its clock."""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.mapping import Row, as_label
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus, Wakeups
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.errors import LimitReached, RuleTaken
from portico.guard.core.rate_limits import CallRates, Limit, RateWindow, Slots
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, SpaceId
from portico.kernel.principal import Principal

# The rules of each space, kept in PostgreSQL and at hand in every process.
#
# A process that is told of a change reads them anew before it decides anything else; one that was
# not told does so after two seconds at the latest. So no decision is made by rules that were
# changed longer ago than that, and most cost no round trip.

POLICY: Final = "policy"
"""What the bus calls a change of a space's rules."""
OLDEST: Final = 2.0
"""Seconds after which rules are read again, whether or not somebody has said that they changed."""

_ALL: Final[LiteralString] = """
    SELECT name, ruling, tools, but, who, effects, reads, tainted, upto_level,
           upto_compartments, context_id, expires_at, made_by, made_at, approval_id
      FROM policy_rule
     WHERE space_id = %(space)s AND (expires_at IS NULL OR expires_at > %(now)s)
     ORDER BY name
"""
_OVER: Final[LiteralString] = """
    DELETE FROM policy_rule WHERE space_id = %(space)s AND expires_at <= %(now)s
"""
_ADD: Final[LiteralString] = """
    INSERT INTO policy_rule (space_id, name, ruling, tools, but, who, effects, reads, tainted,
                             upto_level, upto_compartments, context_id, expires_at, made_by,
                             made_at, approval_id)
    VALUES (%(space)s, %(name)s, %(ruling)s, %(tools)s, %(but)s, %(who)s, %(effects)s, %(reads)s,
            %(tainted)s, %(upto)s, %(upto_compartments)s, %(context)s, %(expires)s, %(by)s,
            %(at)s, %(approval)s)
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM policy_rule WHERE space_id = %(space)s AND name = %(name)s
"""


@dataclass(slots=True)
class _Room:
    bell: Wakeups
    rules: Sequence[Rule] = ()
    read_at: float | None = None
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def fresh(self, now: float) -> bool:
        return self.read_at is not None and not self.bell.rung and now - self.read_at < OLDEST


class PostgresRules:
    def __init__(
        self,
        transactions: Transactions,
        bus: Bus,
        clock: Clock,
        of_the_file: Sequence[Rule] = (),
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._bus = bus
        self._clock = clock
        self._file = tuple(of_the_file)
        self._now = now
        self._rooms: dict[SpaceId, _Room] = {}
        self._listening = ExitStack()

    async def all(self, caller: Principal) -> Sequence[Rule]:
        if self._transactions.inside:
            return await self._read(caller)  # what is not sure yet is for nobody else
        room = self._room(caller.space)
        if not room.fresh(self._now()):
            await self._read_anew(caller, room)
        return room.rules

    async def add(self, caller: Principal, rule: Rule) -> None:
        try:
            async with self._transactions.begin(caller) as connection:
                values = {"space": caller.space.value, "now": self._clock.now()}
                await connection.execute(_OVER, values)
                await connection.execute(_ADD, _values(caller.space, rule))
                self._tell(caller.space)
        except psycopg.errors.UniqueViolation as error:
            raise RuleTaken(rule.name) from error

    async def remove(self, caller: Principal, name: str) -> bool:
        async with self._transactions.begin(caller) as connection:
            wanted = {"space": caller.space.value, "name": name}
            done = await connection.execute(_REMOVE, wanted)
            self._tell(caller.space)
        return done.rowcount > 0

    def _tell(self, space: SpaceId) -> None:
        self._transactions.afterwards(partial(self._bus.wake, space, POLICY))

    def _room(self, space: SpaceId) -> _Room:
        room = self._rooms.get(space)
        if room is None:
            bell = self._listening.enter_context(self._bus.listen(space, POLICY))
            room = self._rooms[space] = _Room(bell)
        return room

    async def _read_anew(self, caller: Principal, room: _Room) -> None:
        async with room.reading:
            if room.fresh(self._now()):
                return
            if room.bell.rung:
                await room.bell.wait()
            begun = self._now()
            room.rules = await self._read(caller)
            room.read_at = begun

    async def _read(self, caller: Principal) -> Sequence[Rule]:
        wanted = {"space": caller.space.value, "now": self._clock.now()}
        async with self._transactions.begin(caller) as connection:
            own = [_rule(row) for row in await (await connection.execute(_ALL, wanted)).fetchall()]
        return (*self._file, *own)


def _values(space: SpaceId, rule: Rule) -> dict[str, object]:
    return {
        "space": space.value,
        "name": rule.name,
        "ruling": rule.ruling,
        "tools": [*rule.tools],
        "but": [*rule.but],
        "who": [*rule.who],
        "effects": sorted(rule.effects),
        "reads": rule.reads,
        "tainted": rule.tainted,
        "upto": int(rule.max_label.level),
        "upto_compartments": sorted(rule.max_label.compartments),
        "context": None if rule.context is None else rule.context.value,
        "expires": rule.expires_at,
        "by": rule.made_by,
        "at": rule.made_at,
        "approval": None if rule.approval is None else rule.approval.value,
    }


def _rule(row: Row) -> Rule:
    return Rule(
        name=row["name"],
        ruling=Ruling(row["ruling"]),
        tools=tuple(row["tools"]),
        but=tuple(row["but"]),
        who=tuple(row["who"]),
        effects=frozenset(map(Effect, row["effects"])),
        reads=row["reads"],
        tainted=row["tainted"],
        max_label=as_label(row["upto_level"], row["upto_compartments"]),
        context=None if row["context_id"] is None else ContextId(row["context_id"]),
        expires_at=row["expires_at"],
        source=RuleSource.DATABASE,
        made_by=row["made_by"],
        made_at=row["made_at"],
        approval=None if row["approval_id"] is None else ApprovalId(row["approval_id"]),
    )


# Calls a minute, counted in PostgreSQL by its own clock; most of them without asking it.
#
# Each process takes a few calls ahead and gives them out for half a second. What it has not used
# then goes back with its next question. While the database is away, reads are counted in this
# process alone; whatever may change something waits for it, as its audit does.

_TAKE: Final[LiteralString] = """
    SELECT subject, granted, slot, wait_seconds
      FROM portico.take_calls(%(subjects)s, %(most)s, %(ahead)s, %(waiting)s, %(back)s,
                              %(back_slot)s, %(slot_seconds)s, %(slots)s)
"""
_AWAY: Final = 5.0
"""Seconds for which a database that was away is not asked by those who can do without."""

_log: Final = logging.getLogger("portico.limits")


@dataclass(slots=True)
class _Lease:
    left: int = 0
    until: float = 0.0
    slot: int = 0


@dataclass(slots=True)
class _Ledger:
    """What this process knows of one space."""

    leases: defaultdict[str, _Lease] = field(default_factory=lambda: defaultdict(_Lease))
    closed: dict[str, float] = field(default_factory=dict)
    """Subjects of which nothing is left, and until when."""
    waiting: Counter[Limit] = field(default_factory=Counter)
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def lacking(self, limits: Sequence[Limit], now: float) -> Sequence[Limit]:
        """Of which there is none at hand. Raises `LimitReached`."""
        for limit in limits:
            if (wait := self.closed.get(limit.subject, now) - now) > 0:
                raise LimitReached(limit.what, limit.per_minute, timedelta(seconds=wait))
        return [limit for limit in limits if not self._has(limit, now)]

    def use(self, limits: Sequence[Limit]) -> None:
        for limit in limits:
            self.leases[limit.subject].left -= 1

    @contextmanager
    def wanting(self, limits: Sequence[Limit]) -> Iterator[None]:
        self.waiting.update(limits)
        try:
            yield
        finally:
            self.waiting -= Counter(limits)

    def wanted(self, now: float) -> Sequence[Limit]:
        return [limit for limit in self.waiting if not self._has(limit, now)]

    def _has(self, limit: Limit, now: float) -> bool:
        lease = self.leases.get(limit.subject)
        return lease is not None and lease.left > 0 and now < lease.until


class PostgresCallLimits:
    def __init__(
        self,
        transactions: Transactions,
        rates: CallRates,
        *,
        slots: Slots | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._rates = rates
        self._slots = slots or Slots()
        self._now = now
        self._ledgers: defaultdict[SpaceId, _Ledger] = defaultdict(_Ledger)
        self._alone: dict[tuple[SpaceId, str], RateWindow] = {}
        self._away_until = 0.0
        self.trips = 0
        """How often the database was asked."""

    async def take_own(self, act: AccessRequest) -> None:
        await self._take_one(act, self._rates.own(act))

    async def take_shared(self, act: AccessRequest) -> None:
        await self._take_one(act, self._rates.shared(act))

    async def take_ahead(self, act: AccessRequest, share: float) -> None:
        """One trip, and nothing at hand is used or closed: that is for those who have asked.
        Without the database there is none."""
        limits = [limit.shared(share) for limit in self._rates.shared(act)]
        if not limits:
            return
        many = len(limits)
        values = {
            "subjects": [limit.subject for limit in limits],
            "most": [limit.per_minute for limit in limits],
            "ahead": [1] * many,
            "waiting": [1] * many,
            "back": [0] * many,
            "back_slot": [0] * many,
            "slot_seconds": self._slots.seconds,
            "slots": self._slots.count,
        }
        self.trips += 1
        [rows] = await self._transactions.stroke(act.caller, (_TAKE, values))
        refused = {row["subject"]: row["wait_seconds"] for row in rows if not row["granted"]}
        for limit in limits:
            if limit.subject in refused:
                wait = refused[limit.subject] or self._slots.seconds
                raise LimitReached(limit.what, limit.per_minute, timedelta(seconds=wait))

    async def _take_one(self, act: AccessRequest, limits: Sequence[Limit]) -> None:
        """Of each."""
        if not limits:
            return
        try:
            if self._now() < self._away_until and act.target.effect.is_read_only:
                self._take_alone(act.caller, limits)
            else:
                await self._take(act.caller, limits)
        except StoreUnavailable:
            if not act.target.effect.is_read_only:
                raise
            _log.warning("calls are counted in this process alone: no database")
            self._away_until = self._now() + _AWAY
            self._take_alone(act.caller, limits)

    async def _take(self, caller: Principal, limits: Sequence[Limit]) -> None:
        ledger = self._ledgers[caller.space]
        while lacking := ledger.lacking(limits, self._now()):
            with ledger.wanting(lacking):
                async with ledger.asking:
                    if wanted := ledger.wanted(self._now()):
                        await self._ask(caller, ledger, wanted)
        ledger.use(limits)

    async def _ask(self, caller: Principal, ledger: _Ledger, wanted: Sequence[Limit]) -> None:
        leases = [ledger.leases[limit.subject] for limit in wanted]
        values = {
            "subjects": [limit.subject for limit in wanted],
            "most": [limit.per_minute for limit in wanted],
            "ahead": [limit.ahead for limit in wanted],
            "waiting": [ledger.waiting[limit] for limit in wanted],
            "back": [lease.left for lease in leases],
            "back_slot": [lease.slot for lease in leases],
            "slot_seconds": self._slots.seconds,
            "slots": self._slots.count,
        }
        for lease in leases:
            lease.left = 0
        sent = self._now()
        self.trips += 1
        [rows] = await self._transactions.stroke(caller, (_TAKE, values))
        for row in rows:
            subject = row["subject"]
            if row["granted"]:
                ledger.leases[subject] = _Lease(
                    row["granted"], sent + self._slots.lease, row["slot"]
                )
            else:
                ledger.closed[subject] = self._now() + (row["wait_seconds"] or self._slots.seconds)

    def _take_alone(self, caller: Principal, limits: Sequence[Limit]) -> None:
        for limit in limits:
            key = caller.space, limit.subject
            window = self._alone.setdefault(key, RateWindow(self._slots))
            if wait := window.take(limit.per_minute, self._now()):
                raise LimitReached(limit.what, limit.per_minute, timedelta(seconds=wait))
