"""What a call is aimed at, as the guard is told: its server's labels, its accepted effect."""

from portico.gateway.core.server import Http, Server
from portico.gateway.core.tool import ToolRef
from portico.guard.core.access_request import Aim
from portico.kernel.effect import Effect
from portico.sandbox.core.profile import Network


def aim_at(server: Server, ref: ToolRef, effect: Effect, pin: str) -> Aim:
    """`effect` and `pin` as an operator has accepted them together."""
    return Aim(
        tool=str(ref),
        server=server.name,
        effect=effect,
        pin=pin,
        launch=server.launch_pin,
        live=server.approved,
        label=server.label,
        clearance=server.clearance,
        trusted=server.trusted,
        outside=_outside(server),
        here=not isinstance(server.launch, Http),
    )


def aim_beside(server: Server, kind: str) -> Aim:
    """At a resource, a prompt or a completion of it. Nobody accepts effects of these, and any of
    them can carry something out: it is a read from outside, and nothing less."""
    return aim_at(server, ToolRef(server.name, kind), Effect.EXTERNAL_READ, server.launch_pin)


def _outside(server: Server) -> bool:
    """Over the network, or where nothing keeps it from there: that it only reads here is its own
    word then."""
    profile = server.profile
    online = profile is not None and (profile.network is not Network.NONE or bool(profile.reach))
    return isinstance(server.launch, Http) or server.unboxed is not None or online
