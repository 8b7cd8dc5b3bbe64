"""How secret a server's results are, what may be sent to it, and whether its word is trusted."""

from dataclasses import dataclass, replace

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.audit_facts import about_server
from portico.gateway.core.server import Server
from portico.gateway.ports import Servers
from portico.guard.core.errors import Overreach
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """None: as it is."""

    label: Label | None = None
    clearance: Label | None = None
    trusted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelServer:
    servers: Servers
    audit: Audit
    bus: Bus

    async def __call__(self, caller: Principal, name: str, wish: Labelling) -> Server:
        """By somebody who is cleared for what it was and for what it becomes: nobody lowers what
        they may not read, or hides it from themselves. Raises `NotPermitted`, `ServerNotFound`,
        `Overreach`."""
        permit(caller, Scope.SERVERS_APPROVE)
        async with self.servers.changing(caller, name) as before:
            server = _labelled(before, wish)
            _check(caller, before, server)
            if server != before:
                await self.servers.put(caller, server)
                was, now = _facts(before), _facts(server)
                await self.audit.note(
                    caller, about_server("server.labelled", server, was=was, now=now)
                )
        if server != before:
            self.bus.wake(caller.space, CATALOGUE)
        return server


def _labelled(server: Server, wish: Labelling) -> Server:
    return replace(
        server,
        label=server.label if wish.label is None else wish.label,
        clearance=server.clearance if wish.clearance is None else wish.clearance,
        trusted=server.trusted if wish.trusted is None else wish.trusted,
    )


def _check(caller: Principal, before: Server, after: Server) -> None:
    if not caller.clearance.covers(after.label):
        raise Overreach(f"the label {after.label}")
    raised = not before.clearance.covers(after.clearance)
    if raised and not caller.clearance.covers(after.clearance):
        raise Overreach(f"the clearance {after.clearance}")


def _facts(server: Server) -> JsonObject:
    return {
        "label": str(server.label),
        "clearance": str(server.clearance),
        "trusted": server.trusted,
    }
