"""What the user decides about the servers of tools: which there are, and how they are treated."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from portico.gateway.core.catalog_snapshot import server_name
from portico.gateway.core.errors import BadServerName

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

Seconds = Annotated[float, Strict(), Field(gt=0, le=3600, allow_inf_nan=False)]
_Tokens = Annotated[int, Strict(), Field(ge=200, le=100_000)]


class GatewaySettings(BaseModel):
    """The door in front of many servers of tools."""

    model_config = _MODEL

    imports: tuple[str, ...] = ()
    """Files of other programs whose servers are used, such as ~/.cursor/mcp.json: read live, never
    written. `portico init` finds them. In a list parted by commas where it is a text.
    A running server notices when this changes."""
    processes: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 64
    """Most processes of servers that run at once; who is idle longest makes room."""
    idle_after: Annotated[float, Strict(), Field(ge=1, le=86_400, allow_inf_nan=False)] = 600.0
    """Seconds without a call after which a server's process is ended; the next call starts it."""
    call_timeout: Seconds = 30.0
    """Seconds that one call of a tool may take, unless its server has a `timeout` of its own."""
    start_timeout: Seconds = 60.0
    """Seconds that a server may take to start and to list what it offers."""
    search_budget: _Tokens = 1500
    """Tokens that the answer to one search may have, unless it asks for fewer."""
    surface_tokens: _Tokens = 1000
    """Tokens that all listed tools together may have: those of the door itself, and the ones that
    a caller uses most."""
    keep_calls_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 30
    """Days that the record of a call is kept for."""


class ServerEntry(BaseModel):
    """A server of tools, by a table of its own: `[servers.NAME]`. A running server notices when
    one comes, goes or changes; a new or changed one waits until somebody has approved it."""

    model_config = _MODEL

    command: str | None = None
    """The program to start. Either this or `url`."""
    args: tuple[str, ...] = ()
    """What it is started with."""
    env: Mapping[str, str] = Field(default_factory=dict)
    """Variables that it is given, besides a few harmless ones. Their values are kept nowhere but in
    this file, and read each time that it is started."""
    cwd: str | None = None
    """The folder that it is started in."""
    url: str | None = None
    """Where it answers, if it is not started here."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """What is sent with every request, such as a key. Kept nowhere but in this file."""
    transport: Literal["streamable", "sse"] | None = None
    """How it is spoken to. Not set: whatever it turns out to speak."""
    enabled: Annotated[bool, Strict()] = True
    """Off: it is known, and not used."""
    timeout: Seconds | None = None
    """Seconds that one call of its tools may take."""

    @model_validator(mode="after")
    def _is_started_or_reached(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("must have either a command or a url")
        return self

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://", "${")):
            raise ValueError("must be an address, as in https://tools.example/mcp")
        return value


def _have_names(servers: Mapping[str, ServerEntry]) -> Mapping[str, ServerEntry]:
    for name in servers:
        try:
            server_name(name)
        except BadServerName as error:
            raise PydanticCustomError(
                "no_server_name",
                "must be small letters, digits and -, at most 32, beginning with a letter",
                {"setting": name},
            ) from error
    return servers


Servers = Annotated[Mapping[str, ServerEntry], AfterValidator(_have_names)]
