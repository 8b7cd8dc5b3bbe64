"""Build the search index, and encode queries."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search import SearchIndex, texts_to_index
from portico.gateway.core.search_scoring import ENCODER, STATIC
from portico.gateway.core.search_text import ToolText, content_key
from portico.gateway.ports import Embedder, Vectors
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

Floats = NDArray[np.float32]

_AT_ONCE: Final = 64
"""Texts that an encoder is given at a time, and whose vectors are kept as soon as they are made:
a process that ends in between has not worked for nothing."""


@dataclass(frozen=True, slots=True)
class Finder:
    snapshot: CatalogSnapshot
    indexed: CatalogSnapshot
    """What the indexes were made of: the shelf, or one that came before it."""
    live: SearchIndex
    waiting: SearchIndex
    """What may not be found: only ever asked for the names of servers."""
    static: Mapping[str, Floats]
    """By text: most are needed again when a tool changes."""
    complete: bool
    """With every vector that there is to be."""

    allowed: NDArray[np.bool_] | None = None
    """Which of the tools of `live` are still on the shelf; None for all of them."""

    def on(self, shelf: CatalogSnapshot) -> "Finder":
        """The same, over a newer shelf: what is not on it any more is not found."""
        if shelf is self.snapshot:
            return self
        here = (ToolRef.parse(tool.ref) in shelf.tools for tool in self.live.tools)
        return replace(
            self, snapshot=shelf, allowed=np.fromiter(here, np.bool_, len(self.live.tools))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildIndex:
    static: Embedder
    """Makes a vector in less time than it would take to read it from anywhere: these are kept
    in memory only."""
    encoder: Embedder | None
    vectors: Vectors
    stem: Callable[[str], str]

    async def __call__(
        self, caller: Principal, shelf: CatalogSnapshot, before: Finder | None
    ) -> Finder:
        """With what is there at once: the words, the static vectors, and those of the encoder if
        every one of them was made before."""
        live, hidden = await asyncio.to_thread(_texts, shelf)
        texts = await asyncio.to_thread(texts_to_index, live)
        unseen = (await asyncio.to_thread(texts_to_index, hidden))[STATIC]
        static = await self._static([*texts[STATIC], *unseen], before)
        vectors = {STATIC: _rows(texts[STATIC], static, self.static)}
        known = await self._known(caller, texts[ENCODER])
        if self.encoder is not None and len(known) == len(set(texts[ENCODER])):
            vectors[ENCODER] = _rows(texts[ENCODER], known, self.encoder)
        old = (None, None) if before is None else (before.live, before.waiting)
        return Finder(
            shelf,
            shelf,
            await self._index(live, vectors, old[0]),
            await self._index(hidden, {STATIC: _rows(unseen, static, self.static)}, old[1]),
            static,
            complete=self.encoder is None or ENCODER in vectors,
        )

    async def whole(self, caller: Principal, finder: Finder) -> Finder:
        """With the encoder's vectors too, made now where they are missing; without, if it cannot
        be reached."""
        if self.encoder is None or finder.complete:
            return finder
        tools = finder.live.tools
        texts = texts_to_index(tools)
        try:
            made = await self._made(caller, self.encoder, texts[ENCODER])
        except EmbedderUnavailable:
            return finder
        vectors = {
            STATIC: _rows(texts[STATIC], finder.static, self.static),
            ENCODER: _rows(texts[ENCODER], made, self.encoder),
        }
        live = await self._index(tools, vectors, finder.live)
        return replace(finder, live=live, complete=True)

    async def _index(
        self,
        tools: Sequence[ToolText],
        vectors: Mapping[str, Floats],
        before: SearchIndex | None,
    ) -> SearchIndex:
        return await asyncio.to_thread(
            SearchIndex.build, tools, vectors, stem=self.stem, reuse=before
        )

    async def _static(self, texts: Iterable[str], before: Finder | None) -> Mapping[str, Floats]:
        old = {} if before is None else before.static
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in old]
        made = dict(zip(new, await self.static.embed(new), strict=True)) if new else {}
        return {text: made[text] if text in made else old[text] for text in wanted}

    async def _known(self, caller: Principal, texts: Sequence[str]) -> Mapping[str, Floats]:
        if self.encoder is None:
            return {}
        model = self.encoder.model
        keys = {content_key(model, text): text for text in dict.fromkeys(texts)}
        found = await self.vectors.get(caller, model.fingerprint, [*keys])
        return {keys[key]: vector for key, vector in found.items()}

    async def _made(
        self, caller: Principal, encoder: Embedder, texts: Sequence[str]
    ) -> Mapping[str, Floats]:
        found = dict(await self._known(caller, texts))
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        model = encoder.model
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            made = dict(zip(some, await encoder.embed(some), strict=True))
            kept = {content_key(model, text): vector for text, vector in made.items()}
            await self.vectors.put(caller, model.fingerprint, kept)
            found |= made
        return found


def _rows(texts: Sequence[str], vectors: Mapping[str, Floats], embedder: Embedder) -> Floats:
    if not texts:
        return np.zeros((0, embedder.model.dimensions), np.float32)
    return np.stack([vectors[text] for text in texts])


def _texts(shelf: CatalogSnapshot) -> tuple[list[ToolText], list[ToolText]]:
    live = [_text(shelf, ref, tool.definition) for ref, tool in shelf.tools.items()]
    hidden = [_text(shelf, ref, tool.definition) for ref, (_, tool) in shelf.waiting.items()]
    return live, hidden


def _text(shelf: CatalogSnapshot, ref: ToolRef, definition: Definition) -> ToolText:
    properties = definition.input_schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    return ToolText(
        ref=str(ref),
        server=ref.server,
        name=ref.name,
        description=f"{definition.title} {definition.description}".strip(),
        parameters=tuple((name, _described(schema)) for name, schema in named.items()),
        about_server=shelf.servers[ref.server].said,
    )


def _described(schema: object) -> str:
    told = schema.get("description") if isinstance(schema, Mapping) else None
    return told if isinstance(told, str) else ""


_log: Final = logging.getLogger("portico.gateway")

_REST: Final = timedelta(seconds=30)
"""For which an encoder that did not answer is left alone, so that one search has waited for it and
not each of them."""


@dataclass(slots=True, kw_only=True)
class EncodeQuery:
    encoder: Embedder
    clock: Clock
    wait_timeout: timedelta = timedelta(seconds=5)
    _rests_until: datetime | None = None

    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """None if it does not answer, or has not a short while ago."""
        if self._rests_until is not None and self.clock.now() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(self.wait_timeout.total_seconds()):
                return await self.encoder.embed(texts)
        except EmbedderUnavailable as error:
            self._rest(str(error))
        except TimeoutError:
            self._rest(f"it did not answer within {self.wait_timeout.total_seconds():g} s")
        return None

    def _rest(self, reason: str) -> None:
        self._rests_until = self.clock.now() + _REST
        _log.warning("search does without its encoder for a while: %s", reason)
