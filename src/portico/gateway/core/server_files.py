"""Server files: what differs from what is configured."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.gateway.core.catalog_snapshot import slug
from portico.gateway.core.config_documents import ServerSpec
from portico.gateway.core.pins import launch_pin
from portico.gateway.core.servers import RESERVED, Server, ServerId

KEPT: Final = timedelta(days=30)
"""How long it is remembered what was approved of a server that is no longer asked for. An editor
that writes a file anew, a branch without it or a slip of the pen cost nobody an approval."""


class ReconcileAction(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    GONE = "gone"
    """Its file does not ask for it any more: it stands still."""
    BACK = "back"
    FORGOTTEN = "forgotten"


def as_wished(server: Server, wish: ServerSpec | None, now: datetime) -> Server | None:
    """None if it is to be forgotten. A launch that is not the approved one waits by itself; should
    the file be put back, it is the approved one again."""
    if wish is not None:
        pin = launch_pin(wish.launch)
        return replace(
            server, launch=wish.launch, launch_pin=pin, timeout=wish.timeout, gone_at=None
        )
    if server.gone_at is None:
        return replace(server, gone_at=now)
    return server if now - server.gone_at <= KEPT else None


def fate_of(before: Server, after: Server | None) -> ReconcileAction | None:
    if after is None:
        return ReconcileAction.FORGOTTEN
    if (before.launch_pin, before.timeout) != (after.launch_pin, after.timeout):
        return ReconcileAction.CHANGED
    if before.gone_at == after.gone_at:
        return None
    return ReconcileAction.BACK if after.gone_at is None else ReconcileAction.GONE


def newly_wished(
    id_: ServerId, origin: str, wish: ServerSpec, others: Sequence[Server], now: datetime
) -> Server:
    """Under a name that is unlike the others'. One that would be started exactly as another is
    switched off at first: nobody wants to find each of its tools twice."""
    pin = launch_pin(wish.launch)
    twin = any(other.launch_pin == pin and other.gone_at is None for other in others)
    return Server(
        id=id_,
        name=slug(wish.name, {*RESERVED, *(other.name for other in others)}),
        origin=origin,
        entry=wish.where,
        launch=wish.launch,
        launch_pin=pin,
        created_at=now,
        enabled=not twin,
        timeout=wish.timeout,
    )
