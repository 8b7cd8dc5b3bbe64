"""By how much more tokens each model's server counts than we do: it is learnt as they say so."""

from dataclasses import dataclass, field

from portico.agents.core.asking import Usage
from portico.agents.core.model import ModelRef
from portico.agents.core.spending import FIRST_MARGIN, learnt


@dataclass(frozen=True, slots=True)
class Margins:
    """Of this process; another learns it anew."""

    _known: dict[ModelRef, int] = field(default_factory=dict)

    def of(self, model: ModelRef, *, plain: bool) -> int:
        """Percent of our own count; `plain` says whether what is counted is ASCII."""
        return max(self._known.get(model, 0), FIRST_MARGIN[plain])

    def learn(self, model: ModelRef, counted: int, usage: Usage) -> None:
        self._known[model] = learnt(self._known.get(model, 0), counted, usage)
