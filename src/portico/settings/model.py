"""Every setting with its type, default and purpose, and what a text means for each of them."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Final, Literal, Self, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    Strict,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from portico.settings.agents import AgentsSettings, BridgeSettings, DebateSettings, ModelsSettings
from portico.settings.gateway import (
    BoxSettings,
    GatewaySettings,
    PrefetchSettings,
    Seconds,
    Servers,
    WebSettings,
    WorkflowsSettings,
)
from portico.settings.guard import (
    ApprovalsSettings,
    AuditSettings,
    LimitSettings,
    OauthSettings,
    PolicySettings,
    SecretsSettings,
)

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

Level = Literal["debug", "info", "warning", "error"]
_HEADER: Final = re.compile(r"([A-Za-z0-9-]+)=([\x20-\x7e]+)")
_ROOM: Final = re.compile(rf"([A-Za-z_][\w.]*)=({'|'.join(get_args(Level))})")


def _is_an_origin(value: str | None) -> str | None:
    """A scheme and a host, and nothing that would be lost or told on: no path, no password."""
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        bare = parts.hostname and parts.port != 0 and parts.username is None
    except ValueError:
        bare = False
    rest = value.partition("://")[2].rstrip("/")
    if not bare or parts.scheme not in {"http", "https"} or set(rest) & set("/?#@\\ "):
        raise ValueError("must be a scheme and a host, as in https://portico.example")
    return value.rstrip("/")


def _is_an_endpoint(value: str | None) -> str | None:
    """An address with a path, and nothing that would be told on: no password."""
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        usable = parts.hostname and parts.port != 0 and parts.username is None
    except ValueError:
        usable = False
    if not usable or parts.scheme not in {"http", "https"} or set(value) & set("?#@\\ "):
        raise ValueError(
            "must be an address, its port from 1 to 65535 and an IPv6 host in brackets, "
            "as in http://127.0.0.1:4318 or http://[::1]:4318"
        )
    return value.rstrip("/")


class ServerSettings(BaseModel):
    """Where the server listens and under which name it is known."""

    model_config = _MODEL

    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback also needs `public_url`."""
    port: Annotated[int, Strict(), Field(ge=1, le=65535)] = 3100
    """Port to listen on."""
    public_url: str | None = None
    """How others reach this server, for instance through a proxy: https://portico.example.
    Its host becomes an allowed Host and Origin, and links begin with it."""

    _public_url_is_an_origin = field_validator("public_url")(_is_an_origin)

    @model_validator(mode="after")
    def _is_named_when_open(self) -> Self:
        if self.host not in _LOOPBACK and self.public_url is None:
            raise PydanticCustomError(
                "open_without_a_name",
                "host {host} is open to the network, so public_url must say its name there",
                {"host": self.host, "setting": "host"},
            )
        return self


class ClientSettings(BaseModel):
    """Which server the command line talks to."""

    model_config = _MODEL

    server: str | None = None
    """Address of the server that the command line talks to; this machine's own if not set."""
    agent_key_file: str | None = None
    """File with the key that `portico stdio` comes in with; if not set, the one that `portico init`
    has left for it."""

    _server_is_an_origin = field_validator("server")(_is_an_origin)


class DatabaseSettings(BaseModel):
    """Which PostgreSQL holds everything."""

    model_config = _MODEL

    source: Literal["auto", "embedded", "system", "dsn"] = "auto"
    """Where PostgreSQL comes from: the binaries that came with Portico, those of the system, or
    a server of your own by its address. `auto` takes `dsn` if it is set, else the first that is
    there."""
    version: Literal[16, 17, 18] = 18
    """Major version of the embedded or system server. A database that is older is not started until
    `portico db upgrade` has brought it there; one that is newer stays so."""
    run_as: str | None = None
    """The unprivileged account that runs the embedded server when Portico itself runs as root."""
    dsn: SecretStr | None = None
    """Address of your own server, as the application role (postgresql://portico_app:…@host/db)."""
    owner_dsn: SecretStr | None = None
    """The same as the owner role; needed to migrate, back up and restore."""
    engine_dsn: SecretStr | None = None
    """The same as the role of the durable engine."""
    pool_size: Annotated[int, Strict(), Field(ge=2, le=200)] = 10
    """Most connections that one process holds."""
    auto_migrate: Annotated[bool, Strict()] | None = None
    """Migrate when the server starts. Not set: yes for the embedded database, no for your own."""

    @field_validator("dsn", "owner_dsn", "engine_dsn")
    @classmethod
    def _is_an_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            from portico.adapters.postgres.addresses import check_address  # noqa: PLC0415 # heavy

            check_address(value.get_secret_value())
        return value


class IdentitySettings(BaseModel):
    """How keys are checked."""

    model_config = _MODEL

    pepper: SecretStr | None = None
    """Secret mixed into the stored hash of every key; the same on every machine of a fleet.
    Not set: made by `init` and kept in the data folder."""


