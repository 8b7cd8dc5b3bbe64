"""What speaks for each tool: a row for each text of the question, a column for each tool."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.abstain import Signs
from portico.gateway.core.search.fusion import ENCODER, LEXICAL, NAMES, STATIC

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Evidence:
    rows: Mapping[str, Floats]
    server: Floats | None
    """How far a tool's server stands out, where servers say anything of themselves."""
    wanted: Floats
    """How much there is to be met in each text: the rarity of all of its words."""
    stretch: Mapping[str, float]
    """By model: what its cosines were multiplied with."""

    @property
    def models(self) -> frozenset[str]:
        return frozenset(self.rows) & {STATIC, ENCODER}

    @property
    def best_model(self) -> str | None:
        return next((model for model in (ENCODER, STATIC) if model in self.rows), None)

    def similarity(self, row: int, column: int) -> float:
        """The cosine, by the best model at hand; nought without one."""
        best = self.best_model
        return 0.0 if best is None else float(self.rows[best][row, column]) / self.stretch[best]

    def of_models(self, models: frozenset[str]) -> "Evidence":
        """As if the other models were not at hand."""
        missing = {STATIC, ENCODER} - models
        gone = missing | ({NAMES} if STATIC in missing else set())
        kept = {name: rows for name, rows in self.rows.items() if name not in gone}
        return replace(self, rows=kept)

    def among(self, tools: NDArray[np.int64]) -> "Evidence":
        """Of these tools only, as if there were no others."""
        kept = {name: rows[:, tools] for name, rows in self.rows.items()}
        server = None if self.server is None else self.server[:, tools]
        return replace(self, rows=kept, server=server)

    def signs(self, log_odds: Floats) -> Signs:
        top = log_odds.argmax(axis=1)
        words = self.rows[LEXICAL][np.arange(len(top)), top]
        return Signs(
            top=log_odds.max(axis=1),
            met=words / np.maximum(self.wanted, 1),
            nearest=words * 0
            if self.best_model is None
            else self.rows[self.best_model].max(axis=1),
        )
