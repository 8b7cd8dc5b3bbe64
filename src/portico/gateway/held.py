"""How a server is held, as the walls stand now."""

from dataclasses import dataclass

from portico.gateway.core.confinement import Confinement, Hold, hold_of, said
from portico.gateway.core.server import Http, Inside, Server
from portico.gateway.ports import Walls


@dataclass(frozen=True, slots=True)
class Held:
    confinement: Confinement
    said: str
    """In one line."""


async def held(server: Server, walls: Walls) -> Held:
    confinement = await _confinement(server, walls)
    return Held(confinement, said(confinement, walls.home))


async def _confinement(server: Server, walls: Walls) -> Confinement:
    match server.launch:
        case Http():
            return Confinement(hold=Hold.ELSEWHERE, profile=None)
        case Inside():
            return Confinement(hold=Hold.OURS, profile=None)
        case launch:
            profile = server.profile
            hold = hold_of(
                server.name,
                server.launch_pin,
                server.unboxed,
                offered=await walls.offered(),
                lacking=await walls.lacking(),
                named=walls.named,
            )
            return Confinement(
                hold=hold,
                profile=await walls.default(launch) if profile is None else profile,
                stated=profile is not None,
            )
