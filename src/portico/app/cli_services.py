"""What the command line can ask of this installation; each part is loaded when it is used."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from portico.app.app_context import AppContext, reachable
from portico.interfaces.cli.services import (
    CliServices,
    Provisioned,
    SettingChange,
    SettingEntry,
    Welcome,
    Whereabouts,
)
from portico.settings.paths import Paths

if TYPE_CHECKING:
    from portico.adapters.client_entry import ClientConnections
    from portico.adapters.postgres.store import PostgresStore
    from portico.app.encoders import AppEncoders
    from portico.app.install import AppImporting
    from portico.app.supervision import AppSupervision
    from portico.app.uninstall import AppUninstalling
    from portico.engine.ports import Archive, StoreUpgrade
    from portico.engine.store import Diagnose, MigrateStore
    from portico.guard.vault import Rotated
    from portico.kernel.json import JsonObject, JsonValue
    from portico.workflows.core.plan import Expressions

# The space of `portico demo` as this machine knows it: two keys.


@dataclass(frozen=True, slots=True)
class PorticoDemo:
    services: CliServices
    paths: Paths

    def forget(self) -> None:
        for key in (self.paths.demo_key_file, self.paths.demo_agent_key_file):
            key.unlink(missing_ok=True)


@dataclass(frozen=True)
class PorticoServices:
    app: AppContext = field(default_factory=AppContext)
    in_demo: bool = False
    """Entered with the keys of the space of `portico demo`."""

    @property
    def version(self) -> str:
        return self.app.version

    def with_flags(self, *, config: Path | None, flags: Mapping[str, object]) -> "PorticoServices":
        before = self.app
        ground = AppContext(config or before.config, {**before.flags, **flags})
        return PorticoServices(ground, self.in_demo)

    def whereabouts(self) -> Whereabouts:
        from portico.settings.load import own_file, process_environment

        paths = self.app.loaded.paths
        own, programs = self._key_files
        return Whereabouts(
            server_url=self.app.server_url,
            remote=self.app.loaded.settings.client.server,
            private_socket=self.app.private_socket,
            config_file=own_file(process_environment(), self.app.config),
            key_file=own,
            agent_key_file=programs,
            data=paths.data,
            backups=paths.backups,
            log_file=paths.log_file if self.app.loaded.settings.log.file else None,
        )

    @property
    def _key_files(self) -> tuple[Path, Path]:
        """The user's, and that of their programs."""
        paths = self.app.loaded.paths
        if self.in_demo:
            return paths.demo_key_file, paths.demo_agent_key_file
        return paths.key_file, self.app.agent_key_file

    def settings(self) -> Sequence[SettingEntry]:
        loaded = self.app.loaded
        return [
            SettingEntry(path, _as_json(value), loaded.origin(path).describe(path))
            for path, value in loaded.leaves()
        ]

    def settings_schema(self) -> "JsonObject":
        from portico.settings.model import Settings

        return Settings.model_json_schema()

    def setting(self, path: str) -> SettingEntry:
        from portico.settings.edit import known_setting

        known_setting(path)
        return next(entry for entry in self.settings() if entry.path == path)

    def change_setting(self, path: str, value: str | list[str] | None) -> SettingChange:
        from portico.adapters.system.files import write_private
        from portico.settings.edit import STARTER, read_as_it_is, with_setting, without_setting
        from portico.settings.load import InvalidSettings, check, own_file, process_environment

        file = own_file(process_environment(), self.app.config)
        text = read_as_it_is(file) if file.exists() else STARTER
        try:
            changed = (
                without_setting(text, path, file)
                if value is None
                else with_setting(text, path, value, file)
            )
            check(changed, file)
        except InvalidSettings as error:
            fix = "Nothing was written. What each setting may be: portico config schema"
            raise InvalidSettings(error.field_errors, fix=fix) from error
        write_private(file.resolve(), changed)
        return SettingChange(file=file, overruled_by=self._overrules(path, file))

    def _overrules(self, path: str, file: Path) -> str | None:
        """Where the value in force comes from, if not from `file`."""
        from portico.settings.load import InvalidSettings, UnreadableSettings

        try:
            loaded = AppContext(self.app.config, self.app.flags).loaded
        except (
            InvalidSettings,
            UnreadableSettings,
        ):  # another layer is at fault, and will be told when it is used
            return None
        origin = loaded.origin(path)
        elsewhere = path in loaded.origins and origin.file != file
        return origin.describe(path) if elsewhere else None

    def importing(self) -> "AppImporting":
        from portico.app.install import AppImporting

        return AppImporting(self.app, self.change_setting)

    def connecting(self) -> "ClientConnections":
        from portico.app.client_configs import connections

        return connections(self.app)

    def expressions(self) -> "Expressions":
        from portico.adapters.jmespath.expressions import JmespathExpressions

        return JmespathExpressions()

    def encoders(self) -> "AppEncoders":
        from portico.app.encoders import AppEncoders

        return AppEncoders(self.app)

    def store(self) -> "PostgresStore":
        return self.app.store

    def migrate(self) -> "MigrateStore":
        return self.app.migrate()

    def store_upgrade(self) -> "StoreUpgrade":
        from portico.adapters.postgres.source import open_upgrade

        return open_upgrade(self.app.wanted_store)

    def archive(self) -> "Archive":
        from portico.adapters.postgres.embedded.programs import PostgresArchive, client_programs

        return PostgresArchive(self.app.store.owner_address, client_programs)

    def provision(self, admin_dsn: str, *, rotate: bool, write: bool) -> Provisioned:
        from portico.adapters.postgres.addresses import new_passwords
        from portico.adapters.postgres.store import provision, provisioned_addresses
        from portico.adapters.system.clock import system_entropy
        from portico.adapters.system.files import write_private
        from portico.settings.edit import as_toml

        passwords = new_passwords(system_entropy).by_role
        provision(admin_dsn, passwords, rotate=rotate)
        addresses = provisioned_addresses(admin_dsn, passwords)
        file = self.app.loaded.paths.provisioned_file if write else None
        if file is not None:
            write_private(file, as_toml({"database": addresses}))
        named = {f"database.{name}": address for name, address in addresses.items()}
        return Provisioned(addresses=named, file=file)

    async def install(
        self, *, admin: str, recover: bool, progress: Callable[[str], None]
    ) -> Welcome:
        from portico.app.install import install

        return await install(self.app, admin=admin, recover=recover, progress=progress)

    async def rotate_vault(self) -> "Rotated":
        from portico.app.secrets import rotate_vault

        return await rotate_vault(self.app)

    def keeping(self) -> "AppSupervision":
        from portico.app.supervision import AppSupervision

        return AppSupervision(self.app)

    def uninstalling(self) -> "AppUninstalling":
        from portico.app.uninstall import AppUninstalling

        return AppUninstalling(self.app)

    def serve(self, announce: Callable[[str], None], *, started_by: str) -> None:
        from portico.adapters.system.bind_address import AddressTaken, by_another
        from portico.app.serve import serve

        try:
            serve(self.app, announce, started_by)
        except AddressTaken as taken:
            private = self.app.private_socket
            if not by_another(reachable(taken.host), taken.port, private):
                raise
            raise AddressTaken(taken.host, taken.port, by_another=True) from taken

    def serving(self) -> AbstractContextManager[bool]:
        from portico.app.supervision import serving_meanwhile

        return serving_meanwhile(self.app)

    def demo(self) -> "PorticoDemo":

        return PorticoDemo(PorticoServices(self.app, in_demo=True), self.app.loaded.paths)

    def save_key(self, key: str, *, agent: bool = False) -> Path:
        from portico.adapters.system.files import write_private

        own, programs = self._key_files
        file = programs if agent else own
        write_private(file, f"{key}\n")
        return file

    def diagnose(self) -> "Diagnose":
        from portico.app.doctor import diagnosis

        # On ground of its own: what it opens and closes again is not closed to the other checks.
        apart = PorticoServices(AppContext(self.app.config, self.app.flags))
        return diagnosis(self.app, apart.importing())


def _as_json(value: object) -> "JsonValue":
    from pydantic import BaseModel

    if isinstance(value, tuple):
        return [
            each.model_dump(mode="json") if isinstance(each, BaseModel) else str(each)
            for each in value
        ]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
