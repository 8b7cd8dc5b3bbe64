"""A tool that whoever asks may know of, as far as a suggestion is concerned."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.learning.core.dataflow.shape import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    tool: str
    """`server.tool`."""
    effect: Effect = Effect.UNKNOWN
    parameters: Sequence[Parameter] = ()
    listed: Mapping[str, Collection[JsonValue]] = field(default_factory=dict)
    """By `server.tool#parameter`: the values that its definition names."""

    @property
    def required(self) -> Sequence[Parameter]:
        return [each for each in self.parameters if each.required]

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)
