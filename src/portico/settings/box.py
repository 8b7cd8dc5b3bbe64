"""What the user decides about strangers' code: where it runs, and what may be reached."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, field_validator

from portico.sandbox.core.errors import BadPlace
from portico.sandbox.core.profile import Place

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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
                Place.parse(each)
            except BadPlace as error:
                raise ValueError(f"{each!r} must be host:port, as in 127.0.0.1:11434") from error
        return value

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(map(Place.parse, self.allow))
