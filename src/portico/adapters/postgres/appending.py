"""Appends that come at the same time go together: one statement, one commit, for all of them.

Whoever comes alone is sent at once. Whoever comes while others are on their way goes with the
next ones. Each is appended with its own caller's rights.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.entry import NewEntry
from portico.kernel.ids import EventId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_APPEND: Final[LiteralString] = """
    SELECT array_agg(portico.append_event(
               a.space, a.asking, a.asking_level, a.asking_compartments, a.topic, a.topic_level,
               a.topic_compartments, a.event, a.type, a.level, a.compartments, a.facts
           )) AS numbers
      FROM json_to_recordset(%(entries)s::json) AS a (
               space uuid, asking uuid, asking_level smallint, asking_compartments text,
               topic text, topic_level smallint, topic_compartments text[], event uuid,
               type text, level smallint, compartments text[], facts json)
"""
_MOST: Final = 64
"""Entries a statement: it holds the topics of all of them."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: Mapping[str, JsonValue]
    number: "asyncio.Future[int]"


class Appending:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._waiting: list[_Waiting] = []
        self._sending: asyncio.Task[None] | None = None

    async def __call__(self, caller: Principal, entry: NewEntry, event: EventId) -> int:
        """Its number. Raises `StoreUnavailable`, and psycopg's error if it is refused."""
        waiting = _Waiting(_row(caller, entry, event), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._sending is None:
            self._sending = asyncio.ensure_future(self._send())
        return await waiting.number

    async def _send(self) -> None:
        try:
            while self._waiting:
                together, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                # Two who append to the same topics hold them in the same order.
                together.sort(key=lambda each: (str(each.row["space"]), str(each.row["topic"])))
                await self._sent(together)
        finally:
            self._sending = None

    async def _sent(self, together: Sequence[_Waiting]) -> None:
        try:
            numbers = await self._appended([each.row for each in together])
        except psycopg.Error as error:
            if len(together) > 1:  # one of them is refused: it must not take the others with it
                for each in together:
                    await self._sent([each])
            else:
                _tell(together, error)
        except Exception as error:  # noqa: BLE001 # it is theirs to deal with
            _tell(together, error)
        else:
            for each, number in zip(together, numbers, strict=True):
                if not each.number.done():
                    each.number.set_result(number)

    async def _appended(self, rows: Sequence[Mapping[str, JsonValue]]) -> Sequence[int]:
        values = {"entries": json.dumps(rows)}
        numbers: Sequence[int] = (await self._transactions.at_once(_APPEND, values))["numbers"]
        return numbers


def _tell(together: Sequence[_Waiting], error: Exception) -> None:
    for each in together:
        if not each.number.done():
            each.number.set_exception(error)


def _row(caller: Principal, entry: NewEntry, event: EventId) -> Mapping[str, JsonValue]:
    return {
        "space": str(caller.space.value),
        "asking": str(caller.id.value),
        "asking_level": int(caller.clearance.level),
        "asking_compartments": ",".join(sorted(caller.clearance.compartments)),
        "topic": entry.topic,
        "topic_level": int(entry.topic_label.level),
        "topic_compartments": sorted(entry.topic_label.compartments),
        "event": str(event.value),
        "type": entry.type,
        "level": int(entry.label.level),
        "compartments": sorted(entry.label.compartments),
        "facts": entry.facts,
    }
