"""Every setting there is, with its type, its default and what it is for."""

from typing import Annotated, Final, Literal, Self
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

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


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

    _server_is_an_origin = field_validator("server")(_is_an_origin)


class DatabaseSettings(BaseModel):
    """Which PostgreSQL holds everything."""

    model_config = _MODEL

    source: Literal["auto", "embedded", "system", "dsn"] = "auto"
    """Where PostgreSQL comes from: the binaries that came with Portico, those of the system, or
    a server of your own by its address. `auto` takes `dsn` if it is set, else the first that is
    there."""
    version: Literal[16, 17, 18] = 18
    """Major version of the embedded or system server for a *new* database."""
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


class LogSettings(BaseModel):
    """What is written down."""

    model_config = _MODEL

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is logged. `info` is what Portico itself has to say; `debug` adds a line
    for each request, and what the web server says when it starts and ends."""


class Settings(BaseModel):
    """Portico's configuration, `portico.toml`."""

    model_config = _MODEL

    server: ServerSettings = Field(default_factory=ServerSettings)
    client: ClientSettings = Field(default_factory=ClientSettings)
    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    identity: IdentitySettings = Field(default_factory=IdentitySettings)
    log: LogSettings = Field(default_factory=LogSettings)
