"""A stream of server-sent events on one connection, for as long as both sides want it."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Positions
from portico.engine.event_log import Subscription, Tails
from portico.engine.runs import LAST_WORDS
from portico.interfaces.http.authentication import Caller, CallerAgain
from portico.interfaces.http.lasting import Connection, Lasting, Manners
from portico.interfaces.http.sse import END, HEARTBEAT, retry_after
from portico.interfaces.http.use_cases import Use
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_numbers: Final = itertools.count()

Still = Callable[[Principal, Label], Awaitable[None]]
"""Whether somebody may still watch, who had this clearance. Raises what says that they may not."""


class EventStream(Lasting):
    def __init__(
        self, asked: "Asked", positions: Positions, still: Still, *, ends_with_run: bool
    ) -> None:
        super().__init__(asked.manners)
        self._tails = asked.tails
        self._caller = asked.caller
        self._again = asked.again
        self._positions = positions
        self._still = still
        self._ends_with_run = ends_with_run

    async def stream(self, connection: Connection) -> None:
        # Not all at once: those who are let go together do not come again together.
        await connection.send(retry_after(1000 + next(_numbers) * 37 % 2000))
        caller: Principal | None = self._caller
        positions = self._positions
        while caller is not None:
            async with self._tails.follow(caller, positions) as subscription:
                connection.follows(subscription)
                caller = await self._follow(connection, caller, subscription)
                positions = subscription.positions

    async def _follow(
        self, connection: Connection, caller: Principal, subscription: Subscription
    ) -> Principal | None:
        """Until there is nothing more, or the caller may see more or less than before."""
        while not (connection.left or subscription.broken):
            if connection.heartbeat_due():
                now = await self._asked_again(caller)
                if now is None or now.clearance != caller.clearance:
                    return now
                await connection.send(HEARTBEAT)
            try:
                told = await subscription.more()
            except StoreUnavailable:
                return None
            if told:
                await connection.send(told)
            elif self._ends_with_run and subscription.last in LAST_WORDS:
                await connection.send(END)
                return None
            else:
                await subscription.stirred()
        return None

    async def _asked_again(self, caller: Principal) -> Principal | None:
        try:
            now = (await self._again()).principal
            await self._still(now, caller.clearance)
        except StoreUnavailable:
            return caller  # nobody can tell, and nothing is told meanwhile either
        except PorticoError:
            return None
        return now


@dataclass(frozen=True, slots=True)
class Asked:
    """What every stream needs, whatever is watched."""

    tails: Tails
    manners: Manners
    caller: Principal
    again: CallerAgain

    def of_run(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=True)

    def of_topics(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=False)


def _asked(request: Request, use: Use, caller: Caller, again: CallerAgain) -> Asked:
    return Asked(use.tails, request.app.state.manners, caller, again)


Streams = Annotated[Asked, Depends(_asked)]
