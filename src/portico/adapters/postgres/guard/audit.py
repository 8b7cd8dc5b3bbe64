"""The audit log in PostgreSQL: appended by a function of the owner's, which alone makes links."""

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Final, LiteralString

import psycopg
from psycopg.rows import DictRow

from portico.adapters.postgres.group_commit import GroupCommit, WriteBehind
from portico.adapters.postgres.transaction import SET_CONTEXT, Part, Transactions, context
from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.audit import BEGINNING, AuditEntry, Head, Link, act_text
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal

# The audit, kept in PostgreSQL: appended by a function of the owner's, which alone makes links.
#
# What may change something is written down before it happens, together with what others write down
# at the same moment. What only reads is written down a moment later. Inside a transaction it is the
# last thing written: the head of the chain is locked from then on.

_log: Final = logging.getLogger("portico.audit")
_APPEND: Final[LiteralString] = "SELECT number, hash FROM portico.append_audit(%(acts)s::text[])"
_UNHURRIED: Final[LiteralString] = "SELECT set_config('synchronous_commit', 'off', true)"
_SETTLE: Final[LiteralString] = (
    "SELECT pg_logical_emit_message(true, 'portico.audit', 'settled')::text AS settled"
)
"""The smallest thing that can be written: on the disk when it is done, with all before it."""
_HEAD: Final[LiteralString] = "SELECT number, hash FROM audit_head WHERE space_id = %(space)s"
_PAGE: Final[LiteralString] = """
    SELECT number, entry, hash FROM audit_entry
     WHERE space_id = %(space)s AND (%(before)s::bigint IS NULL OR number < %(before)s)
     ORDER BY number DESC LIMIT %(limit)s
"""
_STREAM: Final[LiteralString] = """
    SELECT number, entry, hash FROM audit_entry
     WHERE space_id = %(space)s AND number > %(after)s AND number <= %(upto)s
     ORDER BY number LIMIT %(limit)s
"""
_AT_ONCE: Final = 2_000

HeadListener = Callable[[SpaceId, Head, int], None]
"""Hears of each head, and of how many entries it is the end."""


@dataclass(frozen=True, slots=True)
class PendingEntries:
    caller: Principal
    acts: Sequence[str]
    lasting: bool = True
    """Whether it has to be on the disk at once: not if something else is about to be."""


class PostgresAudit:
    def __init__(self, transactions: Transactions, seen: HeadListener) -> None:
        self._transactions = transactions
        self._seen = seen
        self._behind = WriteBehind(self._write_behind, "entries of the audit")
        self._convoys: dict[SpaceId, GroupCommit[PendingEntries]] = {}

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        if entries:
            await self._note(PendingEntries(caller, [act_text(caller, entry) for entry in entries]))

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        await self._note(PendingEntries(caller, [act_text(caller, entry)], lasting=False))

    async def _note(self, told: PendingEntries) -> None:
        if self._transactions.inside:
            self._transactions.lastly(partial(self._join, told))
            return
        caller = told.caller
        convoy = self._convoys.get(caller.space)
        if convoy is None:
            convoy = self._convoys[caller.space] = GroupCommit(self._write)
        await convoy.write(told)

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        if self._behind.full:
            raise StoreUnavailable(
                "So much waits to be written to the audit that no more is taken on.",
                fix="Wait for the database to answer again: portico doctor",
            )
        self._behind.add(PendingEntries(caller, [act_text(caller, entry)]))

    async def run(self) -> None:
        """Until it is cancelled; what is kept back by then is still written."""
        await self._behind.run()

    async def flush(self) -> None:
        """Raises `StoreUnavailable`."""
        await self._behind.flush()

    async def _join(self, told: PendingEntries) -> None:
        caller = told.caller
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_APPEND, {"acts": told.acts})).fetchone()
        if row is not None:
            see = partial(self._seen, caller.space, _head(row), len(told.acts))
            self._transactions.afterwards(see)

    async def _write(self, together: Sequence[PendingEntries]) -> None:
        """Of one space, in one transaction and one round trip."""
        parts: list[Part] = []
        for caller, acts in _by_principal(together):
            parts += [(SET_CONTEXT, context(caller)), (_APPEND, {"acts": acts})]
        if not any(told.lasting for told in together):
            parts.insert(1, (_UNHURRIED, {}))
        first = together[0].caller
        rows = (await self._transactions.stroke(first, *parts[1:]))[-1]
        self._seen(first.space, _head(rows[0]), sum(len(told.acts) for told in together))

    async def settle(self) -> None:
        """Everything that is written is on the disk afterwards: what is written down in order
        gets there in order. Raises `StoreUnavailable`."""
        await self._transactions.at_once(_SETTLE, {})

    async def _write_behind(self, together: Sequence[PendingEntries]) -> None:
        """A space after the other. What is written is not written again because of another."""
        left = _by_space(together)
        while left:
            try:
                await self._write(left[0])
            except StoreUnavailable:
                if sum(map(len, left)) == len(together):
                    raise
                for told in chain.from_iterable(left):
                    self._behind.add(told)
                return
            except psycopg.Error:
                _log.exception("%d entries of a space that may be gone are lost", len(left[0]))
            del left[0]


class PostgresAuditLog:
    """`first` is done before anybody reads: what is kept back belongs to it."""

    def __init__(self, transactions: Transactions, first: Callable[[], Awaitable[None]]) -> None:
        self._transactions = transactions
        self._first = first

    async def head(self, caller: Principal) -> Head:
        await self._first()
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_HEAD, {"space": caller.space.value})).fetchone()
        return BEGINNING if row is None else _head(row)

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        await self._first()
        wanted = {"space": caller.space.value, "before": before, "limit": limit}
        async with self._transactions.begin(caller) as connection:
            return [
                _link(row) for row in await (await connection.execute(_PAGE, wanted)).fetchall()
            ]

    async def stream(
        self, caller: Principal, *, last_number: int
    ) -> AsyncGenerator[Sequence[Link], None]:
        """A transaction a piece: nothing is held while a reader takes its time, and what has been
        written does not change."""
        after = 0
        while True:
            wanted = {
                "space": caller.space.value,
                "after": after,
                "upto": last_number,
                "limit": _AT_ONCE,
            }
            async with self._transactions.begin(caller) as connection:
                rows = await (await connection.execute(_STREAM, wanted)).fetchall()
            if not rows:
                return
            after = rows[-1]["number"]
            yield [_link(row) for row in rows]


def _by_principal(together: Sequence[PendingEntries]) -> Sequence[tuple[Principal, Sequence[str]]]:
    """In the order in which they came; what the same one did in a row goes together."""
    runs = [[*those] for _, those in groupby(together, key=lambda told: told.caller.id)]
    return [(those[0].caller, [act for it in those for act in it.acts]) for those in runs]


def _by_space(together: Sequence[PendingEntries]) -> list[Sequence[PendingEntries]]:
    spaces: defaultdict[SpaceId, list[PendingEntries]] = defaultdict(list)
    for told in together:
        spaces[told.caller.space].append(told)
    return [*spaces.values()]


def _head(row: DictRow) -> Head:
    return Head(row["number"], bytes(row["hash"]))


def _link(row: DictRow) -> Link:
    return Link(row["number"], row["entry"].encode(), bytes(row["hash"]))
