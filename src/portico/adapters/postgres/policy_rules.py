"""The rules of each space, kept in PostgreSQL and at hand in every process.

A process that is told of a change reads them anew before it decides anything else; one that was
not told does so after two seconds at the latest. So no decision is made by rules that were changed
longer ago than that, and most cost no round trip.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.rows import Row, as_label
from portico.adapters.postgres.transaction import Transactions
from portico.engine.ports import Bus, Wakeups
from portico.guard.core.errors import RuleTaken
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, SpaceId
from portico.kernel.principal import Principal

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
        "upto": int(rule.upto.level),
        "upto_compartments": sorted(rule.upto.compartments),
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
        upto=as_label(row["upto_level"], row["upto_compartments"]),
        context=None if row["context_id"] is None else ContextId(row["context_id"]),
        expires_at=row["expires_at"],
        source=RuleSource.DATABASE,
        made_by=row["made_by"],
        made_at=row["made_at"],
        approval=None if row["approval_id"] is None else ApprovalId(row["approval_id"]),
    )
