"""What is noted in passing is written down every so often, and once more at the end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from portico.kernel.errors import PorticoError


async def keep_written(
    every: timedelta,
    write_down: Callable[[], Awaitable[None]],
    at_the_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Until it is cancelled; what is noted by then is still written."""
    try:
        while True:
            await asyncio.sleep(every.total_seconds())
            await write_down()
    finally:
        with suppress(PorticoError):
            await asyncio.shield((at_the_end or write_down)())
