"""Vectors by looking words up in a table: wordllama's, as it lies in its installed package.

Its own loader looks for a folder that its wheel does not have, so the package is never imported.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from portico.adapters.embeddings.encoders import NotTensors, read_tensors, readable
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_text import STATIC, EmbeddingModel, fingerprint

TOKEN_WEIGHTS: Final = Path(__file__).with_name("token_weights.npy")
"""How much each token counts, learnt; without the file all count alike."""
_TABLE: Final = Path("weights", "l2_supercat_256.safetensors")
_TOKENS: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_MOST_CHARACTERS: Final = 20_000
_A_FEW: Final = 32
"""Texts that take less time than going to another thread would."""
_AT_ONCE: Final = 256
_A_WORD: Final = 24
"""Characters up to which a text is likely to come again: the words of questions do."""
_WORDS_KEPT: Final = 8192


class StaticTable:
    def __init__(self, folder: Path | None = None, weights: Path = TOKEN_WEIGHTS) -> None:
        self._folder = folder
        self._weights_file = weights
        self._loaded = False
        self._of_word = lru_cache(_WORDS_KEPT)(self._encoded)

    @cached_property
    def model(self) -> EmbeddingModel:
        """Raises `EmbedderUnavailable`."""
        weighting = _digest(self._weights_file) if self._weights_file.exists() else "alike"
        told = fingerprint(
            _digest(self._package / _TABLE),
            _digest(self._package / _TOKENS),
            weighting,
            f"weighted mean of {_MOST_CHARACTERS} characters",
        )
        return EmbeddingModel(STATIC, self.table.shape[1], told)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderUnavailable`."""
        if self._loaded and len(texts) <= _A_FEW:
            return self.embed_now(texts)
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        parts = [
            self._embed(texts[start : start + _AT_ONCE]) for start in range(0, len(texts), _AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.table.shape[1]), np.float32)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One gathering of rows for all of them, summed text by text."""
        found = [self.tokens(text) for text in texts]
        vectors = np.zeros((len(texts), self.table.shape[1]), np.float32)
        filled = [place for place, ids in enumerate(found) if ids]
        if filled:
            ids = np.concatenate([np.asarray(found[place]) for place in filled])
            starts = np.cumsum([0, *(len(found[place]) for place in filled[:-1])])
            rows = self.table[ids].astype(np.float32) * self._token_weights[ids, None]
            vectors[filled] = np.add.reduceat(rows, starts, axis=0)
        return _of_length_one(vectors)

    def tokens(self, text: str) -> tuple[int, ...]:
        return self._of_word(text) if len(text) <= _A_WORD else self._encoded(text)

    def _encoded(self, text: str) -> tuple[int, ...]:
        told = readable(text, _MOST_CHARACTERS)
        return tuple(self._tokenizer.encode(told, add_special_tokens=False).ids) if told else ()

    @cached_property
    def _package(self) -> Path:
        if self._folder is not None:
            return self._folder
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise EmbedderUnavailable(
                "The package wordllama is not installed.", fix="Run: pip install wordllama"
            )
        return Path(spec.origin).parent

    @cached_property
    def table(self) -> NDArray[np.float16]:
        file = self._package / _TABLE
        try:
            [table] = read_tensors(file).values()
        except (OSError, ValueError, NotTensors) as error:
            raise _broken(file, error) from error
        return table

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        file = self._package / _TOKENS
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises nothing more exact
            raise _broken(file, error) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _token_weights(self) -> NDArray[np.float32]:
        count = self.table.shape[0]
        if not self._weights_file.exists():
            return np.ones(count, np.float32)
        weights: NDArray[Any] = np.load(self._weights_file, allow_pickle=False)
        if weights.shape != (count,):
            raise _broken(self._weights_file, f"it has no weight for each of {count} tokens")
        return weights.astype(np.float32)


def _of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _broken(file, error) from error


def _broken(file: Path, reason: object) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"{file.name} of the package wordllama cannot be used: {reason}.",
        fix="Install it again: pip install --force-reinstall wordllama",
    )
