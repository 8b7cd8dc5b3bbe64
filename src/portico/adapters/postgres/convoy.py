"""Several who want to write at the same moment go together: the first carries all that wait."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Convoy(Generic[Item]):
    """While one lot is written the next gathers, so that each waits for two writes at most."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: list[tuple[Item, asyncio.Future[None]]] = []
        self._turn = asyncio.Lock()

    async def carry(self, item: Item) -> None:
        """Written when this returns. Raises what writing raises, in all who went together."""
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (item, arrived)
        self._waiting.append(place)
        try:
            async with self._turn:
                if self._waiting and not arrived.done():
                    # Whoever carries the others may be called off: they must not be.
                    await asyncio.shield(self._go())
            await arrived
        finally:
            if place in self._waiting:  # called off before anybody went
                self._waiting.remove(place)

    async def _go(self) -> None:
        together, self._waiting = self._waiting, []
        try:
            await self._write([item for item, _ in together])
        except BaseException as error:  # noqa: BLE001 # it is raised in whoever waits
            for _, arrived in together:
                if not arrived.done():
                    arrived.set_exception(error)
                    arrived.exception()  # whoever has gone does not hear of it
        else:
            for _, arrived in together:
                if not arrived.done():
                    arrived.set_result(None)
