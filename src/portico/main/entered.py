"""The database, entered as whoever this machine's key belongs to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.kernel.principal import Principal
from portico.main.ground import Ground
from portico.main.use_cases import use_cases


@asynccontextmanager
async def entered(ground: Ground) -> AsyncIterator[tuple[Transactions, Principal]]:
    """Raises `PorticoError` where there is no database or the key opens nothing, `OSError` where
    there is no key."""
    key = ground.loaded.paths.key_file.read_text().strip()
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        yield transactions, (await use_cases(ground, transactions).authenticate(key)).principal
