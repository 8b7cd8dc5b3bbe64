"""The walls that the gateway tells of: what there is, and what a launch comes to."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from portico.adapters.sandbox.grants import Bounds, granted
from portico.adapters.sandbox.server_cells import Find
from portico.adapters.sandbox.surroundings import Looking
from portico.gateway.core.servers import Stdio
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.core.profile import Order, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWalls:
    """Implements `Walls`."""

    find: Find
    looking: Looking
    bounds: Bounds
    lacks: Callable[[], bool]
    """Whether this machine was found to have no box at all."""
    named: Collection[str] = ()

    async def lacking(self) -> bool:
        return not await self.offered() and self.lacks()

    async def offered(self) -> bool:
        try:
            await self.find()
        except BoxUnavailable:
            return False
        return True

    @property
    def home(self) -> str:
        return self.looking.reserved.home

    async def default(self, launch: Stdio) -> Profile:
        return await asyncio.to_thread(self.looking.default, launch)

    async def check(self, profile: Profile) -> Profile:
        return await asyncio.to_thread(self._checked, profile)

    def _checked(self, profile: Profile) -> Profile:
        grants = granted(Order(program="/", profile=profile), self.bounds)
        for each in grants:
            if each.writable:
                self._check_ours(each.real)
        return replace(
            profile,
            read=tuple(each.real for each in grants if not each.writable),
            write=tuple(each.real for each in grants if each.writable),
        )

    def _check_ours(self, path: str) -> None:
        """Whoever could change us would be out of the box with our next start."""
        if self.looking.reserved.holds_ours(path):
            raise BadProfile(f"{path!r} holds something that is Portico's own")
