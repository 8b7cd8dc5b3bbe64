"""A cell for each start of a server: its own home, its own environment, what its profile says."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from portico.adapters.mcp.resolve import Command
from portico.adapters.sandbox.server_environment import fitted
from portico.adapters.sandbox.surroundings import Looking
from portico.gateway.core.calls import Target
from portico.gateway.core.launch import shown, written_out
from portico.gateway.core.servers import Hold, Stdio, hold_of
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.core.profile import Limits, Order, Profile
from portico.sandbox.requests import Box, Cell

_log: Final = logging.getLogger("portico.sandbox")
_AGREE: Final = "Or agree to run it without one: portico servers approve NAME --unboxed"

Find = Callable[[], Awaitable[Box]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCells:
    """Implements `Confine`."""

    find: Find
    """The box that is offered. Raises `BoxUnavailable`."""
    looking: Looking
    homes: Path
    limits: Limits
    lacks: Callable[[], bool]
    """Whether this machine was found to have no box at all."""
    named: Collection[str] = ()
    """What the configuration lets run without a box."""

    async def cell(
        self, target: Target, command: Command, environment: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Cell] | None:
        box, missing = await self._found()
        hold = hold_of(
            target.server,
            target.launch_pin,
            target.unboxed,
            offered=box is not None,
            lacking=box is None and self.lacks(),
            named=self.named,
        )
        if hold is Hold.UNBOXED:
            _log.warning(
                "the server %s is started WITHOUT A BOX, with all rights of Portico itself: %s",
                *(target.server, shown(target.launch)),
            )
            return None
        return self._boxed(box, missing, partial(self.order, target, command, environment))

    async def _found(self) -> tuple[Box | None, BoxUnavailable | None]:
        try:
            return await self.find(), None
        except BoxUnavailable as error:
            return None, error

    @asynccontextmanager
    async def _boxed(
        self, box: Box | None, missing: BoxUnavailable | None, order: Callable[[], Order]
    ) -> AsyncIterator[Cell]:
        if box is None:
            raise _not_here(missing)
        made = await asyncio.to_thread(order)
        async with box.cell(made, self.limits) as cell:
            yield cell

    def order(self, target: Target, command: Command, environment: Mapping[str, str]) -> Order:
        """What is to be run, and what it may reach. Raises `OSError` if there is nothing to
        start."""
        if not isinstance(target.launch, Stdio):
            raise TypeError(target.server)
        if command.folder is not None and not Path(command.folder).is_dir():
            raise FileNotFoundError(command.folder)
        around = self.looking.surroundings(target.launch, command.program, command.folder)
        profile = _still(target.profile) or self.looking.default(target.launch)
        for path in profile.write:
            if self.looking.reserved.holds_ours(os.path.realpath(path)):
                raise BadProfile(f"{path!r} holds something that is Portico's own")
        return Order(
            program=around.program,
            arguments=tuple(map(self._written_out, command.arguments)),
            environment=fitted(
                environment,
                command.environment,
                program=around.program,
                profile=profile,
                searched=around.searched,
            ),
            folder=around.folder,
            home=str(self._home(target)),
            profile=around.holding(profile),
        )

    def _written_out(self, argument: str) -> str:
        name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", "")
        if equals:
            return f"{name}={written_out(value, self.looking.reserved.home)}"
        return written_out(argument, self.looking.reserved.home)

    def _home(self, target: Target) -> Path:
        """A server that is added anew under an old name does not inherit what that one left."""
        own = target.server if target.id is None else f"{target.server}-{target.id}"
        space = self.homes / str(target.space)
        space.mkdir(mode=0o711, parents=True, exist_ok=True)
        home = space / own
        home.mkdir(mode=0o700, exist_ok=True)
        return home


def _still(profile: Profile | None) -> Profile | None:
    """What was said is kept as what it really was; a link on the way came later."""
    if profile is not None:
        for path in (*profile.read, *profile.write):
            if os.path.realpath(path) != path:
                raise BadProfile(f"{path!r} has become a link since it was said")
    return profile


def _not_here(missing: BoxUnavailable | None) -> BoxUnavailable:
    reason = "this machine has none" if missing is None else missing.reason
    fix = [] if missing is None or missing.fix is None else [missing.fix]
    return BoxUnavailable(reason, fix=" ".join([*fix, _AGREE]))
