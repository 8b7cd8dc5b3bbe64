"""The event log in PostgreSQL: whoever appends holds the topic's row until it commits."""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, LiteralString
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import Json

from portico.adapters.postgres.mapping import as_label
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.telemetry.metrics import events_appended
from portico.engine.core.errors import TopicNotFound, TopicRefused
from portico.engine.core.event_log import Entry, NewEntry, Page
from portico.engine.ports import Bus
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import EventId, PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.postgres")
LOGS: Final = {"event": "the log of events", "tool_call": "the record of calls"}
PREPARE_MONTHS: Final[LiteralString] = "SELECT portico.prepare_months(%(log)s, 2) AS months"


class EventMonths:
    """As the owner does it when the schema is brought up to date; the engine does it each hour."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def migrate(self) -> None:
        async with await AsyncConnection.connect(self._owner, autocommit=True) as connection:
            for log, called in LOGS.items():
                try:
                    await connection.execute(PREPARE_MONTHS, {"log": log})
                except psycopg.errors.LockNotAvailable:
                    _log.info("%s is being read; its months are made the next time", called)


# Entries of the event log as part of a larger statement: told if, and only if, it did something.
#
# The topic's row is then held for the time of that statement alone, and not until a process gets
# around to its next one: the topic of all runs is everybody's.

_NAMES: Final[tuple[LiteralString, ...]] = ("own", "all")


def telling(source: LiteralString, count: int = 1) -> LiteralString:
    """The parts of a WITH that append `count` entries if `source` has a row. Each waits for the
    one before it, so that all who write the same topics hold them in the same order."""
    parts: list[LiteralString] = []
    for name in _NAMES[:count]:
        parts.append(_append(name, source))
        source = f"{name}_told"
    return ", ".join(parts)


def told_values(
    caller: Principal, entries: Sequence[NewEntry], events: Sequence[EventId]
) -> Mapping[str, object]:
    """For a statement that was written with `telling`, as many entries as that."""
    values: dict[str, object] = {}
    for name, entry, event in zip(_NAMES, entries, events, strict=False):
        for field, value in append_values(caller, entry, event).items():
            values[f"{name}_{field}"] = value
    return values


def append_values(caller: Principal, entry: NewEntry, event: EventId) -> Mapping[str, object]:
    return {
        "space": caller.space.value,
        "topic": entry.topic,
        "topic_level": int(entry.topic_label.level),
        "topic_compartments": sorted(entry.topic_label.compartments),
        "event": event.value,
        "type": entry.type,
        "principal": caller.id.value,
        "level": int(entry.label.level),
        "compartments": sorted(entry.label.compartments),
        "facts": Json(entry.details),
    }


def asking(caller: Principal) -> Mapping[str, object]:
    """Who asks, for a statement that says so itself."""
    return {
        "asking_level": int(caller.clearance.level),
        "asking_compartments": ",".join(sorted(caller.clearance.compartments)),
    }


def _append(name: LiteralString, source: LiteralString) -> LiteralString:
    return f"""
    {name}_held AS (
        INSERT INTO portico.stream AS s (space_id, topic, level, compartments, last)
        SELECT %({name}_space)s::uuid, %({name}_topic)s, %({name}_topic_level)s,
               %({name}_topic_compartments)s::text[], 1
          FROM {source}
        ON CONFLICT (space_id, topic) DO UPDATE SET last = s.last + 1
        RETURNING space_id, topic, last, level, compartments
    ), {name}_told AS (
        INSERT INTO portico.event (
            space_id, topic, number, event_id, type, principal_id, level, compartments, facts
        )
        SELECT space_id, topic, last, %({name}_event)s::uuid, %({name}_type)s,
               %({name}_principal)s::uuid, greatest(level, %({name}_level)s),
               ARRAY(SELECT DISTINCT unnest(compartments || %({name}_compartments)s::text[])
                      ORDER BY 1),
               %({name}_facts)s::json
          FROM {name}_held
        RETURNING number
    )"""


# Appends that come at the same time go together: one statement, one commit, for all of them.
#
# Whoever comes alone is sent at once. Whoever comes while others are on their way goes with the
# next ones of the same hand. Each is appended with its own caller's rights.

_APPEND: Final[LiteralString] = """
    SELECT portico.append_events(
        %(space)s, %(asking)s, %(asking_level)s::smallint, %(asking_compartments)s,
        %(entries)s::json
    ) AS numbers
