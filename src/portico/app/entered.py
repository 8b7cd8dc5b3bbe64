"""The database, entered as whoever this machine's key belongs to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.app.ground import Ground
from portico.app.use_cases import use_cases
from portico.kernel.principal import Principal


@asynccontextmanager
async def entered(ground: Ground) -> AsyncIterator[tuple[Transactions, Principal]]:
    """Raises `PorticoError` where there is no database of this version or the key opens nothing,
    `OSError` where there is no key."""
    key = ground.loaded.paths.key_file.read_text().strip()
    await ground.store.status()
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        yield transactions, (await use_cases(ground, transactions).authenticate(key)).principal
