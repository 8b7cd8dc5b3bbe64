"""Confine a server."""

import logging
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import about_server
from portico.gateway.core.confinement import ShippedProfiles, profile_json
from portico.gateway.core.errors import NotStartedHere
from portico.gateway.core.pins import package_of
from portico.gateway.core.servers import Server, Stdio, widens
from portico.gateway.ports import ServerConfinement, Servers, Upstreams
from portico.gateway.servers import ConfinementStatus, held
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.json import JsonValue, canonical
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import Profile

_log: Final = logging.getLogger("portico.sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDetails:
    server: Server
    held: ConfinementStatus
    default: Profile
    """What it may reach if nobody says otherwise."""
    proposed: Profile | None
    """A tighter one that we know to suffice, if we know the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProfile:
    servers: Servers
    confinement: ServerConfinement
    shipped: ShippedProfiles

    async def __call__(self, caller: Principal, name: str) -> ProfileDetails:
        """Raises `NotPermitted`, `ServerNotFound`, `NotStartedHere`."""
        require_scope(caller, Scope.SERVERS_READ)
        return await self.of(await self.servers.get(caller, name))

    async def of(self, server: Server) -> ProfileDetails:
        """Raises `NotStartedHere`."""
        default = await self.confinement.default(_process(server))
        return ProfileDetails(
            server=server,
            held=await held(server, self.confinement),
            default=default,
            proposed=self.shipped.of(package_of(server.launch), default),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProfile:
    servers: Servers
    audit: Audit
    upstreams: Upstreams
    confinement: ServerConfinement
    show: ShowProfile
    bus: Bus

    async def __call__(
        self, caller: Principal, name: str, profile: Profile | None
    ) -> ProfileDetails:
        """None for the default. To widen it wants whoever may approve servers. What runs of it is
        ended, and starts anew with the next call. Raises `NotPermitted`, `ServerNotFound`,
        `NotStartedHere`, `InvalidProfile`."""
        require_scope(caller, Scope.SERVERS_WRITE)
        if profile is not None:
            profile = await self.confinement.check(profile)
        async with self.servers.changing(caller, name) as before:
            default = await self.confinement.check(await self.confinement.default(_process(before)))
            former, latter = before.profile or default, profile or default
            if widens(former, latter):
                require_scope(caller, Scope.SERVERS_APPROVE)
            server = replace(before, profile=profile)
            await self.servers.put(caller, server)
            entry = about_server(
                "server.profile_set", server, was=_fact(before.profile), now=_fact(profile)
            )
            await self.audit.note(caller, entry)
        _log.warning(
            "%s (%s) has changed what the server %s may reach: from %s to %s",
            caller.name,
            caller.id,
            name,
            _told(before.profile),
            _told(profile),
        )
        self.bus.wake(caller.space, CATALOGUE)
        await self.upstreams.stop(caller.space, name)
        return await self.show.of(server)


def _process(server: Server) -> Stdio:
    if not isinstance(server.launch, Stdio):
        raise NotStartedHere(server.name)
    return server.launch


def _fact(profile: Profile | None) -> JsonValue:
    return None if profile is None else profile_json(profile)


def _told(profile: Profile | None) -> str:
    return "the default" if profile is None else canonical(profile_json(profile)).decode()
