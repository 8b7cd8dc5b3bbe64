"""Values as people read them: times, counts, money, states of servers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.servers import ConfinementMode, Http, Inside, Server
from portico.gateway.servers import ServerDetails
from portico.kernel.json import JsonValue

NOTHING: Final = "\u2013"
"""A dash, where there is no number."""
_STEPS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    seconds = (now - moment).total_seconds()
    if seconds < 0:
        return until(moment, now)
    return "just now" if seconds < 5 else f"{_coarse(seconds)} ago"


def until(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "no end"
    seconds = (moment - now).total_seconds()
    return "now" if seconds <= 0 else f"in {_coarse(seconds)}"


def _coarse(seconds: float) -> str:
    for unit, size in _STEPS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "1 s"


def took(duration: timedelta | float | None) -> str:
    """Three figures, in the unit that suits."""
    if duration is None:
        return NOTHING
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def count(number: float | None) -> str:
    """Exact, with thin spaces between thousands."""
    return NOTHING if number is None else f"{number:,.0f}".replace(",", "\u2009")


def short(number: float | None) -> str:
    """To three figures: 1.2 k, 3.4 M."""
    if number is None:
        return NOTHING
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g} {sign}" if abs(number) < 1000 * size else count(number)
    return f"{number:g}"


def money(amount: Decimal | float | None) -> str:
    if amount is None:
        return NOTHING
    value = float(amount)
    if value == 0:
        return "$0"
    return f"${value:.4f}" if value < 0.01 else f"${value:,.2f}"


def percent(share: float | None, digits: int = 0) -> str:
    return NOTHING if share is None else f"{share * 100:.{digits}f} %"


def plural(number: float, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def stamp(moment: datetime | None) -> str:
    """Exact, for whoever points at it."""
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def as_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


@dataclass(frozen=True, slots=True)
class State:
    text: str
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


def state_of(look: ServerDetails) -> State:
    server = look.server
    return _not_in_use(look, server) or _in_use(look, server)


def _not_in_use(look: ServerDetails, server: Server) -> State | None:
    if server.gone_at is not None:
        return GONE
    if not server.enabled:
        return OFF
    if not server.may_start:
        return WAITS
    if look.held.confinement.mode is ConfinementMode.REFUSED:
        return State("no box", "bad", "There is no box on this machine, so it does not start.")
    if not server.approved:
        if server.failure is not None:
            return State("did not start", "bad", server.failure)
        return State("tools wait", "warn", "What it offers has not been let in yet.")
    return None


def _in_use(look: ServerDetails, server: Server) -> State:
    waiting = look.tools.get(ToolStatus.NEW, 0) + look.tools.get(ToolStatus.CHANGED, 0)
    phase = _PHASES[look.health.phase]
    if server.failure is not None:
        return State("failed last", "bad", server.failure)
    if waiting:
        meaning = f"{waiting} of its tools are quarantined: new, or not as they were approved."
        return State(f"{phase.text}, {waiting} quarantined", "warn", meaning)
    if isinstance(server.launch, Inside):
        return State("part of Portico", "ok")
    if isinstance(server.launch, Http) and look.health.phase is Phase.IDLE:
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
