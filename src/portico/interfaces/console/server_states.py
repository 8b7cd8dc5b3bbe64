"""How a server is, in a word or two: the most urgent thing first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.servers import Hold, Http, Inside, Server
from portico.gateway.servers import ServerLook


@dataclass(frozen=True, slots=True)
class State:
    words: str
    tone: str
    """Of the dot: ok, warn, bad, or none."""
    meaning: str = ""
    """What that is, and what to do."""


GONE: Final = State("gone", "bad", "The file that described it does not ask for it any more.")
OFF: Final = State("switched off", "", "Its tools are not found, and its process is ended.")
WAITS: Final = State(
    "waits for approval", "warn", "It is not started before somebody allows its launch."
)
_PHASES: Final[Mapping[Phase, State]] = {
    Phase.RUNNING: State("running", "ok"),
    Phase.STARTING: State("starting", "warn"),
    Phase.IDLE: State("asleep", "ok", "It starts with the next call."),
    Phase.RESTING: State("resting", "bad", "It broke, and is left alone for a while."),
}


def state_of(look: ServerLook) -> State:
    server = look.server
    return _not_in_use(look, server) or _in_use(look, server)


def _not_in_use(look: ServerLook, server: Server) -> State | None:
    if server.gone_at is not None:
        return GONE
    if not server.enabled:
        return OFF
    if not server.may_start:
        return WAITS
    if look.held.confinement.hold is Hold.REFUSED:
        return State("no box", "bad", "There is no box on this machine, so it does not start.")
    if not server.approved:
        if server.failure is not None:
            return State("did not start", "bad", server.failure)
        return State("tools wait", "warn", "What it offers has not been let in yet.")
    return None


def _in_use(look: ServerLook, server: Server) -> State:
    waiting = look.tools.get(Standing.NEW, 0) + look.tools.get(Standing.CHANGED, 0)
    phase = _PHASES[look.vitals.phase]
    if server.failure is not None:
        return State("failed last", "bad", server.failure)
    if waiting:
        meaning = f"{waiting} of its tools are quarantined: new, or not as they were approved."
        return State(f"{phase.words}, {waiting} quarantined", "warn", meaning)
    if isinstance(server.launch, Inside):
        return State("part of Portico", "ok")
    if isinstance(server.launch, Http) and look.vitals.phase is Phase.IDLE:
        return State("ready", "ok", "It is asked when somebody calls one of its tools.")
    return phase


def transport_of(server: Server) -> str:
    match server.launch:
        case Http(transport=None):
            return "HTTP"
        case Http(transport=transport):
            return f"HTTP ({transport})"
        case Inside():
            return "built in"
        case _:
            return "stdio"
