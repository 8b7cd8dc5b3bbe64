"""Whoever can be asked, by whichever protocol they speak."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from portico.adapters.models.connections import Connections
from portico.adapters.models.ollama import OllamaModels
from portico.adapters.models.provider import ProviderKind
from portico.agents.core.asking import ModelAsk, Piece
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal

if TYPE_CHECKING:
    from portico.adapters.models.layer import LayerModels


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    connections: Connections
    ollama: OllamaModels
    clock: Clock
    entropy: Entropy
    _loaded: "list[LayerModels]" = field(default_factory=list)

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[Piece, None]:
        there = await self.connections.to(caller, ask.model.provider)
        if there.provider.kind is ProviderKind.OLLAMA:
            pieces = self.ollama.ask(there, ask)
        else:
            pieces = (await self._layer()).ask(there, ask)
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _layer(self) -> "LayerModels":
        """In a thread, since loading it takes seconds; once, since even going there takes time."""
        if not self._loaded:
            layer = await asyncio.to_thread(import_module, "portico.adapters.models.layer")
            self._loaded.append(layer.LayerModels(self.clock, self.entropy))
        return self._loaded[0]