"""
_MOST: Final = 64
"""Entries a statement: it holds the topics of all of them."""
_AT_ONCE: Final = 2
"""Statements on their way: while the server works at one, the next is made ready."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: Mapping[str, JsonValue]
    number: "asyncio.Future[int]"


class Appending:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._waiting: defaultdict[_Hand, list[_Waiting]] = defaultdict(list)
        self._sending: set[asyncio.Task[None]] = set()

    async def __call__(self, caller: Principal, entry: NewEntry, event: EventId) -> int:
        """Its number. Raises `StoreUnavailable`, and psycopg's error if it is refused."""
        number: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[_Hand.of(caller)].append(_Waiting(_row(entry, event), number))
        if len(self._sending) < _AT_ONCE:
            sending = asyncio.ensure_future(self._send())
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)
        return await number

    async def together(
        self, caller: Principal, entries: Sequence[NewEntry], events: Sequence[EventId]
    ) -> Sequence[int]:
        """All or none of them, with nobody else's. Raises as above."""
        rows = [_row(entry, event) for entry, event in zip(entries, events, strict=True)]
        return await self._appended(_Hand.of(caller), rows)

    async def _send(self) -> None:
        while self._waiting:
            hand, waiting = next(iter(self._waiting.items()))
            together, rest = waiting[:_MOST], waiting[_MOST:]
            del self._waiting[hand]
            if rest:
                self._waiting[hand] = rest
            await self._sent(hand, together)

    async def _sent(self, hand: "_Hand", together: Sequence[_Waiting]) -> None:
        try:
            numbers = await self._appended(hand, [each.row for each in together])
        except psycopg.Error as error:
            if len(together) > 1:  # one of them is refused: it must not take the others with it
                for each in together:
                    await self._sent(hand, [each])
            else:
                _tell(together, error)
        except Exception as error:  # noqa: BLE001 # it is theirs to deal with
            _tell(together, error)
        else:
            for each, number in zip(together, numbers, strict=True):
                if not each.number.done():
                    each.number.set_result(number)

    async def _appended(
        self, hand: "_Hand", rows: Sequence[Mapping[str, JsonValue]]
    ) -> Sequence[int]:
        values = {**hand.values(), "entries": json.dumps(rows)}
        numbers: Sequence[int] = (await self._transactions.at_once(_APPEND, values))["numbers"]
        return numbers


@dataclass(frozen=True, slots=True)
class _Hand:
    """By whose hand, and with which rights, entries are written: those of one go together."""

    space: UUID
    asking: UUID
    asking_level: int
    asking_compartments: str

    @classmethod
    def of(cls, caller: Principal) -> "_Hand":
        compartments = ",".join(sorted(caller.clearance.compartments))
        return cls(caller.space.value, caller.id.value, int(caller.clearance.level), compartments)

    def values(self) -> Mapping[str, object]:
        return {
            "space": self.space,
            "asking": self.asking,
            "asking_level": self.asking_level,
            "asking_compartments": self.asking_compartments,
        }


def _tell(together: Sequence[_Waiting], error: Exception) -> None:
    for each in together:
        if not each.number.done():
            each.number.set_exception(error)


def _row(entry: NewEntry, event: EventId) -> Mapping[str, JsonValue]:
    return {
        "topic": entry.topic,
        "topic_level": int(entry.topic_label.level),
        "topic_compartments": sorted(entry.topic_label.compartments),
        "event": str(event.value),
        "type": entry.type,
        "level": int(entry.label.level),
        "compartments": sorted(entry.label.compartments),
        "facts": entry.details,
    }


