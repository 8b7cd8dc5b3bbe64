"""The ways to all providers: each with a client of its own, and its key as it is now."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx2

from portico.adapters.models.connection import Connection
from portico.adapters.models.provider import Provider
from portico.agents.core.errors import ModelKeyMissing, ProviderNotFound
from portico.guard.core.secrets import SecretRef, SecretsUnavailable, Source
from portico.kernel.principal import Principal

_KEY_GOOD_FOR: Final = 10.0
"""Seconds: a keyring or a file is not asked before each question, and yet soon enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    providers: Mapping[str, Provider]
    client: Callable[[Provider], httpx2.AsyncClient]
    key: Callable[[str, SecretRef], str | None]
    """By space. It waits, so it is called in a thread; raises `SecretsUnavailable`."""
    learn: Callable[[str], None]
    """What must never be told."""
    _clients: dict[str, httpx2.AsyncClient] = field(default_factory=dict)
    _keys: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def provider(self, name: str) -> Provider:
        """Raises `ProviderNotFound`."""
        found = self.providers.get(name)
        if found is None:
            raise ProviderNotFound(name, sorted(self.providers))
        return found

    async def to(self, caller: Principal, name: str) -> Connection:
        """Raises `ProviderNotFound`, `ModelKeyMissing`."""
        provider = self.provider(name)
        key = None if provider.key is None else await self._key(caller, provider, provider.key)
        if name not in self._clients:
            self._clients[name] = self.client(provider)
        return Connection(provider, self._clients[name], key)

    async def _key(self, caller: Principal, provider: Provider, ref: SecretRef) -> str:
        now = asyncio.get_running_loop().time()
        place = (str(caller.space) if ref.source is Source.SECRET else "", str(ref))
        at, known = self._keys.get(place, (0.0, None))
        if known is not None and now - at < _KEY_GOOD_FOR:
            return known
        try:
            found = await asyncio.to_thread(self.key, str(caller.space), ref)
        except SecretsUnavailable as error:
            raise ModelKeyMissing(provider.name, str(ref)) from error
        if found is None:
            raise ModelKeyMissing(provider.name, str(ref))
        self.learn(found)
        self._keys[place] = (now, found)
        return found

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
