"""What the command line needs of the house; the composition root gives it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # what `portico --help` does not need, it does not load
    from portico.engine.ports import Archive, Store, StoreUpgrade
    from portico.engine.store import Diagnose, MigrateStore
    from portico.gateway.core.client_entry import Found, Proposal, Removal, Scope, Written
    from portico.gateway.core.config_documents import Described
    from portico.gateway.core.search_text import EmbeddingModel, StoredEncoder
    from portico.gateway.server_files import AcceptListed, ImportServers
    from portico.gateway.start_diagnostics import ExamineServers
    from portico.gateway.surface import WeighContext
    from portico.guard.vault import Rotated
    from portico.interfaces.cli.keeping import Keeping
    from portico.interfaces.cli.uninstalling import Uninstalling
    from portico.kernel.json import JsonObject, JsonValue
    from portico.kernel.principal import Principal
    from portico.workflows.core.plan import Expressions


@dataclass(frozen=True, slots=True)
class SettingEntry:
    path: str
    value: "JsonValue"
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """The file that was written, and whose value is in force instead of its own, if any."""

    file: Path
    overruled_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where this installation keeps its things and where its server is."""

    server_url: str
    remote: str | None = None
    """Another server that the command line is to talk to."""
    private_socket: Path | None = None
    """Where this installation's own server answers its own user, and nobody else can."""
    config_file: Path
    key_file: Path
    agent_key_file: Path
    """What programs come in with that act for the user, and are not the user."""
    data: Path
    backups: Path
    log_file: Path | None = None
    """None if the server writes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """How `init` found the house, or left it."""

    new: bool
    recovered: bool
    space: str
    admin: str
    key_file: Path
    agent_key_file: Path
    migrations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What `db provision` has made: addresses with passwords, by setting."""

    addresses: Mapping[str, str]
    file: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOrder:
    """An encoder to be fetched."""

    source: str
    name: str | None
    revision: str
    plain: bool


class Encoders(Protocol):
    """What texts can be turned into vectors with."""

    @property
    def folder(self) -> Path: ...

    def stored(self) -> "Sequence[StoredEncoder]": ...

    def pull(
        self, order: EncoderOrder, progress: Callable[[str, int, int | None], None]
    ) -> "StoredEncoder":
        """Raises `PullFailed`, `BadEncoderName`, `EmbedderUnavailable`."""
        ...

    async def tried(self, encoder: str) -> "EmbeddingModel":
        """Make a vector with it. Raises `EmbedderUnavailable`."""
        ...

    async def ask_dimensions(self, url: str, model: str, key_variable: str | None) -> int:
        """How long the vectors of a server elsewhere are. Raises `EmbedderUnavailable`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRoom:
    """What it takes to take servers over, with the database open and somebody to do it."""

    caller: "Principal"
    import_servers: "ImportServers"
    accept: "AcceptListed"
    weigh: "WeighContext"
    examine: "ExamineServers"


class Importing(Protocol):
    """The servers that a user has in other programs."""

    def found(self, files: Sequence[Path]) -> "Sequence[Described]":
        """What those files say, or else what every client here says that is not in use yet.
        Raises `OSError` for a file that was named and is not there."""
        ...

    def use(self, origins: Sequence[str]) -> SettingChange:
        """These files are read from now on, beside those that are."""
        ...

    def opened(self) -> AbstractAsyncContextManager[ImportRoom]: ...


class Connecting(Protocol):
    """Portico's own entry in the files of clients."""

    def found(self) -> "Sequence[Found]": ...

    def proposed(self, name: str, scope: "Scope" = "user", *, key: str | None = None) -> "Proposal":
        """`key`: over HTTP, with this one. Raises `UnknownClient`, `ClientCannot`,
        `ClientFileMalformed`, `ClientFileUnreadable`, `EditUnsafe`."""
        ...

    def write(self, proposal: "Proposal", key: str | None = None) -> "Written":
        """`key`: the id of the one in it. Raises `ClientFileMoved`, `OSError`."""
        ...

    def ours(self, name: str | None) -> "Sequence[Removal]":
        """Every file of that client, or of any, that Portico is in. Raises as `proposed` does."""
        ...

    def take_out(self, removal: "Removal") -> None:
        """Raises `ClientFileMoved`, `OSError`."""
        ...


class Demo(Protocol):
    """The space with sample content."""

    @property
    def house(self) -> "House":
        """This one, as whoever has the demo's keys."""
        ...

    def forget(self) -> None:
        """Its keys here: the rest goes with the space."""
        ...


class House(Protocol):
    @property
    def version(self) -> str: ...

    def with_flags(self, *, config: Path | None, flags: Mapping[str, object]) -> "House": ...

    def whereabouts(self) -> Whereabouts: ...

    def settings(self) -> Sequence[SettingEntry]:
        """Raises `InvalidSettings`."""
        ...

    def setting(self, path: str) -> SettingEntry:
        """Raises `InvalidSettings`."""
        ...

    def settings_schema(self) -> "JsonObject": ...

    def change_setting(self, path: str, value: str | list[str] | None) -> SettingChange:
        """In the user's own file; `value` of None takes it out. Raises `InvalidSettings`, and has
        written nothing then."""
        ...

    def importing(self) -> Importing: ...

    def connecting(self) -> Connecting: ...

    def expressions(self) -> "Expressions":
        """What the expressions of a plan are read by."""
        ...

    def encoders(self) -> Encoders: ...

    def store(self) -> "Store": ...

    def archive(self) -> "Archive": ...

    def store_upgrade(self) -> "StoreUpgrade":
        """Raises `StoreRefused` for a database that is not ours to run."""
        ...

    def migrate(self) -> "MigrateStore": ...

    def provision(self, admin_dsn: str, *, rotate: bool, write: bool) -> Provisioned: ...

    async def install(
        self, *, admin: str, recover: bool, progress: Callable[[str], None]
    ) -> Welcome: ...

    async def rotate_vault(self) -> "Rotated":
        """Raises `VaultClosed`, `SecretsUnavailable`."""
        ...

    def diagnose(self) -> "Diagnose": ...

    def keeping(self) -> "Keeping": ...

    def uninstalling(self) -> "Uninstalling": ...

    def serve(self, announce: Callable[[str], None], *, started_by: str) -> None:
        """Until interrupted."""
        ...

    def serving(self) -> AbstractContextManager[bool]:
        """There is a server meanwhile: the one that runs, or one of our own, which ends with it.
        Whether it is our own. Raises `ServerNotStarted`."""
        ...

    def demo(self) -> "Demo": ...

    def save_key(self, key: str, *, agent: bool = False) -> Path:
        """`agent`: for the programs that act for the user."""
        ...
