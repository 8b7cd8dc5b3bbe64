"""Vectors that took long to make, kept on disk by the model and the texts that they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from portico.bench.search import Embeds
from portico.gateway.core.search_text import fingerprint


@dataclass(frozen=True, slots=True)
class KeptVectors:
    folder: Path

    def of(self, embedder: Embeds, texts: Sequence[str]) -> NDArray[np.float32]:
        file = self.folder / f"{fingerprint(embedder.model.fingerprint, *texts)}.npy"
        if file.exists():
            kept: NDArray[np.float32] = np.load(file, allow_pickle=False)
            return kept
        made = embedder.embed_now(texts)
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(".part.npy")
        np.save(fresh, made)
        fresh.replace(file)
        return made
