"""A house as the command line knows it, scripted: what it is told to answer, and what was asked."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from portico.adapters.client_entry import ClientConnections
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.engine.core.store import Migration, Removed, Upgraded
from portico.engine.ports import Archive, Check
from portico.engine.store import Diagnose, MigrateStore
from portico.gateway.core.config_documents import Described
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_text import EmbeddingModel, StoredEncoder
from portico.guard.vault import Rotated
from portico.interfaces.cli.services import (
    EncoderOrder,
    ImportRoom,
    Provisioned,
    SettingChange,
    SettingEntry,
    Uninstalling,
    Welcome,
    Whereabouts,
)
from portico.kernel.json import JsonObject
from portico.testing.engine import MemorySchema, MemoryStore
from portico.workflows.core.plan import Expressions
from tests.adapters.client_configs.prepared import prepared
from tests.interfaces.cli.keeping import ScriptedKeeping

ONE = Migration(1, "ground_floor", "SELECT 1")


class ScriptedArchive:
    def __init__(self) -> None:
        self.restored: list[Path] = []

    async def back_up(self, target: Path) -> None:
        target.write_text("everything")  # noqa: ASYNC240 # ten bytes

    async def restore(self, source: Path) -> None:
        self.restored.append(source)


class ScriptedUpgrade:
    """Of a database that is two versions behind."""

    def __init__(self) -> None:
        self.major = 16

    def upgrade(self, progress: Callable[[str], None]) -> Upgraded:
        progress("copying")
        before, self.major = self.major, 18
        return Upgraded(before=before, after=18, retained=("postgres/16",))

    def back(self) -> Upgraded:
        before, self.major = self.major, 16
        return Upgraded(before=before, after=16, retained=("postgres/18.undone",))

    def forget_old(self) -> Removed:
        return Removed(folders=("postgres/16",), bytes=40_000_000)


class ScriptedEncoders:
    folder = Path("models")

    def __init__(self) -> None:
        self.pulled: list[EncoderOrder] = []
        self.asked: list[tuple[str, str, str | None]] = []

    def stored(self) -> Sequence[StoredEncoder]:
        return [self._stored(order) for order in self.pulled]

    def pull(
        self, order: EncoderOrder, progress: Callable[[str, int, int | None], None]
    ) -> StoredEncoder:
        progress("fetching model", 10, 90)
        self.pulled.append(order)
        return self._stored(order)

    async def tried(self, encoder: str) -> EmbeddingModel:
        if encoder not in {"static", *(each.name for each in self.stored())}:
            raise EmbedderUnavailable(f"There is no {encoder}.")
        return EmbeddingModel(encoder, 384, "f00d")

    async def ask_dimensions(self, url: str, model: str, key_variable: str | None) -> int:
        self.asked.append((url, model, key_variable))
        return 768

    def _stored(self, order: EncoderOrder) -> StoredEncoder:
        return StoredEncoder(
            name=order.name or order.source,
            dimensions=384,
            max_tokens=256,
            licence="apache-2.0",
            source=order.source,
            adapter=None if order.plain else "tools",
            size=23_900_000,
        )


class ScriptedImporting:
    """Other programs, as a test says; what is taken over is taken over in memory."""

    def __init__(self, room: ImportRoom | None = None, *found: Described) -> None:
        self._room = room
        self._found = found
        self.used: list[str] = []
        self.overruled_by: str | None = None

    def found(self, files: Sequence[Path]) -> Sequence[Described]:
        wanted = [str(file) for file in files]
        return [each for each in self._found if not wanted or each.origin in wanted]

    def use(self, origins: Sequence[str]) -> SettingChange:
        self.used += origins
        return SettingChange(file=Path("portico.toml"), overruled_by=self.overruled_by)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ImportRoom]:
        assert self._room is not None
        yield self._room


class ScriptedHouse:
    version = "1.2.3"

    def __init__(self, root: Path, *, failure: Exception | None = None) -> None:
        self._root = root
        self.failure = failure
        self._schema = MemorySchema()
        self._installed = False
        self._admin = ""
        self.memory_store = MemoryStore()
        self.scripted_archive = ScriptedArchive()
        self.scripted_upgrade = ScriptedUpgrade()
        self.scripted_encoders = ScriptedEncoders()
        self.scripted_importing = ScriptedImporting()
        self.scripted_keeping = ScriptedKeeping(root)
        self.checks: Sequence[Check] = ()
        self.asked: list[object] = []
        self.overruled_by: str | None = None
        self.remote: str | None = None
        self.server_url = "http://127.0.0.1:9"
        self.rotated = Rotated("0a1b2c3d", sealed_anew=3, lost=0)

    def with_flags(self, *, config: Path | None, flags: Mapping[str, object]) -> "ScriptedHouse":
        self.asked.append({"config": config, "flags": dict(flags)})
        return self

    def whereabouts(self) -> Whereabouts:
        return Whereabouts(
            server_url=self.server_url,
            remote=self.remote,
            config_file=self._root / "portico.toml",
            key_file=self._root / "client.key",
            agent_key_file=self._root / "agent.key",
            data=self._root / "data",
            backups=self._root / "backups",
            log_file=self._root / "logs" / "portico.log",
        )

    def settings(self) -> Sequence[SettingEntry]:
        if self.failure is not None:
            raise self.failure
        return [
            SettingEntry("server.port", 3100, "default"),
            SettingEntry("database.dsn", None, "default"),
        ]

    def settings_schema(self) -> JsonObject:
        return {"title": "Settings"}

    def setting(self, path: str) -> SettingEntry:
        return next(entry for entry in self.settings() if entry.path == path)

    def change_setting(self, path: str, value: str | list[str] | None) -> SettingChange:
        self.asked.append((path, value))
        return SettingChange(file=self._root / "portico.toml", overruled_by=self.overruled_by)

    def importing(self) -> ScriptedImporting:
        return self.scripted_importing

    def connecting(self) -> ClientConnections:
        return prepared(self._root).connections

    def expressions(self) -> Expressions:
        return JmespathExpressions()

    def encoders(self) -> ScriptedEncoders:
        return self.scripted_encoders

    def store(self) -> MemoryStore:
        return self.memory_store

    def archive(self) -> Archive:
        return self.scripted_archive

    def store_upgrade(self) -> ScriptedUpgrade:
        return self.scripted_upgrade

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
            agent_key_file=self._root / "agent.key",
            migrations=1,
        )

    async def rotate_vault(self) -> Rotated:
        return self.rotated

    def diagnose(self) -> Diagnose:
        return Diagnose(checks=self.checks)

    def keeping(self) -> ScriptedKeeping:
        return self.scripted_keeping

    def uninstalling(self) -> Uninstalling:
        raise NotImplementedError

    def serve(self, announce: Callable[[str], None], *, started_by: str) -> None:
        self.asked.append(started_by)
        if self.failure is not None:
            raise self.failure
        announce("http://127.0.0.1:9")
        raise KeyboardInterrupt

    @contextmanager
    def serving(self) -> Iterator[bool]:
        yield False

    def demo(self) -> "ScriptedDemo":
        return ScriptedDemo(ScriptedHouse(self._root / "demo"))

    def save_key(self, key: str, *, agent: bool = False) -> Path:
        if self.failure is not None:
            raise self.failure
        self.asked.append(key)
        return self._root / ("agent.key" if agent else "client.key")


class ScriptedDemo:
    """That is not there."""

    def __init__(self, house: ScriptedHouse) -> None:
        self.services = house

    def forget(self) -> None:
        raise AssertionError
