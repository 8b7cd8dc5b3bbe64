"""Real PostgreSQL servers for tests: the embedded one, and a second one reached over TCP."""

import asyncio
import os
import pwd
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portico.adapters.dbos.tables import DbosTables
from portico.adapters.postgres.addresses import ADMIN, Addresses, new_passwords
from portico.adapters.postgres.embedded.programs import Binaries, in_wheel
from portico.adapters.postgres.embedded.server import Account, EmbeddedStore, account_for
from portico.adapters.postgres.store import (
    PostgresSchema,
    known_migrations,
    provision,
    provisioned_addresses,
)
from portico.adapters.system.clock import system_entropy
from portico.engine.core.store import Source
from portico.engine.store import MigrateStore

IS_ROOT = os.geteuid() == 0
RUN_AS = "portico" if IS_ROOT else None
"""The account that `just setup` makes; as root the embedded server runs as it."""


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A temporary folder which the database's account can come to, as pytest's cannot."""
    folder = Path(
        tempfile.mkdtemp(prefix="portico-test-", dir="/var/tmp")
    )  # short: it holds sockets
    if IS_ROOT:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wheel(major: int) -> Binaries:
    binaries = in_wheel(major)
    assert binaries is not None
    return binaries


def embedded_store(folder: Path, major: int = 18) -> EmbeddedStore:
    return EmbeddedStore(
        folder / "postgres",
        wheel(major),
        account_for(RUN_AS),
        source=Source.EMBEDDED,
        passwords_file=folder / "secrets" / "postgres.json",
        entropy=system_entropy,
    )


def migrate(owner: str) -> None:
    async def run() -> None:
        use_case = MigrateStore(
            schema=PostgresSchema(owner),
            known=known_migrations(),
            companions=[DbosTables(owner)],
        )
        async for _ in use_case():
            pass

    asyncio.run(run())


@contextmanager
def tcp_server(major: int) -> Iterator[str]:
    """A server that is nobody's but its administrator's; gives the administrator's address."""
    password = secrets.token_hex(16)
    account = account_for(RUN_AS)
    with reachable_folder() as folder:
        account.owns(folder)
        port = _make_tcp_server(folder, wheel(major), account, password)
        pg_ctl: list[str | Path] = [wheel(major)["pg_ctl"], "--wait"]
        pg_ctl.append(f"--pgdata={folder / 'data'}")
        started = account.run([*pg_ctl, f"--log={folder / 'log'}", "start"], timeout=60)
        assert started.ok, started.output
        try:
            yield f"postgresql://{ADMIN}:{password}@127.0.0.1:{port}/postgres"
        finally:
            account.run([*pg_ctl, "--mode=immediate", "stop"], timeout=60)


def _make_tcp_server(folder: Path, binaries: Binaries, account: Account, password: str) -> int:
    data, password_file = folder / "data", folder / "password"
    password_file.write_text(password)
    account.owns(password_file)
    made = account.run(
        [
            binaries["initdb"],
            f"--pgdata={data}",
            f"--username={ADMIN}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ],
        timeout=60,
    )
    assert made.ok, made.output
    port = free_port()
    with (data / "postgresql.conf").open("a") as stream:
        stream.write(
            f"listen_addresses = '127.0.0.1'\nport = {port}\nfsync = off\n"
            f"unix_socket_directories = '{folder}'\nmax_connections = 100\n"
        )
    return port


def provisioned(admin: str) -> Addresses:
    """As `portico db provision --admin-dsn` makes it."""
    passwords = new_passwords(system_entropy).by_role
    provision(admin, passwords, rotate=True)
    made = provisioned_addresses(admin, passwords)
    return Addresses(
        app=made["dsn"], owner=made["owner_dsn"], engine=made["engine_dsn"], admin=admin
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def account_exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
