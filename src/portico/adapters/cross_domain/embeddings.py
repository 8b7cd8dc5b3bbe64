"""Embeddings of messages and answers, by the table of words in every installation."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.ports import Embedder

# What messages mean, by the table of words that goes with every installation.
#
# Never by a server elsewhere, whichever encoder tools are found by: what is said on the bridge may
# be more secret than anything that leaves this machine.


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


# How near answers are to each other, by the table of words that goes with every installation.
#
# Never by a server elsewhere, as with messages: what is debated may be more secret than anything
# that leaves this machine.


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
