"""The event log, kept in PostgreSQL: whoever appends holds the topic's row until it commits."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, LiteralString

import psycopg
from psycopg.rows import DictRow

from portico.adapters.postgres.appending import Appending
from portico.adapters.postgres.rows import as_label
from portico.adapters.postgres.telling import append_values, asking
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.telemetry.instruments import events_appended
from portico.engine.core.errors import TopicNotFound, TopicRefused
from portico.engine.core.event_log import Entry, NewEntry, Page
from portico.engine.ports import Bus
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import EventId, PrincipalId
from portico.kernel.principal import Principal

_APPEND: Final[LiteralString] = """
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
                row = await (await connection.execute(_APPEND, values)).fetchone()
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
        facts=row["facts"],
    )
