"""What everything else is built on: the settings, the folders, the database, the secrets."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import SecretStr

    from portico.adapters.postgres.source import DatabaseChoice
    from portico.adapters.postgres.store import PostgresStore
    from portico.adapters.telemetry.known_secrets import KnownSecrets
    from portico.engine.store import MigrateStore
    from portico.settings.load import Loaded

# What everything else is built on: the settings, the folders, the database, the secrets.
#
# Each part is built, and imported, when it is asked for: a command loads only what it uses.


@dataclass(frozen=True)
class AppContext:
    config: Path | None = None
    flags: Mapping[str, object] = field(default_factory=dict)

    @property
    def version(self) -> str:
        from importlib.metadata import version

        return version("portico")

    @cached_property
    def loaded(self) -> "Loaded":
        """Raises `InvalidSettings`, `UnreadableSettings`."""
        from portico.settings.load import load, process_environment

        return load(process_environment(), folder=Path.cwd(), config=self.config, flags=self.flags)

    @cached_property
    def secrets(self) -> "KnownSecrets":
        """The values that must not be told; whoever loads another lets it be learnt here."""
        from portico.adapters.telemetry.known_secrets import KnownSecrets

        return KnownSecrets()

    @property
    def server_url(self) -> str:
        server = self.loaded.settings.server
        return f"http://{reachable(server.host)}:{server.port}"

    @property
    def private_socket(self) -> Path | None:
        """Where the server of this installation answers its own user; Windows has none."""
        if sys.platform == "win32":
            return None
        from portico.adapters.system.files import short_folder

        folder = short_folder(self.loaded.paths.data / "server")
        return folder / f"{self.loaded.settings.server.port}.sock"

    @property
    def base_url(self) -> str:
        """What links to this server begin with."""
        return self.loaded.settings.server.public_url or self.server_url

    @cached_property
    def store(self) -> "PostgresStore":
        from portico.adapters.postgres.source import open_store

        return open_store(self.wanted_store)

    @property
    def wanted_store(self) -> "DatabaseChoice":
        from portico.adapters.postgres.addresses import Addresses
        from portico.adapters.postgres.source import DatabaseChoice
        from portico.adapters.system.clock import system_entropy

        database, paths = self.loaded.settings.database, self.loaded.paths
        addresses = None
        if database.dsn is not None:
            addresses = Addresses(
                app=database.dsn.get_secret_value(),
                owner=_revealed(database.owner_dsn),
                engine=_revealed(database.engine_dsn),
            )
        return DatabaseChoice(
            source=database.source,
            version=database.version,
            run_as=database.run_as,
            addresses=addresses,
            folder=paths.postgres,
            passwords_file=paths.passwords_file,
            entropy=system_entropy,
        )

    def migrate(self) -> "MigrateStore":
        from portico.adapters.dbos.tables import DbosTables
        from portico.adapters.postgres.engine.event_log import EventMonths
        from portico.adapters.postgres.store import PostgresSchema, known_migrations
        from portico.engine.store import MigrateStore

        owner = self.store.owner_address
        return MigrateStore(
            schema=PostgresSchema(owner),
            known=known_migrations(),
            companions=[DbosTables(owner), EventMonths(owner)],
        )

    def pepper(self) -> bytes:
        """Raises `PepperMissing`."""
        from portico.adapters.system.secrets import read_pepper

        configured = self.loaded.settings.identity.pepper
        if configured is not None:
            return configured.get_secret_value().encode()
        return read_pepper(self.loaded.paths.pepper_file)

    @property
    def agent_key_file(self) -> Path:
        chosen = self.loaded.settings.client.agent_key_file
        return Path(chosen).expanduser() if chosen else self.loaded.paths.agent_key_file

    def save_key(self, key: str, *, agent: bool = False) -> Path:
        from portico.adapters.system.files import write_private

        file = self.agent_key_file if agent else self.loaded.paths.key_file
        write_private(file, f"{key}\n")
        return file


def reachable(host: str) -> str:
    """A server that listens everywhere is reached here."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104 # compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _revealed(secret: "SecretStr | None") -> str | None:
    return None if secret is None else secret.get_secret_value()
