"""The servers themselves, each person with their own login where a server wants one.

Which servers these are is found out when one of them asks who is calling, and remembered in the
store. A conversation with such a server is one person's; whoever has no login is given a link.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Final, TypeVar

from portico.gateway.core.call import Answer
from portico.gateway.core.errors import LoginNeeded, UpstreamDown, UpstreamWantsLogin
from portico.gateway.core.server import Http
from portico.gateway.core.upstream import Seen, Target, Vitals
from portico.gateway.house import is_house
from portico.gateway.ports import Line, Upstreams
from portico.guard.core.oauth_logins import Challenge, LoginPlace
from portico.guard.oauth_logins import BeginLogin, LoginClients
from portico.kernel.ids import Id, SpaceId
from portico.kernel.json import JsonObject

_KNOWN: Final = 2.0
"""Seconds for which it is remembered whether a server wants logins."""
_MOST: Final = 10_000
_T = TypeVar("_T")


def place_of(target: Target) -> LoginPlace | None:
    """Whose login it would be, and where; None if its launch leaves no room for one."""
    if target.login is None or target.id is None or not isinstance(target.launch, Http):
        return None
    return LoginPlace(
        space=target.space,
        principal=target.login,
        server=target.id,
        name=target.server,
        url=target.launch.url,
    )


@dataclass(slots=True, kw_only=True)
class LoggedInUpstreams:
    inside: Upstreams
    clients: LoginClients
    begin_login: BeginLogin
    now: Callable[[], float] = monotonic
    _known: dict[tuple[SpaceId, Id, str], tuple[bool, float]] = field(default_factory=dict)

    async def look(self, target: Target) -> Seen:
        return await self._served(target, self.inside.look)

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,
    ) -> Answer:
        async def call(its: Target) -> Answer:
            return await self.inside.call(its, tool, arguments, timeout=timeout, line=line)

        return await self._served(target, call)

    async def read_resource(
        self, target: Target, uri: str, *, timeout: timedelta, line: Line | None = None
    ) -> JsonObject:
        async def read(its: Target) -> JsonObject:
            return await self.inside.read_resource(its, uri, timeout=timeout, line=line)

        return await self._served(target, read)

    async def get_prompt(
        self,
        target: Target,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: Line | None = None,
    ) -> JsonObject:
        async def get(its: Target) -> JsonObject:
            return await self.inside.get_prompt(its, name, arguments, timeout=timeout, line=line)

        return await self._served(target, get)

    async def complete(
        self, target: Target, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject:
        async def complete(its: Target) -> JsonObject:
            return await self.inside.complete(its, params, timeout=timeout)

        return await self._served(target, complete)

    async def stop(self, space: SpaceId, server: str) -> None:
        await self.inside.stop(space, server)

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        return self.inside.vitals(space, server)

    async def _served(self, target: Target, ask: Callable[[Target], Awaitable[_T]]) -> _T:
        """Raises `LoginNeeded`. A server that asks who is calling has done nothing yet."""
        place = place_of(target)
        if place is None:
            return await ask(target)
        if await self._wants_logins(place):
            return await self._as_caller(target, place, ask)
        try:
            return await ask(target)
        except UpstreamWantsLogin as error:
            self._known.pop(_name(place), None)
            if await self._wants_logins(place):
                return await self._as_caller(target, place, ask)
            raise await self._link(target, place, error) from error

    async def _as_caller(
        self, target: Target, place: LoginPlace, ask: Callable[[Target], Awaitable[_T]]
    ) -> _T:
        try:
            return await ask(target.of_its_caller())
        except UpstreamWantsLogin as error:
            raise await self._link(target, place, error) from error

    async def _wants_logins(self, place: LoginPlace) -> bool:
        name = _name(place)
        wanted, at = self._known.get(name, (False, -_KNOWN))
        if self.now() - at < _KNOWN:
            return wanted
        client = await self.clients.get(place.holder, place.server)
        wanted = client is not None and client.url == place.url
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name] = (wanted, self.now())
        return wanted

    async def _link(
        self, target: Target, place: LoginPlace, error: UpstreamWantsLogin
    ) -> Exception:
        """What to tell whoever called: where to log in, if there is a place for that."""
        if is_house(place.principal) or not target.links:
            return UpstreamDown(
                place.name,
                "it can only be asked by somebody who is logged in there",
                fix=f"Log in with a key that has tools:write, and ask it what it offers: portico "
                f"servers login {place.name}, then portico servers restart {place.name}",
            )
        challenge = Challenge.parse(error.challenge)
        if challenge is None and error.challenge:
            return error
        link = await self.begin_login(place, challenge)
        self._known.pop(_name(place), None)
        if link is None:
            return error
        return LoginNeeded(place.name, link.who, link.url, link.expires_at)


def _name(place: LoginPlace) -> tuple[SpaceId, Id, str]:
    return place.space, place.server, place.url
