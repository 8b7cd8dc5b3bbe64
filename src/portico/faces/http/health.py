"""Whether the server lives, whether it is ready, and how it is."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel

from portico.engine.core.store import StoreStatus
from portico.faces.http.authentication import Caller
from portico.faces.http.problems import documented
from portico.faces.http.use_cases import Use


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


@probes.head("/healthz", include_in_schema=False)
@probes.get("/healthz", responses=documented(), openapi_extra=_NO_KEY)
async def alive() -> AliveOut:
    return AliveOut(status="alive")


@probes.head("/readyz", include_in_schema=False)
@probes.get("/readyz", responses=documented(), openapi_extra=_NO_KEY)
async def ready(use: Use) -> AliveOut:
    await use.show_status.ready()
    return AliveOut(status="ready")


router = APIRouter(tags=["health"])


@router.get("/status", responses=documented())
async def status(use: Use, caller: Caller) -> StatusOut:
    store = await use.show_status(caller)
    return StatusOut(version=use.version, ready=store.ready, store=_store(store))


def _store(store: StoreStatus) -> StoreOut:
    return StoreOut(
        source=store.source,
        running=store.running,
        server_version=store.server_version,
        migrations_applied=store.applied,
        migrations_pending=store.pending,
    )
