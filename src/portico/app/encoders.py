"""Encoders: those in the cache folder, and the one in the settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx2

from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.embeddings.encoders import EncoderFolder
from portico.adapters.embeddings.pull import ADAPTER, LARGEST, Progress, PullEncoder, PullRequest
from portico.adapters.embeddings.sentence_encoders import (
    EncoderChoice,
    Endpoint,
    RemoteEmbedder,
    open_encoder,
)
from portico.adapters.embeddings.static_table import StaticTable
from portico.app.app_context import AppContext
from portico.gateway.core.search_text import EmbeddingModel, StoredEncoder
from portico.interfaces.cli.services import EncoderOrder
from portico.settings.load import process_environment

# Encoders as the command line knows them: those in the cache folder, and the one in the settings.
#
# Used by commands and by the server alike, so that what `status` has tried is what search will use.

_VECTORS: Final = Bounds(seconds=None, largest=100_000_000, redirects=0)
"""How long it may take is for whoever asks: a model on this machine may be slow."""
_A_MODEL: Final = Bounds(seconds=3600, largest=LARGEST, redirects=5)


@dataclass(frozen=True)
class AppEncoders:
    app: AppContext

    @property
    def folder(self) -> Path:
        return self.app.loaded.paths.models

    @property
    def shelf(self) -> EncoderFolder:
        return EncoderFolder(self.folder)

    def stored(self) -> Sequence[StoredEncoder]:
        return self.shelf.stored()

    def pull(self, order: EncoderOrder, progress: Progress) -> StoredEncoder:
        hub = self.app.loaded.settings.embeddings.hub
        pull = PullEncoder(shelf=self.shelf, client=partial(_client, hub, _A_MODEL), hub=hub)
        wanted = PullRequest(
            source=order.source,
            name=order.name,
            revision=order.revision,
            change=None if order.plain else ADAPTER,
        )
        return pull(wanted, progress)

    def client(self, url: str | None = None) -> httpx2.AsyncClient:
        """For the server of vectors that the settings name, or the one at `url`."""
        return _client(url or self.app.loaded.settings.embeddings.url, _VECTORS)

    async def tried(self, encoder: str) -> EmbeddingModel:
        async with self.client() as client:
            found = open_encoder(self.wanted(encoder), client) or StaticTable()
            await found.embed(["Search the web for pages about gardens."])
            return found.model

    async def ask_dimensions(self, url: str, model: str, key_variable: str | None) -> int:
        timeout = self.app.loaded.settings.embeddings.timeout
        there = Endpoint(
            url=url, model=model, dimensions=0, key=self._key(key_variable), timeout=timeout
        )
        async with self.client(url) as client:
            return await RemoteEmbedder(client, there).ask_dimensions()

    def wanted(self, encoder: str | None = None) -> EncoderChoice:
        """What the settings say, or `encoder` instead of theirs."""
        told = self.app.loaded.settings.embeddings
        endpoint = None
        if told.url is not None and told.model is not None and told.dimensions is not None:
            endpoint = Endpoint(
                url=told.url,
                model=told.model,
                dimensions=told.dimensions,
                key=self._key(told.key_variable),
                timeout=told.timeout,
            )
        return EncoderChoice(encoder=encoder or told.encoder, shelf=self.shelf, endpoint=endpoint)

    def _key(self, variable: str | None) -> str | None:
        """Learnt before it is used, so that no log can tell it."""
        key = process_environment().get(variable) if variable else None
        if key:
            self.app.secrets.learn(key)
        return key or None


def _client(url: str | None, bounds: Bounds) -> httpx2.AsyncClient:
    """What the user wrote is an entry for exactly its host and port."""
    if url is None:
        return guarded_client(bounds=bounds)
    return guarded_client(allow=[written(url)], bounds=bounds, proxied=httpx2.URL(url))
