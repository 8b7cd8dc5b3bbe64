"""A read that somebody will probably ask for: what, with what, and where each value is from."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Self

from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch.forms import EdgeKey
from portico.learning.core.prefetch.predicted import Predicted, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    ref: ToolRef
    pin: str
    """Of the definition that it was foretold of."""
    arguments: JsonObject
    sources: Mapping[str, AbstractSet[Source]] = field(default_factory=dict)
    """Of each argument."""
    proven: bool
    """Whether what foretold it has been right often enough."""
    edge: EdgeKey | None = None
    """What foretold it; None: a suggestion."""
    then: "Callable[[Answer], Sequence[Wanted]] | None" = None
    """What can be read once this has been answered; it keeps nothing of the answer."""

    @classmethod
    def of(cls, predicted: Predicted, ref: ToolRef, pin: str) -> Self:
        return cls(
            ref=ref,
            pin=pin,
            arguments=predicted.arguments,
            sources=predicted.sources,
            proven=predicted.live,
            edge=predicted.edge,
        )
