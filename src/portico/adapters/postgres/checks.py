"""Whether the database is ready, installed, and well."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.addresses import without_password
from portico.adapters.postgres.mapping import identity_from
from portico.adapters.postgres.store import PostgresStore, known_migrations
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import CheckResult, State, StoreStatus
from portico.engine.ports import Store
from portico.engine.store import MigrateStore
from portico.guard.core.principals import Identity
from portico.kernel.errors import Kind, PorticoError, many
from portico.kernel.ids import SpaceId

_APPLIED: Final[LiteralString] = "SELECT count(*) AS applied FROM portico.schema_migration"
_PATIENCE: Final = 2.0
"""Seconds: whoever asks wants to know now, not when it has healed."""


class Readiness:
    def __init__(self, store: PostgresStore, transactions: Transactions) -> None:
        self._source = store.source
        self._address = without_password(store.addresses.app)
        self._transactions = transactions
        self._known = len(known_migrations())

    async def __call__(self) -> StoreStatus:
        try:
            async with (
                asyncio.timeout(_PATIENCE),
                self._transactions.begin_outside() as connection,
            ):
                row = await (await connection.execute(_APPLIED)).fetchone()
                version = connection.info.server_version
        except (StoreUnavailable, TimeoutError):
            return StoreStatus(source=self._source, address=self._address, running=False)
        applied = 0 if row is None else row["applied"]
        return StoreStatus(
            source=self._source,
            address=self._address,
            running=True,
            server_version=f"{version // 10000}.{version % 10000}",
            applied=applied,
            pending=max(self._known - applied, 0),
        )


_FIRST_ADMIN: Final[LiteralString] = """
    SELECT * FROM portico.principal
     WHERE 'spaces:create' = ANY(grants) AND kind = 'person' AND disabled_at IS NULL
     ORDER BY created_at LIMIT 1
"""

_SPACE_NAME: Final[LiteralString] = "SELECT name FROM portico.space WHERE space_id = %(space)s"


async def space_name(owner: str, space: SpaceId) -> str:
    async with await AsyncConnection[DictRow].connect(owner, row_factory=dict_row) as connection:
        found = await connection.execute(_SPACE_NAME, {"space": space.value})
        row = await found.fetchone()
    return "" if row is None else str(row["name"])


async def first_admin(owner: str) -> Identity | None:
    """Of `home`: whoever may found spaces. The admins of other spaces are not ours to speak for."""
    async with await AsyncConnection[DictRow].connect(owner, row_factory=dict_row) as connection:
        row = await (await connection.execute(_FIRST_ADMIN)).fetchone()
    return None if row is None else identity_from(row)


@dataclass(frozen=True, slots=True)
class CheckDatabase:
    store: Callable[[], Store]

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # nothing to mend here
        """Starts it if it is ours: whether it can be started is the question. Makes none."""
        try:
            await self.store().start(create=False, progress=lambda _: None)
            status = await self.store().status()
        except PorticoError as error:
            return CheckResult(
                check="database", state=State.BROKEN, detail=str(error), fix=error.fix
            )
        if not status.running:
            return CheckResult(
                check="database",
                state=State.BROKEN,
                detail=f"no PostgreSQL answers at {status.address}",
                fix="See that it runs, and that database.dsn is right.",
            )
        detail = f"PostgreSQL {status.server_version} ({status.source})"
        return CheckResult(check="database", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckSchema:
    store: Callable[[], Store]
    migrate: Callable[[], MigrateStore]

    async def __call__(self, *, mend: bool) -> CheckResult:
        try:
            pending = (await self.store().status()).pending
            if mend and pending:
                done = [migration async for migration in self.migrate()()]
                return CheckResult(
                    check="schema",
                    state=State.MENDED,
                    detail=f"applied {many(len(done), 'migration')}",
                )
        except PorticoError as error:
            if error.kind is Kind.CONFLICT:
                return CheckResult(
                    check="schema", state=State.BROKEN, detail=str(error), fix=error.fix
                )
            pending = None
        if pending is None:
            return CheckResult(check="schema", state=State.BROKEN, detail="not known: no database")
        if pending:
            return CheckResult(
                check="schema",
                state=State.BROKEN,
                detail=f"{many(pending, 'migration')} to apply",
                fix="portico db migrate",
            )
        return CheckResult(check="schema", state=State.GOOD, detail="up to date")


@dataclass(frozen=True, slots=True)
class CheckRowSecurity:
    """Row-level security is only a wall while nobody has left a gap in it."""

    store: Callable[[], Store]

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # a person looks at this
        try:
            status = await self.store().status()
            if not status.running or not status.applied:
                return CheckResult(
                    check="isolation", state=State.BROKEN, detail="not known: no schema yet"
                )
            problems = await self.store().unsafe()
        except PorticoError:
            return CheckResult(
                check="isolation", state=State.BROKEN, detail="not known: no database"
            )
        if problems:
            return CheckResult(
                check="isolation",
                state=State.BROKEN,
                detail="; ".join(problems),
                fix="Somebody changed the schema by hand; restore a backup or undo it.",
            )
        return CheckResult(check="isolation", state=State.GOOD, detail="every table is walled")
