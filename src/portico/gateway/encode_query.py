"""What a query means to the encoder, which is not waited for long, nor again and again."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.ports import Embedder
from portico.kernel.clock import Clock

_log: Final = logging.getLogger("portico.gateway")

_REST: Final = timedelta(seconds=30)
"""For which an encoder that did not answer is left alone, so that one search has waited for it and
not each of them."""


@dataclass(slots=True, kw_only=True)
class EncodeQuery:
    encoder: Embedder
    clock: Clock
    patience: timedelta = timedelta(seconds=5)
    _rests_until: datetime | None = None

    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """None if it does not answer, or has not a short while ago."""
        if self._rests_until is not None and self.clock.now() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await self.encoder.embed(texts)
        except EmbedderUnavailable as error:
            self._rest(str(error))
        except TimeoutError:
            self._rest(f"it did not answer within {self.patience.total_seconds():g} s")
        return None

    def _rest(self, reason: str) -> None:
        self._rests_until = self.clock.now() + _REST
        _log.warning("search does without its encoder for a while: %s", reason)
