"""MiniLM in torch: frozen, with two narrow trainable matrices beside each of its linear maps.

Numbers of 16 bits where that is enough: on processors with AMX that is six times as fast.
"""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from portico.adapters.embeddings.encoders import read_tensors

LAYERS, HEADS, WIDTH = 6, 12, 384
MAPS: Final = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_STRENGTH: Final = 2.0
_AT_ONCE: Final = 64


class Encoder(nn.Module):
    def __init__(self, folder: Path, *, rank: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        found = read_tensors(folder / "model.safetensors")
        self._exact = {name: torch.tensor(np.asarray(each)) for name, each in found.items()}
        self._short = {name: each.bfloat16() for name, each in self._exact.items()}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_padding()
        self.adapting = True
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name in (f"{layer}.{each}" for layer in range(LAYERS) for each in MAPS):
            outer, inner = self._exact[f"encoder.layer.{name}.weight"].shape
            key = name.replace(".", "/")
            self.down[key] = nn.Parameter(torch.randn(rank, inner) / sqrt(inner))
            self.up[key] = nn.Parameter(torch.zeros(outer, rank))

    def changes(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """What was learnt, by the name of the weight that it changes."""
        return {
            f"encoder.layer.{key.replace('/', '.')}.weight": (
                (_STRENGTH * self.up[key]).detach().numpy(),
                self.down[key].detach().numpy(),
            )
            for key in self.down
        }

    def embed(self, texts: Sequence[str], most_tokens: int) -> Tensor:
        """Long and short ones apart, so that less is filled up."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        half = len(order) // 2
        parts = [
            self._run([texts[place] for place in part], most_tokens)
            for part in (order[:half], order[half:])
            if part
        ]
        back = torch.argsort(torch.tensor(order))
        return torch.cat(parts)[back]

    @torch.no_grad()
    def vectors(self, texts: Sequence[str], most_tokens: int) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = np.zeros((len(texts), WIDTH), np.float32)
        for start in range(0, len(order), _AT_ONCE):
            part = order[start : start + _AT_ONCE]
            found[part] = self._run([texts[place] for place in part], most_tokens).numpy()
        return found

    def _run(self, texts: Sequence[str], most_tokens: int) -> Tensor:
        self._tokenizer.enable_truncation(most_tokens)
        encoded = self._tokenizer.encode_batch(list(texts))
        mask = torch.tensor([each.attention_mask for each in encoded]).float()
        hidden = self._words(torch.tensor([each.ids for each in encoded]))
        absent = ((1 - mask[:, None, None, :]) * -1e4).bfloat16()
        for layer in range(LAYERS):
            hidden = self._layer(hidden, absent, layer)
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(mean, dim=1)

    def _words(self, ids: Tensor) -> Tensor:
        part = "embeddings.{}_embeddings.weight".format
        words = self._exact[part("word")][ids]
        places = self._exact[part("position")][: ids.shape[1]]
        kind = self._exact[part("token_type")][0]
        return self._normed(words + places + kind, "embeddings.LayerNorm")

    def _layer(self, hidden: Tensor, absent: Tensor, layer: int) -> Tensor:
        here, short = f"encoder.layer.{layer}", hidden.bfloat16()
        count, length = hidden.shape[:2]
        query, key, value = (
            self._linear(short, f"{layer}.attention.self.{part}")
            .view(count, length, HEADS, -1)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        near = query @ key.transpose(-1, -2) / sqrt(WIDTH / HEADS) + absent
        mixed = (torch.softmax(near, -1) @ value).transpose(1, 2).reshape(count, length, WIDTH)
        attended = self._linear(mixed, f"{layer}.attention.output.dense").float() + hidden
        middle = self._normed(attended, f"{here}.attention.output.LayerNorm")
        inner = functional.gelu(self._linear(middle.bfloat16(), f"{layer}.intermediate.dense"))
        outer = self._linear(inner, f"{layer}.output.dense").float() + middle
        return self._normed(outer, f"{here}.output.LayerNorm")

    def _linear(self, values: Tensor, name: str) -> Tensor:
        whole, key = f"encoder.layer.{name}", name.replace(".", "/")
        plain = functional.linear(
            values, self._short[f"{whole}.weight"], self._short[f"{whole}.bias"]
        )
        if not self.adapting:
            return plain
        narrow = values @ self.down[key].T.bfloat16()
        return plain + narrow @ (_STRENGTH * self.up[key].T).bfloat16()

    def _normed(self, values: Tensor, name: str) -> Tensor:
        gain, shift = self._exact[f"{name}.weight"], self._exact[f"{name}.bias"]
        return functional.layer_norm(values.float(), (WIDTH,), gain, shift, 1e-12)
