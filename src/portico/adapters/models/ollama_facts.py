"""What an Ollama server says of itself and of a model, remembered for a while."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from portico.adapters.models.connection import Connection
from portico.adapters.models.ollama_wire import Shown, Version
from portico.sandbox.core.errors import AddressRefused

_GOOD_FOR: Final = timedelta(minutes=5)
_PATIENCE: Final = 10.0

Wire = TypeVar("Wire", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    limit: int | None = None
    """Tokens that the model can have at most, by itself and by what the settings say."""
    thinks: bool = False
    counts_cached: bool = True


@dataclass(frozen=True, slots=True)
class OllamaFacts:
    _known: dict[tuple[str, str], tuple[float, Facts]] = field(default_factory=dict)

    async def of(self, there: Connection, model: str) -> Facts:
        """Whatever it does not say is taken as unknown: to ask the model itself will tell."""
        place, now = (there.provider.url, model), asyncio.get_running_loop().time()
        at, known = self._known.get(place, (0.0, None))
        if known is not None and now - at < _GOOD_FOR.total_seconds():
            return known
        shown = await show(there, model)
        version = await _answer(there, "GET", "/api/version", Version)
        window = None if shown is None else shown.window
        facts = Facts(
            limit=min(filter(None, (window, there.provider.window)), default=None),
            thinks=shown is not None and shown.can("thinking") is True,
            counts_cached=version is None or version.counts_cached,
        )
        if shown is not None:
            self._known[place] = (now, facts)
        return facts


async def show(there: Connection, model: str) -> Shown | None:
    return await _answer(there, "POST", "/api/show", Shown, {"model": model})


async def _answer(
    there: Connection, method: str, path: str, wire: type[Wire], body: dict[str, str] | None = None
) -> Wire | None:
    try:
        answer = await there.client.request(
            method,
            f"{there.provider.url}{path}",
            json=body,
            headers=there.authorization,
            timeout=_PATIENCE,
        )
        if answer.status_code != httpx2.codes.OK:
            return None
        return wire.model_validate_json(answer.content)
    except (httpx2.HTTPError, AddressRefused, ValidationError):
        return None
