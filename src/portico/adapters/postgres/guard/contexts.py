"""Task contexts in PostgreSQL: what each has read only ever rises."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.access_request import TaintContext
from portico.guard.core.contexts import OpenedContext, context_of, risen
from portico.guard.core.errors import ContextNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId, PrincipalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

_COLUMNS: Final[LiteralString] = """
    context_id, principal_id, name, level, compartments, untrusted, opened_at, closed_at
"""
_OWN: Final[LiteralString] = """
    space_id = %(space)s AND context_id = %(context)s AND principal_id = %(principal)s
"""
_GET: Final[LiteralString] = f"SELECT {_COLUMNS} FROM portico.taint_context WHERE {_OWN}"
_COVERED: Final[LiteralString] = """
    t.level >= %(level)s AND t.compartments @> %(compartments)s::text[]
    AND (t.untrusted OR NOT %(untrusted)s)
"""
_RISEN: Final[LiteralString] = """
    level = greatest(t.level, %(level)s),
    compartments = ARRAY(SELECT DISTINCT unnest(t.compartments || %(compartments)s::text[])),
    untrusted = t.untrusted OR %(untrusted)s
"""
_RISE: Final[LiteralString] = f"""
    INSERT INTO portico.taint_context AS t
        (space_id, context_id, principal_id, level, compartments, untrusted, opened_at)
    VALUES (%(space)s, %(context)s, %(principal)s, %(level)s, %(compartments)s, %(untrusted)s,
            %(now)s)
    ON CONFLICT (space_id, context_id) DO UPDATE SET {_RISEN} WHERE NOT ({_COVERED})
    RETURNING context_id
"""
_RISE_OPENED: Final[LiteralString] = f"""
    UPDATE portico.taint_context t SET {_RISEN} WHERE {_OWN} RETURNING context_id
"""
_OPEN: Final[LiteralString] = """
    INSERT INTO portico.taint_context
        (space_id, context_id, principal_id, name, level, compartments, untrusted, opened_at)
    VALUES (%(space)s, %(context)s, %(principal)s, %(name)s, %(level)s, %(compartments)s,
            %(untrusted)s, %(opened)s)
    RETURNING context_id
"""
_ALL: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.taint_context
     WHERE space_id = %(space)s AND principal_id = %(principal)s AND name IS NOT NULL
       AND closed_at IS NULL
     ORDER BY opened_at, context_id
"""
_CLOSE: Final[LiteralString] = f"""
    UPDATE portico.taint_context SET closed_at = %(at)s WHERE {_OWN} AND name IS NOT NULL
       AND closed_at IS NULL
"""
_FORGET: Final[LiteralString] = """
    DELETE FROM portico.taint_context WHERE space_id = %(space)s AND closed_at < %(before)s
"""
_REMEMBERED: Final = 10_000
_KEPT: Final = timedelta(days=30)
"""How long one that was closed can still be asked what it had read."""

Row = Mapping[str, Any]


class PostgresTaskContexts:
    """Remembers for each task what it is known to cover: that never becomes wrong, only less than
    what it covers by now, so a call that adds nothing to it asks nobody."""

    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock
        self._known: OrderedDict[ContextId, TaintContext] = OrderedDict()

    async def get(self, caller: Principal) -> TaintContext:
        row = await self._row(caller)
        if row is None and caller.context is None:
            return TaintContext(id=context_of(caller))
        if row is None or row["closed_at"] is not None:
            raise ContextNotFound(str(caller.context))
        found = TaintContext(
            id=ContextId(row["context_id"]), label=_label(row), untrusted=row["untrusted"]
        )
        self._remember(found)
        return found

    async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        context = context_of(caller)
        known = self._known.get(context, TaintContext(id=context))
        if known.label.covers(label) and (known.untrusted or not untrusted):
            return
        values = {
            **_which(caller),
            "level": int(label.level),
            "compartments": sorted(label.compartments),
            "untrusted": untrusted,
            "now": self._clock.now(),
        }
        # By itself: an answer that was given is not taken back with the transaction around it.
        statement = _RISE if caller.context is None else _RISE_OPENED
        [rows] = await self._transactions.stroke(caller, (statement, values))
        if not rows and caller.context is not None:
            raise ContextNotFound(str(caller.context))
        self._remember(risen(known, label, untrusted=untrusted))

    async def open(self, caller: Principal, context: OpenedContext) -> None:
        values = {
            "space": caller.space.value,
            "context": context.id.value,
            "principal": caller.id.value,
            "name": context.name,
            "level": int(context.label.level),
            "compartments": sorted(context.label.compartments),
            "untrusted": context.untrusted,
            "opened": context.opened_at,
        }
        await self._transactions.looked_up(caller, (_OPEN, values))

    async def find(self, caller: Principal, context: ContextId) -> OpenedContext | None:
        asked = {**_which(caller), "context": context.value}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, asked)).fetchone()
        return None if row is None or row["name"] is None else _opened(row)

    async def all(self, caller: Principal) -> Sequence[OpenedContext]:
        async with self._transactions.begin(caller) as connection:
            return [
                _opened(row)
                for row in await (await connection.execute(_ALL, _which(caller))).fetchall()
            ]

    async def close(self, caller: Principal, context: ContextId, at: datetime) -> bool:
        asked = {**_which(caller), "context": context.value, "at": at, "before": at - _KEPT}
        async with self._transactions.begin(caller) as connection:
            done = await connection.execute(_CLOSE, asked)
            await connection.execute(_FORGET, asked)
        return done.rowcount == 1

    async def _row(self, caller: Principal) -> Row | None:
        [rows] = await self._transactions.looked_up(caller, (_GET, _which(caller)))
        return rows[0] if rows else None

    def _remember(self, context: TaintContext) -> None:
        self._known[context.id] = context
        self._known.move_to_end(context.id)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _which(caller: Principal) -> dict[str, UUID]:
    return {
        "space": caller.space.value,
        "context": context_of(caller).value,
        "principal": caller.id.value,
    }


def _label(row: Row) -> Label:
    return Label(Level(row["level"]), frozenset(row["compartments"]))


def _opened(row: Row) -> OpenedContext:
    return OpenedContext(
        id=ContextId(row["context_id"]),
        principal=PrincipalId(row["principal_id"]),
        name=row["name"],
        opened_at=row["opened_at"],
        label=_label(row),
        untrusted=row["untrusted"],
        closed_at=row["closed_at"],
    )
