"""What the user decides about how often tools are called."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, Strict

from portico.guard.core.rate_limits import CallRates

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_Calls = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
_Wildcard = Annotated[str, Field(min_length=1, max_length=200)]
_ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]


class LimitSettings(BaseModel):
    """How often tools may be called, counted over all processes that share a database."""

    model_config = _MODEL

    calls_a_minute: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 1000
    """Calls that one principal may make in any minute; 0 for as many as it likes."""
    tools: Mapping[_Wildcard, _Calls] = Field(default_factory=dict)
    """Calls in any minute of the tools that a wildcard stands for, all of them and all callers
    of a space together, as in `"github.*" = 60`. In a file only, as a table `[limits.tools]`."""
    servers: Mapping[_ServerName, _Calls] = Field(default_factory=dict)
    """The same for all that a server is asked for, resources and prompts too, as in `github = 120`.
    In a file only, as a table `[limits.servers]`."""

    @property
    def rates(self) -> CallRates:
        return CallRates(
            principal=self.calls_a_minute or None, tools=self.tools, servers=self.servers
        )
