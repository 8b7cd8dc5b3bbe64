"""Whether the server lives, whether it is ready, and how it is."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import StoreStatus
from portico.faces.http.authentication import Caller
from portico.faces.http.problems import documented
from portico.faces.http.use_cases import Use
from portico.guard.core.roles import Scope
from portico.guard.permit import permit


class AliveOut(BaseModel):
    status: str


class StoreOut(BaseModel):
    source: str
    running: bool
    server_version: str | None
    migrations_applied: int | None
    migrations_pending: int | None


class StatusOut(BaseModel):
    version: str
    ready: bool
    store: StoreOut


_NO_KEY: Final[dict[str, Any]] = {"security": []}

probes = APIRouter(tags=["health"])
"""For whoever keeps the server running: they say nothing that a stranger may not know."""


@probes.get("/healthz", responses=documented(), openapi_extra=_NO_KEY)
async def alive() -> AliveOut:
    return AliveOut(status="alive")


@probes.get("/readyz", responses=documented(), openapi_extra=_NO_KEY)
async def ready(use: Use) -> AliveOut:
    if not _ready(await use.store_status()):
        raise StoreUnavailable("The database is not ready.")
    return AliveOut(status="ready")


router = APIRouter(tags=["health"])


@router.get("/status", responses=documented())
async def status(use: Use, caller: Caller) -> StatusOut:
    permit(caller, Scope.STATUS_READ)
    store = await use.store_status()
    return StatusOut(version=use.version, ready=_ready(store), store=_store(store))


def _ready(store: StoreStatus) -> bool:
    return store.running and store.pending == 0


def _store(store: StoreStatus) -> StoreOut:
    return StoreOut(
        source=store.source,
        running=store.running,
        server_version=store.server_version,
        migrations_applied=store.applied,
        migrations_pending=store.pending,
    )
