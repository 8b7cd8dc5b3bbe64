"""Appends that come at the same time go together: one statement, one commit, for all of them.

Whoever comes alone is sent at once. Whoever comes while others are on their way goes with the
next ones of the same hand. Each is appended with its own caller's rights.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

import psycopg

from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.event_log import NewEntry
from portico.kernel.ids import EventId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

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
        "facts": entry.facts,
    }
