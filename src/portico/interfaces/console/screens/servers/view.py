"""Servers in a list: how each is, how fast, and what went wrong last."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.gateway.core.calls import Figures
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.servers import ServerLook
from portico.interfaces.console.server_states import State, state_of, transport_of

PAGE: Final = 50
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    name: str
    state: State
    transport: str
    process: int | None
    restarts: int
    live: int
    waiting: int
    calls: int
    p50: timedelta | None
    p95: timedelta | None
    p99: timedelta | None
    errors: float | None
    label: str
    trusted: bool
    problem: str
    """The last one, if it was not mended since."""
    enabled: bool
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """For the chips above the list."""

    all: int
    attention: int
    off: int


def server_rows(looks: Iterable[ServerLook], figures: Iterable[Figures]) -> Sequence[ServerRow]:
    known = {each.name: each for each in figures}
    return [server_row(look, known.get(look.server.name)) for look in looks]


def server_row(look: ServerLook, its: Figures | None) -> ServerRow:
    server, vitals = look.server, look.vitals
    return ServerRow(
        name=server.name,
        state=state_of(look),
        transport=transport_of(server),
        process=vitals.process,
        restarts=max(0, vitals.starts - 1),
        live=look.tools.get(Standing.LIVE, 0),
        waiting=waiting(look),
        calls=0 if its is None else its.calls,
        p50=None if its is None else its.p50,
        p95=None if its is None else its.p95,
        p99=None if its is None else its.p99,
        errors=None if its is None or not its.calls else its.error_rate,
        label=str(server.label),
        trusted=server.trusted,
        problem=_short(server.failure or vitals.lacking or ""),
        enabled=server.enabled,
        last_at=None if its is None else its.last_at,
    )


def waiting(look: ServerLook) -> int:
    return sum(
        look.tools.get(each, 0) for each in (Standing.PENDING, Standing.NEW, Standing.CHANGED)
    )


def chosen(rows: Sequence[ServerRow], only: str) -> Sequence[ServerRow]:
    match only:
        case "attention":
            return [row for row in rows if row.state.tone in {"warn", "bad"}]
        case "off":
            return [row for row in rows if not row.enabled]
        case _:
            return rows


def counted(rows: Sequence[ServerRow]) -> Counted:
    return Counted(
        all=len(rows),
        attention=len(chosen(rows, "attention")),
        off=len(chosen(rows, "off")),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
