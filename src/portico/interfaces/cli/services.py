"""What the command line needs from outside: files, keys, the server in the background."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from portico.kernel.errors import Kind, PorticoError
from portico.kernel.redaction import blacked_out

if TYPE_CHECKING:
    from portico.engine.ports import Archive, Store, StoreUpgrade
    from portico.engine.store import Diagnose, MigrateStore
    from portico.gateway.core.client_entry import DetectedClient, Proposal, Removal, Scope, Written
    from portico.gateway.core.config_documents import Described
    from portico.gateway.core.search_text import EmbeddingModel, StoredEncoder
    from portico.gateway.server_files import AcceptListed, ImportServers
    from portico.gateway.start_diagnostics import ExamineServers
    from portico.gateway.surface import WeighContext
    from portico.guard.vault import Rotated
    from portico.kernel.json import JsonObject, JsonValue
    from portico.kernel.principal import Principal
    from portico.workflows.core.plan import Expressions

StartedBy = Literal["terminal", "up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server of this installation."""

    pid: int
    url: str
    since: str
    started_by: StartedBy
    unsaved_settings: "JsonObject"
    """Settings by which it was started, that are in no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorStatus:
    """The process that starts the server again when it dies, as it is or as it was at its end."""

    pid: int
    alive: bool
    url: str
    since: str
    restarts: int
    deaths: int
    """Quick ones, in a row."""
    died_at: str | None
    """When the server died last."""
    why: str | None
    gave_up: bool
    unsaved_settings: "JsonObject"
    """As of `Running`."""
    words: "JsonObject | None"
    """The error that the server ended with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A server that was asked to end, and has."""

    pid: int
    url: str
    started_by: StartedBy
    killed: bool
    """It did not end when it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLogin:
    """What the system is told, to start the server when its user logs in."""

    file: Path
    text: str
    switch_on: str
    """A command of the system's."""
    switch_off: str
    left_out: Sequence[str]
    """Variables that decide here and now, and will not be there then."""
    fleeting: bool
    """The program lies in a folder that may be cleared."""


class Launched(Protocol):
    @property
    def gone(self) -> bool: ...


class Keeping(Protocol):
    def servers(self) -> Sequence[Running]: ...

    def keeper(self) -> SupervisorStatus | None:
        """None if there never was one."""
        ...

    def start(self) -> Launched:
        """A keeper of its own, which outlives us; if there is one already, it ends at once.
        Raises `NoBackground`, `NotProvisioned`."""
        ...

    def stay(self) -> NoReturn:
        """Become the keeper. Raises `NoBackground`."""
        ...

    def end(self, progress: Callable[[str], None], *, only: str | None = None) -> Sequence[Ended]:
        """Every server of this installation, or the one `only` at this address, and its keeper.
        Raises `DoesNotEnd`."""
        ...

    async def settle(self) -> bool:
        """Stop a database of ours that nobody uses any more; whether there was one."""
        ...

    def at_login(self) -> AtLogin:
        """Raises `NoBackground`."""
        ...

    def write_at_login(self) -> bool:
        """Whether the system has been told to heed it; if not, the user is to."""
        ...

    def remove_at_login(self) -> bool:
        """Whether there was one."""
        ...


class DidNotStart(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "did_not_start"
    title = "The server did not start"

    def __init__(
        self, why: str | None, log_file: Path | None, words: Mapping[str, object] | None
    ) -> None:
        see = "portico doctor" if log_file is None else f"See {log_file}, then: portico doctor"
        fix = str(words["fix"]) if words and words.get("fix") else see
        super().__init__(blacked_out(why or "It ended, and did not say why."), fix=fix)
        if words:
            self.code, self.title = str(words["code"]), str(words["title"])


class GivenUp(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "given_up"
    title = "Portico is not running"

    def __init__(self, keeper: SupervisorStatus, when: str, log_file: Path | None) -> None:
        see = "" if log_file is None else f"See {log_file}. "
        fix = keeper.words.get("fix") if keeper.words else None
        super().__init__(
            blacked_out(
                f"It died {keeper.deaths} times in a row and was given up, {when}: {keeper.why}"
            ),
            fix=f"{see}When it is mended: portico up"
            if not fix
            else f"{str(fix).rstrip('.')}. Then: portico up",
        )


class StillStarting(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "still_starting"
    title = "The server takes long to start"

    def __init__(self, seconds: float, log_file: Path | None) -> None:
        see = "" if log_file is None else f"See {log_file}. "
        super().__init__(
            f"It runs, and is not ready after {seconds:g} s; it goes on.",
            fix=f"{see}To wait for it: portico status --wait 300; to end it: portico down",
        )


class DoesNotEnd(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "does_not_end"
    title = "The server does not end"

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"Process {pid} was asked to end, then killed, and is still there.",
            fix="The system holds it, as with a disk that does not answer. Try again later.",
        )


class NoBackground(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "no_background"
    title = "There is no background here"
    fix = "Run it in a terminal of its own: portico serve"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedClient:
    """A program that has Portico among its servers."""

    title: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Belonging:
    """A file or folder that Portico has made."""

    path: Path
    what: str
    size: int
    """Bytes, of all that is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """All that an installation keeps."""

    belongings: Sequence[Belonging]
    left: Sequence[Leftover]
    """What lies beside, or elsewhere, and is not for us to remove."""
    folders: Sequence[Path]
    """Which are removed if nothing is left in them."""

    @property
    def size(self) -> int:
        return sum(each.size for each in self.belongings)


class Uninstalling(Protocol):
    def connected(self) -> Sequence[ConnectedClient]: ...

    def estate(self) -> Estate:
        """Raises `OddHome`."""
        ...

    async def stop_database(self) -> bool:
        """Even one that was to be kept; whether it ran."""
        ...

    def purge(self, estate: Estate, progress: Callable[[str], None]) -> Sequence[Leftover]:
        """Remove all of it, and say what could not be. Raises `OddHome`."""
        ...

    def remove_package(self) -> str:
        """The command that removes the program itself, as it was installed."""
        ...


class OddHome(PorticoError):
    kind = Kind.CONFLICT
    code = "odd_home"
    title = "That is no folder of Portico's own"

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"Portico's folders are below {folder}, which is not its own; nothing was removed.",
            fix="Remove by hand what is Portico's: portico config path shows where it is.",
        )


class NotRemoved(PorticoError):
    kind = Kind.CONFLICT
    code = "not_removed"
    title = "Not everything could be removed"
    fix = "Remove it by hand, as whoever it belongs to."

    def __init__(self, left: Sequence[Leftover]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.why}" for each in left))


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
        """Raises `PullFailed`, `InvalidEncoderName`, `EmbedderUnavailable`."""
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

    def found(self) -> "Sequence[DetectedClient]": ...

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
    def services(self) -> "CliServices":
        """This one, as whoever has the demo's keys."""
        ...

    def forget(self) -> None:
        """Its keys here: the rest goes with the space."""
        ...


class CliServices(Protocol):
    @property
    def version(self) -> str: ...

    def with_flags(self, *, config: Path | None, flags: Mapping[str, object]) -> "CliServices": ...

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
