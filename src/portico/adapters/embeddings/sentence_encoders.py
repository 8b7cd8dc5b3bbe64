"""Sentence encoders: one of this machine by onnxruntime, or a server's `/v1/embeddings`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Final

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from tokenizers import Tokenizer

from portico.adapters.embeddings.encoders import (
    MODEL,
    TOKENIZER,
    EncoderDamaged,
    EncoderFolder,
    Page,
    Pooling,
    RemoteRefused,
    RuntimeMissing,
    check_files,
    read_page,
    readable,
)
from portico.gateway.core.search_text import REMOTE, STATIC, EmbeddingModel, fingerprint
from portico.gateway.ports import Embedder
from portico.kernel.redaction import blacked_out
from portico.sandbox.core.errors import AddressRefused

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Vectors by a sentence encoder in a folder of this machine, run by onnxruntime on one thread.
#
# A text is run by itself: that takes less than half the time of a padded batch, and its vector does
# not depend on its neighbours, whose range the rounding of a batch would share.

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


# Vectors by a server elsewhere that speaks OpenAI's `/v1/embeddings`: Ollama, vLLM, a vendor.

_REMOTE_MOST_CHARACTERS: Final = 8_000
"""Longer texts are cut: servers differ in whether they cut or refuse."""
_REMOTE_AT_ONCE: Final = 64
_TRIES: Final = 4
_LONGEST_WAIT: Final = 30.0
_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})

Sleep = Callable[[float], Awaitable[None]]


class _Row(BaseModel):
    index: int
    embedding: Annotated[list[float], Field(min_length=1)]


class _Answer(BaseModel):
    data: list[_Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    url: str
    """Up to and with `/v1`."""
    model: str
    dimensions: int
    key: str | None = None
    timeout: float = 30.0

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self.url}, {self.model}, {self.dimensions})"


class RemoteEmbedder:
    def __init__(
        self, client: httpx2.AsyncClient, endpoint: Endpoint, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._sleep = sleep

    @property
    def model(self) -> EmbeddingModel:
        """Whether the server still has the same weights behind the name, it alone knows."""
        there = self._endpoint
        told = fingerprint(
            there.url, there.model, str(there.dimensions), str(_REMOTE_MOST_CHARACTERS)
        )
        return EmbeddingModel(f"{REMOTE}:{there.model}", there.dimensions, told)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `RemoteRefused`."""
        vectors = np.zeros((len(texts), self._endpoint.dimensions), np.float32)
        told = [readable(text, _REMOTE_MOST_CHARACTERS) for text in texts]
        places = [place for place, text in enumerate(told) if text]
        for start in range(0, len(places), _REMOTE_AT_ONCE):
            part = places[start : start + _REMOTE_AT_ONCE]
            vectors[part] = self._as_long_as_said(await self._vectors([told[n] for n in part]))
        return vectors

    async def ask_dimensions(self) -> int:
        """How many numbers a vector of this server has. Raises `RemoteRefused`."""
        [vector] = await self._vectors(["How long is a vector?"])
        return len(vector)

    async def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._read(await self._ask(texts), len(texts))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise RemoteRefused(f"{self._endpoint.url} gave a vector that has no direction.")
        return np.asarray(vectors / lengths, np.float32)

    async def _ask(self, texts: Sequence[str]) -> httpx2.Response:
        for tried in range(1, _TRIES + 1):
            last = tried == _TRIES
            try:
                answer = await self._post(texts)
            except httpx2.TransportError as error:
                if last:
                    raise RemoteRefused(
                        f"{self._endpoint.url} does not answer: {error}."
                    ) from error
                await self._sleep(_pause(tried, None))
                continue
            if answer.status_code not in _BUSY or last:
                break
            await self._sleep(_pause(tried, answer.headers.get("retry-after")))
        return answer

    async def _post(self, texts: Sequence[str]) -> httpx2.Response:
        there = self._endpoint
        try:
            return await self._client.post(
                f"{there.url.rstrip('/')}/embeddings",
                json={"model": there.model, "input": list(texts), "encoding_format": "float"},
                headers={} if there.key is None else {"Authorization": f"Bearer {there.key}"},
                timeout=there.timeout,
            )
        except (AddressRefused, httpx2.DecodingError) as error:
            raise RemoteRefused(f"{there.url} gives no answer that is read: {error}.") from error

    def _read(self, answer: httpx2.Response, count: int) -> NDArray[np.float32]:
        there = self._endpoint
        if answer.status_code != httpx2.codes.OK:
            said = blacked_out(" ".join(answer.text[:300].split()))
            raise RemoteRefused(f"{there.url} answers {answer.status_code}: {said or 'nothing'}.")
        try:
            rows = sorted(_Answer.model_validate_json(answer.content).data, key=_place)
            vectors = np.array([row.embedding for row in rows], np.float32)
        except ValueError as error:
            raise RemoteRefused(f"{there.url} answers with something else than vectors.") from error
        if [row.index for row in rows] != list(range(count)):
            raise RemoteRefused(f"{there.url} was asked for {count} vectors, and gave others.")
        return vectors

    def _as_long_as_said(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        there = self._endpoint
        if vectors.shape[1] != there.dimensions:
            raise RemoteRefused(
                f"{there.model} gives {vectors.shape[1]} numbers a vector, "
                f"and embeddings.dimensions says {there.dimensions}.",
                fix="Ask it again: portico embeddings use remote",
            )
        return vectors


def _place(row: _Row) -> int:
    return row.index


def _pause(tried: int, asked: str | None) -> float:
    """What the server asked for in seconds, if it is a number; else longer each time."""
    try:
        wanted = float(asked) if asked is not None else 0.25 * 2**tried
    except ValueError:  # a date; waiting as if nothing had been said is near enough
        wanted = 0.25 * 2**tried
    return min(max(wanted, 0.0), _LONGEST_WAIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderChoice:
    """The user's choice, in this adapter's words."""

    encoder: str
    shelf: EncoderFolder
    endpoint: Endpoint | None = None


def open_encoder(wanted: EncoderChoice, client: httpx2.AsyncClient) -> Embedder | None:
    """None if the table of words is to be enough. Raises `EmbedderUnavailable`."""
    if wanted.encoder == STATIC:
        return None
    if wanted.encoder == REMOTE and wanted.endpoint is not None:
        return RemoteEmbedder(client, wanted.endpoint)
    return OnnxEncoder(wanted.shelf.find(wanted.encoder))
