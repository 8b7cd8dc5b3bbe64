"""An encoder elsewhere that answers at once, late, or not at all."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.embedding import EmbeddingModel
from portico.gateway.core.errors import EmbedderUnavailable


class SlowEncoder:
    model = EmbeddingModel("slow", 8, "of the test")

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.away = False
        self.begun = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(texts)
        self.begun.set()
        await self.answers.wait()
        if self.away:
            raise EmbedderUnavailable("It is away.")
        return np.full((len(texts), 8), 8**-0.5, np.float32)
