"""`portico serve`: take the address, start the database, and answer until asked to end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from socket import socket
from typing import TYPE_CHECKING

from portico.adapters.system.listening import listen
from portico.adapters.system.signals import end_orderly
from portico.adapters.telemetry.logs import write_logs
from portico.engine.core.errors import SchemaBehind
from portico.engine.core.store import Source
from portico.main.ground import Ground

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool
    from starlette.types import ASGIApp

    from portico.adapters.postgres.transaction import Connection


def serve(ground: Ground, announce: Callable[[str], None]) -> None:
    settings = ground.loaded.settings
    write_logs(settings.log.level)
    end_orderly()
    with listen(settings.server.host, settings.server.port) as listener:
        with ThreadPoolExecutor(1) as starting:
            started = starting.submit(ground.store.start_here, create=False)
            import portico.faces.http.app  # noqa: F401 # loads while the database starts

            started.result()
        asyncio.run(_serve(ground, listener, announce))


async def _serve(ground: Ground, listener: socket, announce: Callable[[str], None]) -> None:
    import uvicorn

    from portico.adapters.postgres.transaction import open_pool

    settings, store = ground.loaded.settings, ground.store
    try:
        await _bring_up_to_date(ground)
        pool = open_pool(store.addresses.app, settings.database.pool_size)
        config = uvicorn.Config(
            app(ground, pool),
            log_config=None,
            access_log=settings.log.level == "debug",
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
        announce(ground.server_url)
        await uvicorn.Server(config).serve(sockets=[listener])
    finally:
        await store.release()


async def _bring_up_to_date(ground: Ground) -> None:
    """Our own database is migrated unasked; somebody else's only if they said so."""
    store, automatic = ground.store, ground.loaded.settings.database.auto_migrate
    if automatic if automatic is not None else store.source is not Source.DSN:
        async for _ in ground.migrate()():
            pass
    elif pending := (await store.status()).pending:
        raise SchemaBehind(pending)


def app(ground: Ground, pool: "AsyncConnectionPool[Connection]") -> "ASGIApp":
    from portico.adapters.postgres.healing import Healer
    from portico.adapters.postgres.transaction import Transactions
    from portico.faces.http.app import build
    from portico.faces.http.host_guard import allowed
    from portico.main.use_cases import use_cases

    store, server = ground.store, ground.loaded.settings.server

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with pool, asyncio.TaskGroup() as background:
            if not store.heals:
                yield
                return
            healer = Healer(store.addresses.app, store.restart, pool)
            watching = background.create_task(healer.watch())
            yield
            watching.cancel()

    walls = allowed(server.port, server.public_url)
    return build(use_cases(ground, Transactions(pool)), walls, running)
