"""Vectors by a server elsewhere that speaks OpenAI's `/v1/embeddings`: Ollama, vLLM, a vendor."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from portico.adapters.embeddings.errors import RemoteRefused
from portico.adapters.embeddings.texts import readable
from portico.gateway.core.search_text import REMOTE, EmbeddingModel, fingerprint
from portico.kernel.redaction import blacked_out
from portico.sandbox.core.errors import AddressRefused

_MOST_CHARACTERS: Final = 8_000
"""Longer texts are cut: servers differ in whether they cut or refuse."""
_AT_ONCE: Final = 64
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
        told = fingerprint(there.url, there.model, str(there.dimensions), str(_MOST_CHARACTERS))
        return EmbeddingModel(f"{REMOTE}:{there.model}", there.dimensions, told)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `RemoteRefused`."""
        vectors = np.zeros((len(texts), self._endpoint.dimensions), np.float32)
        told = [readable(text, _MOST_CHARACTERS) for text in texts]
        places = [place for place, text in enumerate(told) if text]
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
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
