"""`portico serve`: take the address, start the database, and answer until asked to end."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Final

from portico.adapters.system.bind_address import listen, listen_privately
from portico.adapters.system.clock import SystemClock
from portico.adapters.system.pid_file import PidFile, living_note
from portico.adapters.system.process import LastCall, collect_rarely, end_orderly
from portico.app.app_context import AppContext
from portico.app.supervision import SERVER, kept_address, notes_folder
from portico.engine.core.errors import SchemaBehind
from portico.engine.core.store import RestartLimits, Source
from portico.kernel.errors import PorticoError

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool
    from starlette.types import ASGIApp

    from portico.adapters.postgres.transaction import Connection
    from portico.adapters.telemetry.setup import Observing
    from portico.adapters.telemetry.slow_calls import Thresholds


def write_down(ground: AppContext, *, stream: bool = True) -> None:
    """Everything that is logged from here on, cleaned of every secret that is known by now.
    `stream`: also on standard error."""
    from portico.adapters.telemetry.logs import LogOptions, write_logs

    log = ground.loaded.settings.log
    ground.secrets.learn(*_configured(ground), *_stored(ground))
    wishes = LogOptions(
        level=log.level,
        rooms=log.level_of,
        form=log.format,
        file=ground.loaded.paths.log_file if log.file else None,
        keep_days=log.keep_days,
        stream=stream,
    )
    write_logs(wishes, ground.secrets)


def observe(ground: AppContext) -> "Observing":
    from portico.adapters.telemetry.setup import Observing, TelemetryOptions

    telemetry = ground.loaded.settings.telemetry
    wishes = TelemetryOptions(
        service=telemetry.service_name,
        version=ground.version,
        measure=telemetry.metrics,
        endpoint=telemetry.otlp_endpoint,
        headers=telemetry.header_values,
        sample_ratio=telemetry.sample_ratio,
    )
    return Observing(wishes, ground.secrets)


def thresholds(ground: AppContext) -> "Thresholds":
    from portico.adapters.telemetry.slow_calls import Thresholds

    log = ground.loaded.settings.log
    return Thresholds(warning=log.slow_warning, error=log.slow_error)


def _configured(ground: AppContext) -> Iterator[str]:
    from portico.adapters.postgres.addresses import password_of

    settings = ground.loaded.settings
    yield from ground.loaded.secrets()
    for value in settings.telemetry.header_values.values():
        yield value
        yield value.rpartition(" ")[2]  # without its scheme: Bearer …
    database = settings.database
    for dsn in (database.dsn, database.owner_dsn, database.engine_dsn):
        if dsn is not None:
            yield password_of(dsn.get_secret_value())


def _stored(ground: AppContext) -> Iterator[str]:
    """What `init` has left in files; what is not there yet cannot be told."""
    from portico.adapters.postgres.addresses import password_of

    with suppress(PorticoError):
        addresses = ground.store.addresses
        known = (addresses.app, addresses.owner, addresses.engine, addresses.admin)
        yield from (password_of(address) for address in known if address is not None)
    with suppress(PorticoError):
        yield ground.pepper().decode(errors="replace").strip()
    with suppress(OSError):
        key = ground.loaded.paths.key_file.read_text().strip()
        yield key.rpartition("_")[2]


_log: Final = logging.getLogger("portico.serve")


def serve(
    ground: AppContext, announce: Callable[[str], None], started_by: str = "terminal"
) -> None:
    settings = ground.loaded.settings
    write_down(ground, stream=started_by == "terminal")
    last_call = LastCall()
    end_orderly(last_call.start)
    with listen(settings.server.host, settings.server.port) as listener:
        _leave_note(ground, started_by)
        try:
            _start_and_serve(ground, listener, announce, last_call)
        finally:
            asyncio.run(ground.store.release())


def _leave_note(ground: AppContext, started_by: str) -> None:
    """By which it is found from its first moment to its last, whoever started it."""
    file = notes_folder(ground) / f"{SERVER}{ground.loaded.settings.server.port}"
    note = PidFile(file)
    if not note.take() and not _taken_over(note, file, ground.server_url):
        _log.warning("another server of this installation has the same port, elsewhere")
        return
    since = SystemClock().now().isoformat(timespec="milliseconds")
    note.write(
        {
            "url": ground.server_url,
            "kept": kept_address(ground),
            "since": since,
            "started_by": started_by,
        }
    )


def _taken_over(note: PidFile, file: Path, url: str) -> bool:
    """From one that was at our address, which is ours now: it is about to end. Beside it nobody
    would find us, and at its end it would take our private socket along."""
    told = living_note(file)
    if told is None:
        return note.take()
    if told.get("url") != url:
        return False
    _log.info("waits until process %s, which was here before, has ended", told.get("pid"))
    return note.take(RestartLimits().to_end)


def _start_and_serve(
    ground: AppContext, listener: socket, announce: Callable[[str], None], last_call: LastCall
) -> None:
    with ThreadPoolExecutor(1) as starting:
        started = starting.submit(ground.store.start_here, create=False)
        import portico.interfaces.http.app  # noqa: F401 # loads while the database starts

        observing = observe(ground)
        started.result()
    with ExitStack() as open_ones:
        open_ones.callback(observing.close)
        listeners = [listener]
        if (private := ground.private_socket) is not None:
            listeners.append(open_ones.enter_context(listen_privately(private)))
            open_ones.callback(private.unlink, missing_ok=True)
        asyncio.run(_serve(ground, observing, listeners, announce, last_call))


async def _serve(
    ground: AppContext,
    observing: "Observing",
    listeners: list[socket],
    announce: Callable[[str], None],
    last_call: LastCall,
) -> None:
    import uvicorn

    from portico.adapters.postgres.transaction import open_pool
    from portico.interfaces.http.app import GracefulServer, LineProtocol

    settings = ground.loaded.settings
    await _bring_up_to_date(ground)
    pool = open_pool(ground.store.addresses.app, settings.database.pool_size)
    config = uvicorn.Config(
        app(ground, pool, observing),
        http=LineProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        # Longer than clients and proxies keep a connection: else they ask on one that just closes.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
    )
    host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
    address = f"http://{host}:{settings.server.port}"
    known_as = settings.server.public_url
    announce(f"{address}, known as {known_as}" if known_as else address)
    _log.info("Portico %s serves on %s, process %d", ground.version, address, os.getpid())
    collect_rarely()
    await GracefulServer(config, last_call.start).serve(sockets=listeners)
    _log.info("stopped as asked")


async def _bring_up_to_date(ground: AppContext) -> None:
    """Our own database is migrated unasked; somebody else's only if they said so."""
    store, automatic = ground.store, ground.loaded.settings.database.auto_migrate
    await store.until_it_accepts()
    if automatic if automatic is not None else store.source is not Source.DSN:
        async for _ in ground.migrate()():
            pass
    elif pending := (await store.status()).pending:
        raise SchemaBehind(pending)