_EVENT_LOG_APPEND: Final[LiteralString] = """
    SELECT portico.append_event(
        %(space)s, %(principal)s, %(asking_level)s::smallint, %(asking_compartments)s, %(topic)s,
        %(topic_level)s::smallint, %(topic_compartments)s, %(event)s, %(type)s,
        %(level)s::smallint, %(compartments)s, %(facts)s) AS number
"""
# `at` lets months be skipped that are older than the topic; a clock may have been put back. A
# reader who stands behind the end stood in a topic of this name that is gone.
_READ: Final[LiteralString] = """
    SELECT s.first, s.last, e.*
      FROM portico.stream s
      LEFT JOIN LATERAL (
          SELECT number, event_id, type, at, principal_id, level, compartments, facts
            FROM portico.event
           WHERE space_id = s.space_id AND topic = s.topic
             AND number > CASE WHEN %(after)s > s.last THEN 0 ELSE %(after)s END
             AND at >= s.created_at - interval '1 day'
           ORDER BY number LIMIT %(limit)s
      ) e ON true
     WHERE s.space_id = %(space)s AND s.topic = %(topic)s
     ORDER BY e.number
"""


class PostgresEventLog:
    """By itself an append is one round trip, and so is a read; inside a transaction each is part of
    that."""

    def __init__(
        self, transactions: Transactions, bus: Bus, clock: Clock, entropy: Entropy
    ) -> None:
        self._transactions = transactions
        self._appending = Appending(transactions)
        self._bus = bus
        self._clock = clock
        self._entropy = entropy

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        try:
            numbers = await self._appended(caller, entries)
        except psycopg.errors.InsufficientPrivilege as error:
            raise TopicRefused from error
        for topic in {entry.topic for entry in entries}:
            self._transactions.afterwards(partial(self._bus.wake, caller.space, topic))
        events_appended(len(entries))
        return numbers

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:
        asked = {"space": caller.space.value, "topic": topic, "after": after, "limit": limit}
        [rows] = await self._transactions.looked_up(caller, (_READ, asked))
        if not rows:
            raise TopicNotFound(topic)
        entries = [_entry(topic, row) for row in rows if row["number"] is not None]
        first, last = rows[0]["first"], rows[0]["last"]
        full = len(entries) == limit > 0
        return Page(
            entries=entries,
            position=entries[-1].number if full else last,
            first=first,
            more=full,
        )

    async def _appended(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        if self._transactions.inside or not entries:
            return await self._together(caller, entries)
        if len(entries) == 1:
            return [await self._appending(caller, entries[0], self._event())]
        events = [self._event() for _ in entries]
        return await self._appending.together(caller, entries, events)

    async def _together(self, caller: Principal, entries: Sequence[NewEntry]) -> list[int]:
        """Two who append to the same topics hold them in the same order."""
        numbers = [0] * len(entries)
        async with self._transactions.begin(caller) as connection:
            for place in sorted(range(len(entries)), key=lambda place: entries[place].topic):
                values = self._values(caller, entries[place])
                row = await (await connection.execute(_EVENT_LOG_APPEND, values)).fetchone()
                numbers[place] = 0 if row is None else int(row["number"])
        return numbers

    def _values(self, caller: Principal, entry: NewEntry) -> Mapping[str, object]:
        return {**append_values(caller, entry, self._event()), **asking(caller)}

    def _event(self) -> EventId:
        return EventId.mint(self._clock.now(), self._entropy)


def _entry(topic: str, row: DictRow) -> Entry:
    return Entry(
        topic=topic,
        number=row["number"],
        id=EventId(row["event_id"]),
        type=row["type"],
        at=row["at"],
        by=None if row["principal_id"] is None else PrincipalId(row["principal_id"]),
        label=as_label(row["level"], row["compartments"]),
        details=row["facts"],
    )
