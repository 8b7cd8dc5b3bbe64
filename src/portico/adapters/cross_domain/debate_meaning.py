"""How near answers are to each other, by the table of words that goes with every installation.

Never by a server elsewhere, as with messages: what is debated may be more secret than anything that
leaves this machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.ports import Embedder


@dataclass(frozen=True, slots=True)
class DebateMeaning:
    """The room's `Meaning`."""

    table: Embedder

    async def alike(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if not texts:
            return []
        try:
            vectors = await self.table.embed(texts)
        except EmbedderUnavailable:
            return []
        near = (vectors @ vectors.T).clip(-1.0, 1.0)
        return [[float(number) for number in row] for row in near]
