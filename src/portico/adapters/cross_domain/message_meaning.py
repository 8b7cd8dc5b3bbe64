"""What messages mean, by the table of words that goes with every installation.

Never by a server elsewhere, whichever encoder tools are found by: what is said on the bridge may be
more secret than anything that leaves this machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.ports import Embedder


@dataclass(frozen=True, slots=True)
class MessageMeaning:
    """The bridge's `Meaning`."""

    table: Embedder

    @property
    def model(self) -> str:
        """Vectors of another are not compared with its own. Raises `EmbedderUnavailable`."""
        return self.table.model.fingerprint

    async def __call__(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Raises `EmbedderUnavailable`."""
        vectors = await self.table.embed(texts)
        return [[float(number) for number in vector] for vector in vectors]
