"""Servers that a file describes are as the file says: new ones wait, changed ones wait again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.audit_facts import about_server
from portico.gateway.core.client_files.wish import Wish
from portico.gateway.core.errors import BadLaunch, ServerExists, ServerNotFound
from portico.gateway.core.launch_text import check_launch
from portico.gateway.core.reconciling import Fate, as_wished, fate_of, newly_wished
from portico.gateway.core.server import Server, ServerId
from portico.gateway.ports import Servers, Upstreams
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal

_TRIES: Final = 5
"""Of a name, while others take names too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileServers:
    servers: Servers
    together: Together
    audit: Audit
    upstreams: Upstreams
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, origin: str, wishes: Sequence[Wish]
    ) -> Mapping[str, Fate]:
        """What changed, by the names of the servers.

        `wishes` are all that the file at `origin` describes, none if there is no such file any
        more; one that cannot be read says nothing, and is not reconciled. What a file has
        switched off, or what nobody could start, is not asked for. Raises `NotPermitted`.
        """
        permit(caller, Scope.SERVERS_WRITE)
        wanted = {wish.where: wish for wish in wishes if wish.enabled and _sound(wish)}
        fates: dict[str, Fate] = {}
        for server in await self.servers.all(caller):
            if server.origin == origin:
                wish = wanted.pop(server.entry or "", None)
                fates |= await self._seen_to(caller, server, wish)
        for wish in wanted.values():
            fates |= await self._added(caller, origin, wish)
        if fates:
            self.bus.wake(caller.space, CATALOGUE)
        for name, fate in fates.items():
            if fate in {Fate.CHANGED, Fate.GONE, Fate.FORGOTTEN}:
                await self.upstreams.stop(caller.space, name)
        return fates

    async def _seen_to(
        self, caller: Principal, server: Server, wish: Wish | None
    ) -> Mapping[str, Fate]:
        fate = None
        with suppress(ServerNotFound):  # another process has forgotten it meanwhile
            async with self.servers.changing(caller, server.name) as before:
                after = as_wished(before, wish, self.clock.now())
                fate = fate_of(before, after)
                if after is None:
                    await self.servers.remove(caller, before.id)
                elif fate is not None:
                    await self.servers.put(caller, after)
                if fate is not None:
                    entry = about_server(f"server.{fate}", after or before)
                    await self.audit.note(caller, entry)
        return {} if fate is None else {server.name: fate}

    async def _added(self, caller: Principal, origin: str, wish: Wish) -> Mapping[str, Fate]:
        """Nothing if another process was faster, which reads the same file."""
        for _ in range(_TRIES):
            others, now = await self.servers.all(caller), self.clock.now()
            if any((other.origin, other.entry) == (origin, wish.where) for other in others):
                return {}
            id_ = ServerId.mint(now, self.entropy)
            server = newly_wished(id_, origin, wish, others, now)
            with suppress(ServerExists):  # somebody has taken the name meanwhile
                async with self.together(caller):
                    await self.servers.add(caller, server)
                    await self.audit.note(caller, about_server("server.added", server))
                return {server.name: Fate.ADDED}
        raise ServerExists(wish.name, wish.name)


def _sound(wish: Wish) -> bool:
    try:
        check_launch(wish.launch)
    except BadLaunch:
        return False
    return True