def app(  # noqa: PLR0915 # what is put together, one by one
    ground: AppContext, pool: "AsyncConnectionPool[Connection]", observing: "Observing"
) -> "ASGIApp":
    from portico.adapters.dbos.deferred_queue import DeferredQueue
    from portico.adapters.postgres.bus import PostgresBus
    from portico.adapters.postgres.embedded.server import Healer
    from portico.adapters.postgres.transaction import Transactions
    from portico.adapters.system.clock import system_entropy
    from portico.adapters.telemetry.http_requests import ObservedRequests
    from portico.adapters.telemetry.metrics import transaction_took, watch_pool, watch_sse_clients
    from portico.adapters.telemetry.slow_calls import SlowCalls
    from portico.app.agents import open_agents
    from portico.app.bridge import open_bridge
    from portico.app.console import PATHS, LatePages
    from portico.app.debates import open_debates
    from portico.app.gateway import home_of, open_gateway, over_mcp
    from portico.app.install import make_up_agent_key
    from portico.app.oauth import protected_resource
    from portico.app.run_workers import carry_out_runs, every_kind, kept_up
    from portico.app.secrets import SecretDependencies, note_configuration, open_audit
    from portico.app.shared_dependencies import SharedDependencies
    from portico.app.use_cases import Shared, use_cases
    from portico.interfaces.http.app import build
    from portico.interfaces.http.middleware import allowed
    from portico.interfaces.mcp.bridge.server import BRIDGE, BridgeFace
    from portico.interfaces.mcp.debate.server import DEBATE, DebateFace
    from portico.interfaces.mcp.mount import McpFace

    store, server = ground.store, ground.loaded.settings.server

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with pool, asyncio.TaskGroup() as background:
            await secret_doors.start()
            runs = carry_out_runs(ground, outside, kinds, line)
            lasting = [
                background.create_task(bus.run(), name="the bus"),
                background.create_task(kept_up(auditing.run), name="the audit"),
                background.create_task(secret_doors.keep_up(), name="secrets"),
                background.create_task(runs, name="runs"),
            ]
            if store.heals:
                healer = Healer(store.addresses.app, store.restart, pool)
                lasting.append(background.create_task(healer.watch(), name="healing"))
            await make_up_agent_key(ground, use)
            home = partial(home_of, ground, use.authenticate)
            configured = partial(note_configuration, ground, auditing, home)
            lasting.append(background.create_task(kept_up(configured), name="configuration"))
            async with (
                opened.running(home),
                agents.running(),
                bridge.running(),
                debates.running(),
                mcp.running(),
                bridge_mcp.running(),
                debate_mcp.running(),
            ):
                yield
            for task in lasting:
                task.cancel()

    watch_pool(pool.get_stats)
    slow = SlowCalls("portico.postgres", thresholds(ground), transaction_took)
    bus, line, clock = (
        PostgresBus(store.addresses.app, system_entropy),
        DeferredQueue(),
        SystemClock(),
    )
    secret_doors = SecretDependencies(ground)
    transactions = Transactions(pool, slow)
    auditing = open_audit(ground, transactions)
    outside = SharedDependencies(
        transactions=transactions,
        bus=bus,
        audit=auditing.audit,
        clock=clock,
        entropy=system_entropy,
        clean=ground.secrets.clean_json,
        hide=ground.secrets.hide_json,
        vault=secret_doors.vault,
        keeper=secret_doors.references,
        queue=line,
    )
    opened = open_gateway(ground, outside)
    agents = open_agents(ground, outside, opened)
    bridge = open_bridge(ground, outside, opened)
    debates = open_debates(ground, outside, opened, agents, bridge)
    kinds = every_kind(clock, *opened.kinds, *agents.kinds, *bridge.kinds, *debates.kinds)
    shared = Shared(
        bus=bus,
        queue=line,
        kinds=kinds,
        metrics_text=observing.metrics_text,
        boxes=lambda: opened.boxes.reports,
        secrets_in=secret_doors.kept_in,
        stop_space=opened.pool.stop_space,
        forget_secrets=secret_doors.secrets.forget,
        auditing=auditing,
    )
    use = use_cases(ground, transactions, shared)
    watch_sse_clients(lambda: use.tails.size[0])
    mcp = McpFace(over_mcp(opened.gateway, use, bus, ground.version))
    bridge_mcp = BridgeFace(bridge.over_mcp(use, clock, ground.version))
    debate_mcp = DebateFace(debates.over_mcp(use, ground.version))
    rooms = {**agents.rooms, **bridge.rooms, **debates.rooms}
    pages = LatePages(ground, outside, use, opened.gateway.over_http, rooms)
    beside: dict[str, ASGIApp] = {BRIDGE: bridge_mcp, DEBATE: debate_mcp, "/mcp": mcp}
    inside = build(
        use,
        opened.gateway.over_http,
        allowed(server.port, server.public_url),
        running,
        # What is below another comes first.
        beside=beside | dict.fromkeys(PATHS, pages),
        resource=protected_resource(ground),
        rooms=rooms,
    )
    return ObservedRequests(inside, SlowCalls("portico.http", thresholds(ground)))