class EngineSettings(BaseModel):
    """Runs: who carries them out, and how long they are kept."""

    model_config = _MODEL

    work: Annotated[bool, Strict()] = True
    """Carry out runs in this process. Off: it only takes them in, for others to carry out."""
    at_once: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 100
    """Most runs that this process carries out at once; those that wait do not count."""
    keep_runs_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 30
    """Days that a run is kept for once it is over, with its steps and events."""
    keep_runs: Annotated[int, Strict(), Field(ge=1)] = 10_000
    """Most runs of a space that are kept once they are over, however young they are."""
    keep_events_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 90
    """Days that an event is kept for, of whatever topic."""
    keep_receipts_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 7
    """Days within which a repeated Idempotency-Key is recognised."""


class EmbeddingSettings(BaseModel):
    """Which model turns texts into vectors, for search by meaning."""

    model_config = _MODEL

    encoder: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")] = "static"
    """`static`: a table of words that is always there. The name of an encoder that was fetched
    with `portico embeddings pull`. `remote`: a server that speaks OpenAI's `/v1/embeddings`."""
    url: str | None = None
    """Where that server is, up to and with its `/v1`: http://127.0.0.1:11434/v1"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Which of its models to use."""
    dimensions: Annotated[int, Strict(), Field(ge=1, le=65_536)] | None = None
    """How many numbers a vector of that model has; `portico embeddings use remote` asks it."""
    key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Name of the environment variable that holds that server's key: the name, not the key."""
    timeout: Seconds = 30.0
    """Seconds that it may take to answer."""
    hub: str = "https://huggingface.co"
    """Where `portico embeddings pull OWNER/NAME` looks for a model."""

    _addresses_are_endpoints = field_validator("url", "hub")(_is_an_endpoint)

    @model_validator(mode="after")
    def _knows_whom_to_ask(self) -> Self:
        missing = [name for name in ("url", "model", "dimensions") if getattr(self, name) is None]
        if self.encoder == "remote" and missing:
            raise PydanticCustomError(
                "remote_without_address",
                "remote also needs {missing}; portico embeddings use remote sets them",
                {"missing": " and ".join(missing), "setting": "encoder"},
            )
        return self


class LogSettings(BaseModel):
    """What is written down."""

    model_config = _MODEL

    level: Level = "info"
    """Least level that is logged. `info` is what Portico itself has to say; `debug` adds a line
    for each request, and what the web server says when it starts and ends."""
    rooms: str = ""
    """Levels of single rooms, or of libraries, which are heard from warnings on unless named here:
    `portico.postgres=debug,uvicorn=info`."""
    format: Literal["auto", "json", "human"] = "auto"
    """What standard error gets. `auto`: a form for people on a terminal, JSON lines elsewhere."""
    file: Annotated[bool, Strict()] = True
    """Also write JSON lines to a file in the state folder, a new one each day (UTC)."""
    keep_days: Annotated[int, Strict(), Field(ge=1, le=3650)] = 14
    """Days that a log file is kept for."""
    slow_warning: Seconds = 0.5
    """Seconds from which on a request or a transaction is told as slow, as a warning."""
    slow_error: Seconds = 2.0
    """Seconds from which on it is told as an error."""

    @field_validator("rooms")
    @classmethod
    def _has_rooms_and_levels(cls, value: str) -> str:
        for each in filter(None, map(str.strip, value.split(","))):
            if not _ROOM.fullmatch(each):
                raise ValueError(f"{each!r} must be a room and its level, as in portico.http=debug")
        return value

    @model_validator(mode="after")
    def _warns_before_it_errs(self) -> Self:
        if self.slow_warning > self.slow_error:
            raise PydanticCustomError(
                "errs_before_it_warns",
                "slow_warning must not be longer than slow_error",
                {"setting": "slow_warning"},
            )
        return self

    @property
    def level_of(self) -> Mapping[str, str]:
        """`rooms`, read."""
        return dict(_ROOM.findall(self.rooms))


class TelemetrySettings(BaseModel):
    """What is measured, and where it is sent: nowhere, unless you say so."""

    model_config = _MODEL

    metrics: Annotated[bool, Strict()] = True
    """Count and time what the server does, for `GET /metrics` and for the OTLP endpoint."""
    otlp_endpoint: str | None = None
    """Where traces and metrics are sent (OTLP over HTTP), without the path of either:
    http://127.0.0.1:4318. Not set: nothing leaves this machine."""
    otlp_headers: SecretStr | None = None
    """Headers to send with them, such as a key: `Authorization=Bearer …,X-Scope=team`."""
    service_name: Annotated[str, Field(min_length=1, max_length=100)] = "portico"
    """How this server calls itself in what it sends."""
    sample_ratio: Annotated[float, Strict(), Field(ge=0, le=1)] = 1.0
    """Part of the traces that is sent; 0.1 is every tenth."""

    _otlp_endpoint_is_an_endpoint = field_validator("otlp_endpoint")(_is_an_endpoint)

    @field_validator("otlp_headers")
    @classmethod
    def _are_headers(cls, value: SecretStr | None) -> SecretStr | None:
        """Does not repeat them: they may hold a key."""
        if value is not None and not all(_pairs(value.get_secret_value())):
            raise ValueError("must be names and values, as in Authorization=Bearer …,X-Scope=team")
        return value

    @property
    def header_values(self) -> Mapping[str, str]:
        """`otlp_headers`, read."""
        given = "" if self.otlp_headers is None else self.otlp_headers.get_secret_value()
        return {found[1]: found[2] for found in _pairs(given) if found}


