"""A house as the command line knows it, scripted: what it is told to answer, and what was asked."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from portico.engine.core.migration import Migration
from portico.engine.diagnose import Diagnose
from portico.engine.migrate_store import MigrateStore
from portico.engine.ports import Archive, Check
from portico.faces.cli.house import Provisioned, SettingChange, SettingEntry, Welcome, Whereabouts
from portico.kernel.json import JsonObject
from portico.testing.engine import MemorySchema, MemoryStore

ONE = Migration(1, "ground_floor", "SELECT 1")


class ScriptedArchive:
    def __init__(self) -> None:
        self.restored: list[Path] = []

    async def back_up(self, target: Path) -> None:
        target.write_text("everything")  # noqa: ASYNC240 # ten bytes

    async def restore(self, source: Path) -> None:
        self.restored.append(source)


class ScriptedHouse:
    version = "1.2.3"

    def __init__(self, root: Path, *, failure: Exception | None = None) -> None:
        self._root = root
        self._failure = failure
        self._schema = MemorySchema()
        self._installed = False
        self._admin = ""
        self.memory_store = MemoryStore()
        self.scripted_archive = ScriptedArchive()
        self.checks: Sequence[Check] = ()
        self.asked: list[object] = []
        self.overruled_by: str | None = None
        self.remote: str | None = None

    def with_flags(self, *, config: Path | None, flags: Mapping[str, object]) -> "ScriptedHouse":
        self.asked.append({"config": config, "flags": dict(flags)})
        return self

    def whereabouts(self) -> Whereabouts:
        return Whereabouts(
            server_url="http://127.0.0.1:9",
            remote=self.remote,
            config_file=self._root / "portico.toml",
            key_file=self._root / "client.key",
            data=self._root / "data",
            backups=self._root / "backups",
            log_file=self._root / "logs" / "portico.log",
        )

    def settings(self) -> Sequence[SettingEntry]:
        if self._failure is not None:
            raise self._failure
        return [
            SettingEntry("server.port", 3100, "default"),
            SettingEntry("database.dsn", None, "default"),
        ]

    def settings_schema(self) -> JsonObject:
        return {"title": "Settings"}

    def setting(self, path: str) -> SettingEntry:
        return next(entry for entry in self.settings() if entry.path == path)

    def change_setting(self, path: str, value: str | None) -> SettingChange:
        self.asked.append((path, value))
        return SettingChange(file=self._root / "portico.toml", overruled_by=self.overruled_by)

    def store(self) -> MemoryStore:
        return self.memory_store

    def archive(self) -> Archive:
        return self.scripted_archive

    def migrate(self) -> MigrateStore:
        return MigrateStore(schema=self._schema, known=[ONE])

    def provision(self, admin_dsn: str, *, rotate: bool, write: bool) -> Provisioned:
        self.asked.append(admin_dsn)
        addresses = {"database.dsn": "postgresql://app@db/portico?sslmode=require&x=it's"}
        return Provisioned(addresses=addresses, file=self._root / "p.toml" if write else None)

    async def install(
        self, *, admin: str, recover: bool, progress: Callable[[str], None]
    ) -> Welcome:
        progress("making your space")
        new, self._installed = not self._installed, True
        self._admin = admin if new else self._admin
        return Welcome(
            new=new,
            recovered=recover,
            space="home",
            admin=self._admin,
            key_file=self._root / "client.key",
            migrations=1,
        )

    def diagnose(self) -> Diagnose:
        return Diagnose(checks=self.checks)

    def serve(self, announce: Callable[[str], None]) -> None:
        if self._failure is not None:
            raise self._failure
        announce("http://127.0.0.1:9")
        raise KeyboardInterrupt

    def save_key(self, key: str) -> Path:
        if self._failure is not None:
            raise self._failure
        self.asked.append(key)
        return self._root / "client.key"
