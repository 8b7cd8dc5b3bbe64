"""How the store is, asked through the connections that everything else uses."""

import asyncio
from typing import Final, LiteralString

from portico.adapters.postgres.addresses import without_password
from portico.adapters.postgres.schema import known_migrations
from portico.adapters.postgres.store import PostgresStore
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import StoreStatus

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
