"""Settings of the gateway: servers, the sandbox, workflows, and speculative prefetch."""

from collections.abc import Mapping
from datetime import timedelta
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
from portico.gateway.core.errors import InvalidServerName
from portico.learning.core.prefetch_gates import PrefetchLimits, PrefetchMode
from portico.sandbox.core.errors import InvalidNetworkEndpoint
from portico.sandbox.core.profile import NetworkEndpoint

# What the user decides about the servers of tools: which there are, and how they are treated.

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
        except InvalidServerName as error:
            raise PydanticCustomError(
                "no_server_name",
                "must be small letters, digits and -, at most 32, beginning with a letter",
                {"setting": name},
            ) from error
    return servers


Servers = Annotated[Mapping[str, ServerEntry], AfterValidator(_have_names)]

LetOut = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}:[0-9a-f]{12}$")]


class BoxSettings(BaseModel):
    """Where strangers' code runs: servers that are started here, and commands of agents."""

    model_config = _MODEL

    backend: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """Which box. `auto`: the first of bubblewrap and landlock that stands all probes. `none`:
    nothing is run that needs one."""
    run_as: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] = "nobody"
    """The account that things run as in the box when Portico itself runs as root."""
    unboxed: tuple[LetOut, ...] = ()
    """Servers that run without a box, with all rights of Portico itself, each as NAME:PIN: exactly
    the command that `portico servers profile NAME` shows, which also shows its pin. Shown in red
    wherever they are listed, and written to the log each time that one starts."""
    memory_mb: Annotated[int, Strict(), Field(ge=64, le=1_000_000)] = 4000
    """Megabytes that all processes of one server may have together."""
    processes: Annotated[int, Strict(), Field(ge=8, le=100_000)] = 256
    """Most processes and threads of one server."""


class WebSettings(BaseModel):
    """What is reached from here on behalf of others, such as by the tool `builtin.fetch`."""

    model_config = _MODEL

    allow: tuple[str, ...] = ()
    """Places as host:port that may be reached although they are this machine or its neighbours:
    `127.0.0.1:11434`. What a setting or an approved server names itself is allowed already."""

    @field_validator("allow")
    @classmethod
    def _are_places(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                NetworkEndpoint.parse(each)
            except InvalidNetworkEndpoint as error:
                raise ValueError(f"{each!r} must be host:port, as in 127.0.0.1:11434") from error
        return value

    @property
    def places(self) -> tuple[NetworkEndpoint, ...]:
        return tuple(map(NetworkEndpoint.parse, self.allow))


# What the user decides about plans: how much of them goes on at once, and what is kept of it.


class WorkflowsSettings(BaseModel):
    """How many calls of plans and programs are under way at once, and how long one waits."""

    model_config = _MODEL

    calls_a_server: Annotated[int, Strict(), Field(ge=1, le=1_000)] = 256
    """Calls of plans and programs to one server that are under way in this process at a time."""
    calls_at_once: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 256
    """Calls of one plan or program that are under way at a time."""
    wait_seconds: Annotated[int, Strict(), Field(ge=0, le=600)] = 50
    """Seconds that a client which runs a plan is kept waiting; then it is told how to ask again."""
    keep_days: Annotated[int, Strict(), Field(ge=1, le=365)] = 8
    """Days for which a plan and what its steps gave are kept, sealed; so long it can be taken up
    again, and wait for somebody's word. Not more than gateway.keep_calls_days, and a day more than
    approvals.expires_minutes."""
    output_characters: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 20_000
    """Characters of what a plan gives that are told at once; what is longer is read by pages."""


_Wildcard = Annotated[str, Field(min_length=1, max_length=200)]
_Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class PrefetchSettings(BaseModel):
    """Calls that only read, made before they are asked for, where the work repeats itself."""

    model_config = _MODEL

    mode: Literal["off", "shadow", "live"] = "live"
    """The most that any space can do. `off`: nothing is foretold. `shadow`: what would be called
    is foretold and compared with what is called, and not called. `live`: what has proved right is
    called. A space, and each server in it, is switched with `portico ahead`."""
    external: tuple[str, ...] = ()
    """Servers by name of which tools that read elsewhere (`external_read`) may be called ahead, in
    tasks that have read nothing labelled. Without it none is: what is asked for tells those who
    are asked."""
    least_gain_ms: Annotated[int, Strict(), Field(ge=0, le=60_000)] = 50
    """Milliseconds that a tool usually takes; one that is quicker is not called ahead."""
    keep_seconds: Annotated[float, Strict(), Field(gt=0, le=60, allow_inf_nan=False)] = 10.0
    """Seconds that a result waits to be asked for; when it is served it is no older than this."""
    calls_at_once: Annotated[int, Strict(), Field(ge=1, le=256)] = 4
    """Calls ahead that are under way in this process at a time; of one principal half of them."""
    calls_a_minute: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 60
    """Calls ahead for one principal in any minute. They do not count towards its own limit."""
    seconds: Annotated[float, Strict(), Field(gt=0, le=5, allow_inf_nan=False)] = 5.0
    """Seconds after which a call ahead is given up."""
    dollars: Annotated[float, Strict(), Field(ge=0, le=0.1, allow_inf_nan=False)] = 0.1
    """What the calls ahead of one task may cost in an hour, by `prices`."""
    prices: Mapping[_Wildcard, _Price] = Field(default_factory=dict)
    """What a call costs in dollars, of the tools that a wildcard stands for, as in
    `"search.*" = 0.01`; what is not named costs nothing. In a file only, as `[ahead.prices]`."""
    share: Annotated[float, Strict(), Field(gt=0, le=0.5, allow_inf_nan=False)] = 0.25
    """Part of a server's or a tool's limit that calls ahead may use up."""

    @field_validator("external")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                server_name(each)
            except InvalidServerName as error:
                raise ValueError(f"{each!r} must be a server's name, as in github") from error
        return value

    @property
    def terms(self) -> PrefetchLimits:
        return PrefetchLimits(
            mode=PrefetchMode(self.mode),
            external=frozenset(self.external),
            least_gain=timedelta(milliseconds=self.least_gain_ms),
            keep=timedelta(seconds=self.keep_seconds),
            calls_at_once=self.calls_at_once,
            calls_a_principal=max(1, self.calls_at_once // 2),
            calls_a_minute=self.calls_a_minute,
            longest=timedelta(seconds=self.seconds),
            dollars=self.dollars,
            prices=self.prices,
            share=self.share,
        )
