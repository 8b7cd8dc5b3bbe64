"""What the user decides about calls that are made before they are asked for."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, field_validator

from portico.gateway.core.catalog_snapshot import server_name
from portico.gateway.core.errors import BadServerName
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.core.prefetch.terms import AheadTerms

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_Wildcard = Annotated[str, Field(min_length=1, max_length=200)]
_Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class AheadSettings(BaseModel):
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
            except BadServerName as error:
                raise ValueError(f"{each!r} must be a server's name, as in github") from error
        return value

    @property
    def terms(self) -> AheadTerms:
        return AheadTerms(
            mode=AheadMode(self.mode),
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
