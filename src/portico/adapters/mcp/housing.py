"""Where a server of ours lives: in a box, or in none if somebody has agreed to that."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from portico.adapters.mcp.resolve import Command
from portico.adapters.mcp.streamable import Spawn
from portico.gateway.core.calls import Target
from portico.sandbox.requests import Cell

Room = AbstractAsyncContextManager[Cell]


class Confine(Protocol):
    async def cell(
        self, target: Target, command: Command, environment: Mapping[str, str]
    ) -> Room | None:
        """For one start of a process, with exactly this environment beside what the box adds; None
        if it is to run without. To enter it raises `BoxUnavailable`, `BadProfile`, and `OSError`
        if there is nothing to start."""
        ...


class Lodging:
    """A cell from its beginning to its end. Whoever starts a server is not the one who ends it,
    and a room must be left by whoever has entered it: a task of its own does both."""

    def __init__(self, room: Room, spawn: Spawn) -> None:
        self._room = room
        self._entered: asyncio.Future[Cell] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._cell: Cell | None = None
        self._stay = spawn(self._live())
        self._stay.add_done_callback(self._not_entered)

    async def enter(self) -> Cell:
        """Raises what entering raises."""
        try:
            return await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._over.set()
            raise

    @property
    def refused(self) -> Sequence[str]:
        """Of its cell."""
        return () if self._cell is None else self._cell.refused

    async def leave(self) -> None:
        self._over.set()
        await asyncio.wait([self._stay])

    async def _live(self) -> None:
        try:
            async with self._room as cell:
                self._cell = cell
                self._entered.set_result(cell)
                await self._over.wait()
        except Exception as error:
            if self._entered.done():
                raise
            self._entered.set_exception(error)

    def _not_entered(self, _stay: "asyncio.Task[None]") -> None:
        """It was cancelled before there was anything to enter."""
        self._entered.cancel()