def _pairs(text: str) -> list[re.Match[str] | None]:
    return [_HEADER.fullmatch(each) for each in filter(None, map(str.strip, text.split(",")))]


class Settings(BaseModel):
    """Portico's configuration, `portico.toml`."""

    model_config = _MODEL

    server: ServerSettings = Field(default_factory=ServerSettings)
    client: ClientSettings = Field(default_factory=ClientSettings)
    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    identity: IdentitySettings = Field(default_factory=IdentitySettings)
    engine: EngineSettings = Field(default_factory=EngineSettings)
    embeddings: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    log: LogSettings = Field(default_factory=LogSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    box: BoxSettings = Field(default_factory=BoxSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    policy: PolicySettings = Field(default_factory=PolicySettings)
    audit: AuditSettings = Field(default_factory=AuditSettings)
    secrets: SecretsSettings = Field(default_factory=SecretsSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    approvals: ApprovalsSettings = Field(default_factory=ApprovalsSettings)
    ahead: PrefetchSettings = Field(default_factory=PrefetchSettings)
    workflows: WorkflowsSettings = Field(default_factory=WorkflowsSettings)
    oauth: OauthSettings = Field(default_factory=OauthSettings)
    models: ModelsSettings = Field(default_factory=ModelsSettings)
    agents: AgentsSettings = Field(default_factory=AgentsSettings)
    bridge: BridgeSettings = Field(default_factory=BridgeSettings)
    debate: DebateSettings = Field(default_factory=DebateSettings)
    servers: Servers = Field(default_factory=dict)

    @model_validator(mode="after")
    def _keeps_what_plans_need(self) -> Self:
        """What was begun is on the record for as long as a plan can be taken up again, and a plan
        can be for as long as somebody may answer what it asks."""
        if self.gateway.keep_calls_days < self.workflows.keep_days:
            raise PydanticCustomError(
                "forgets_calls_of_plans",
                "must not be fewer days than workflows.keep_days: a plan that is taken up again "
                "would do twice what is not on the record any more",
                {"setting": "gateway.keep_calls_days"},
            )
        answered = timedelta(minutes=self.approvals.expires_minutes)
        if timedelta(days=self.workflows.keep_days) < answered + timedelta(days=1):
            raise PydanticCustomError(
                "forgets_plans_that_wait",
                "must be a day longer than approvals.expires_minutes: a plan that waits for "
                "approval would be gone before somebody answers",
                {"setting": "workflows.keep_days"},
            )
        return self


_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_TRUTHS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def known_paths() -> Iterator[str]:
    """Every setting by its dotted path, and every section."""
    for section, model in _sections():
        yield from (f"{section}.{name}" for name in model.model_fields)
        yield section


def known_settings() -> Iterator[str]:
    return (path for path in known_paths() if "." in path)


def table_of(path: str) -> str | None:
    """The table of entries with names of the user's own that this is, or is a part of."""
    return next((it for it in _tables() if f"{path}.".startswith(f"{it}.")), None)


def holds_tables(table: str) -> bool:
    """Whether each of its entries is a table, too."""
    return any(issubclass(kind, BaseModel) for kind in _kinds(_tables()[table]))


def suggestion(path: str) -> str:
    """What was meant by a setting that does not exist, to be put behind a sentence."""
    close = get_close_matches(path, list(known_paths()), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def typed(path: str, value: str) -> bool | float | str | list[str]:
    """As what the setting is: a pepper of digits stays a text."""
    kinds = kinds_of(path)
    if tuple in kinds:
        return [each for each in map(str.strip, value.split(",")) if each]
    if bool in kinds and value.lower() in _TRUTHS:
        return _TRUTHS[value.lower()]
    if float in kinds and _DECIMAL.fullmatch(value):
        return float(value)
    return int(value) if int in kinds and value.isascii() and value.isdecimal() else value


def kinds_of(path: str) -> set[type]:
    """The types that a setting's value may have, those of its literals included; none if there
    is no such setting."""
    section, _, name = path.partition(".")
    field = dict(_sections()).get(section, BaseModel).model_fields.get(name)
    return set() if field is None else set(_kinds(field.annotation))


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield section, model


def _tables() -> Mapping[str, object]:
    """What each of them is declared as."""
    tops = {name: field.annotation for name, field in Settings.model_fields.items()}
    inner = {
        f"{section}.{name}": field.annotation
        for section, model in _sections()
        for name, field in model.model_fields.items()
    }
    return {path: kind for path, kind in (tops | inner).items() if get_origin(kind) is Mapping}


def _kinds(annotation: object) -> Iterator[type]:
    parts = get_args(annotation)
    if get_origin(annotation) is tuple:
        yield tuple
        return
    if isinstance(annotation, type):
        yield annotation
    for part in parts:
        yield from _kinds(part) if isinstance(part, type) or get_args(part) else [type(part)]
