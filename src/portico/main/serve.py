"""`portico serve`: take the address, start the database, and answer until asked to end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from socket import socket
from typing import TYPE_CHECKING

from portico.adapters.system.listening import listen, listen_privately
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
        try:
            _start_and_serve(ground, listener, announce)
        finally:
            asyncio.run(ground.store.release())


def _start_and_serve(ground: Ground, listener: socket, announce: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(1) as starting:
        started = starting.submit(ground.store.start_here, create=False)
        import portico.faces.http.app  # noqa: F401 # loads while the database starts

        started.result()
    with ExitStack() as open_ones:
        listeners = [listener]
        if (private := ground.private_socket) is not None:
            listeners.append(open_ones.enter_context(listen_privately(private)))
            open_ones.callback(private.unlink, missing_ok=True)
        asyncio.run(_serve(ground, listeners, announce))


async def _serve(ground: Ground, listeners: list[socket], announce: Callable[[str], None]) -> None:
    import uvicorn

    from portico.adapters.postgres.transaction import open_pool

    settings = ground.loaded.settings
    await _bring_up_to_date(ground)
    pool = open_pool(ground.store.addresses.app, settings.database.pool_size)
    config = uvicorn.Config(
        app(ground, pool),
        log_config=None,
        access_log=settings.log.level == "debug",
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=5,
    )
    host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
    address = f"http://{host}:{settings.server.port}"
    known_as = settings.server.public_url
    announce(f"{address}, known as {known_as}" if known_as else address)
    await uvicorn.Server(config).serve(sockets=listeners)


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
