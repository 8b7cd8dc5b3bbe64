"""Whoever can be asked, by whichever protocol they speak."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from portico.adapters.models.connections import Connections
from portico.adapters.models.ollama import OllamaModels
from portico.adapters.models.provider import ProviderKind
from portico.agents.core.model_requests import ModelAsk, Piece
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal

if TYPE_CHECKING:
    from portico.adapters.models.layer import LayerModels


_LAYER: Final = "portico.adapters.models.layer"
_STEPS: Final = ("pydantic_ai.messages", "pydantic_ai.models", _LAYER)
_BREATH: Final = 0.2
"""Seconds between two of them, in which everybody else has the interpreter to themselves."""
_LOADING: Final = threading.Lock()


def load_ahead() -> threading.Thread:
    """The library, before anybody is asked by it: else the first answer would pay for it, and be
    late. In a thread that nobody waits for, also not whoever ends the process. It is not made
    nicer than others: one that waits for its turn while it has the interpreter holds up all."""
    thread = threading.Thread(target=_load, name="model library", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    with suppress(ImportError):  # whoever asks a model is told
        for each in _STEPS:
            _imported(each)
            time.sleep(_BREATH)


def _imported(name: str) -> ModuleType:
    """By one thread at a time: two that come into a library at two of its doors meet modules that
    are only half there."""
    with _LOADING:
        return import_module(name)


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
            layer = await asyncio.to_thread(_imported, _LAYER)
            self._loaded.append(layer.LayerModels(self.clock, self.entropy))
        return self._loaded[0]
