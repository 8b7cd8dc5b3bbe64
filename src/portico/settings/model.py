"""Every setting there is, with its type, its default and what it is for."""

from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class ServerSettings(BaseModel):
    """Where the server listens and under which name it is known."""

    model_config = _MODEL

    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback also needs `public_url`."""
    port: Annotated[int, Field(ge=1, le=65535)] = 3100
    """Port to listen on."""
    public_url: str | None = None
    """How others reach this server, for instance through a proxy: https://portico.example.
    Its host becomes an allowed Host and Origin, and links begin with it."""

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
            raise ValueError("must be a scheme and a host, as in https://portico.example")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _is_named_when_open(self) -> Self:
        if self.host not in _LOOPBACK and self.public_url is None:
            raise ValueError(
                f"host {self.host} is open to the network, so public_url must say its name there"
            )
        return self


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
    pool_size: Annotated[int, Field(ge=2, le=200)] = 10
    """Most connections that one process holds."""
    auto_migrate: bool | None = None
    """Migrate when the server starts. Not set: yes for the embedded database, no for your own."""


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
    """Least level that is logged."""


class Settings(BaseModel):
    """Portico's configuration, `portico.toml`."""

    model_config = _MODEL

    server: ServerSettings = Field(default_factory=ServerSettings)
    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    identity: IdentitySettings = Field(default_factory=IdentitySettings)
    log: LogSettings = Field(default_factory=LogSettings)
