"""Vectors by a sentence encoder in a folder of this machine, run by onnxruntime on one thread.

A text is run by itself: that takes less than half the time of a padded batch, and its vector does
not depend on its neighbours, whose range the rounding of a batch would share.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from portico.adapters.embeddings.encoder_folder import (
    MODEL,
    TOKENIZER,
    Page,
    Pooling,
    check_files,
    read_page,
)
from portico.adapters.embeddings.errors import EncoderDamaged, RuntimeMissing
from portico.adapters.embeddings.texts import readable
from portico.gateway.core.search_text import EmbeddingModel

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_AT_ONCE: Final = 16
"""Texts between two moments at which somebody else may have the thread, or it may be given up."""
_MOST_CHARACTERS: Final = 20_000
"""Cut before the tokens are counted, which takes time by the length of the text."""


class OnnxEncoder:
    """Nothing is loaded before it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._page = read_page(folder)
        self._lock = Lock()
        self._loaded: _Loaded | None = None

    @property
    def model(self) -> EmbeddingModel:
        return self._page.model

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderUnavailable`."""
        vectors = np.zeros((len(texts), self._page.dimensions), np.float32)
        for start in range(0, len(texts), _AT_ONCE):
            part = texts[start : start + _AT_ONCE]
            vectors[start : start + len(part)] = await asyncio.to_thread(self.embed_now, part)
        return vectors

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._page.dimensions), np.float32)
        for place, text in enumerate(texts):
            if told := readable(text, _MOST_CHARACTERS):
                vectors[place] = self._ready().vector(told)
        return vectors

    def _ready(self) -> "_Loaded":
        with self._lock:
            if self._loaded is None:
                self._loaded = _Loaded(self._folder, self._page)
            return self._loaded


class _Loaded:
    def __init__(self, folder: Path, page: Page) -> None:
        check_files(folder, page)
        self._page = page
        self._tokenizer = _tokenizer(folder, page)
        self._session = _session(folder, page)
        self._inputs = {each.name for each in self._session.get_inputs()}

    def vector(self, text: str) -> NDArray[np.float32]:
        ids = self._tokenizer.encode(text).ids
        given = {name: array for name, array in _given(ids) if name in self._inputs}
        [vector] = _pooled(self._run(given), self._page.pooling)
        if vector.shape != (self._page.dimensions,):
            raise EncoderDamaged(
                self._page.name, f"it gives {vector.shape}, not {self._page.dimensions} numbers"
            )
        length = np.linalg.norm(vector)
        return np.asarray(vector / length if length > 0 else vector, np.float32)

    def _run(self, given: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        try:
            found = self._session.run(None, dict(given))
        except Exception as error:  # the library's errors have no common ancestor
            raise EncoderDamaged(self._page.name, f"it cannot be run ({error})") from error
        return np.asarray(found[0], np.float32)


def _given(ids: Sequence[int]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    yield "input_ids", np.array([ids], np.int64)
    yield "attention_mask", np.ones((1, len(ids)), np.int64)
    yield "token_type_ids", np.zeros((1, len(ids)), np.int64)


def _pooled(found: NDArray[np.float32], pooling: Pooling) -> NDArray[Any]:
    if pooling == "graph" or found.ndim != 3:
        return found
    return found[:, 0] if pooling == "first" else found.mean(axis=1)


def _tokenizer(folder: Path, page: Page) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises nothing more exact
        raise EncoderDamaged(page.name, f"{TOKENIZER} cannot be read ({error})") from error
    tokenizer.enable_truncation(page.max_tokens)
    tokenizer.no_padding()
    return tokenizer


def _session(folder: Path, page: Page) -> "InferenceSession":
    try:
        import onnxruntime  # noqa: PLC0415 # optional, and heavy
    except ImportError as error:
        raise RuntimeMissing from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(folder / MODEL), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library's errors have no common ancestor
        raise EncoderDamaged(page.name, f"{MODEL} cannot be loaded ({error})") from error
