"""A way to one provider: its address, a client that reaches it and nothing else, and its key."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from portico.adapters.models.provider import Provider, ProviderKind


@dataclass(frozen=True, slots=True)
class Connection:
    provider: Provider
    client: httpx2.AsyncClient
    key: str | None = None

    @property
    def authorization(self) -> Mapping[str, str]:
        """What is sent with a request of our own."""
        if self.key is None:
            return {}
        if self.provider.kind is ProviderKind.ANTHROPIC:
            return {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
        return {"Authorization": f"Bearer {self.key}"}

    def __repr__(self) -> str:
        """Without the key."""
        return f"Connection({self.provider.name}, {self.provider.url})"
