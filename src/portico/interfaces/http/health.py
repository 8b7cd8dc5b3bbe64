"""Whether the server lives and is ready, its status, and metrics for Prometheus."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

from portico.engine.core.store import StoreStatus
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use
from portico.sandbox.core.probes import Backend, Report


class AliveOut(BaseModel, title="AliveOut"):
    status: str


class StoreOut(BaseModel, title="StoreOut"):
    source: str
    running: bool
    server_version: str | None
    migrations_applied: int | None
    migrations_pending: int | None


class BoxOut(BaseModel, title="BoxOut"):
    """What strangers' code runs in, if all probes held; else why not."""

    backend: Backend
    offered: bool
    held: int
    """How many attempts to get out of it came to nothing."""
    escapes: list[str]
    missing: str | None
    fix: str | None


class StatusOut(BaseModel, title="StatusOut"):
    version: str
    ready: bool
    store: StoreOut
    boxes: list[BoxOut] | None
    """In the order in which they were tried; the first that is offered is used. None while they
    are being tried."""
    secrets: str | None
    """What secrets are kept in: `keyring`, or `age` for an encrypted file. None if they cannot be
    reached."""


_NO_KEY: Final[dict[str, Any]] = {"security": []}

probes = APIRouter(tags=["health"])
"""For whoever keeps the server running: they say nothing that a stranger may not know."""


@probes.head("/healthz", include_in_schema=False)
@probes.get("/healthz", name="alive", responses=documented(), openapi_extra=_NO_KEY)
async def alive() -> AliveOut:
    return AliveOut(status="alive")


@probes.head("/readyz", include_in_schema=False)
@probes.get("/readyz", name="ready", responses=documented(), openapi_extra=_NO_KEY)
async def ready(use: Use) -> AliveOut:
    await use.show_status.ready()
    return AliveOut(status="ready")


router = APIRouter(tags=["health"])


@router.get("/status", name="status", responses=documented())
async def status(use: Use, caller: Caller) -> StatusOut:
    found = await use.show_status(caller)
    return StatusOut(
        version=use.version,
        ready=found.store.ready,
        store=_store(found.store),
        boxes=None if found.boxes is None else [_box(each) for each in found.boxes],
        secrets=found.secrets,
    )


def _store(store: StoreStatus) -> StoreOut:
    return StoreOut(
        source=store.source,
        running=store.running,
        server_version=store.server_version,
        migrations_applied=store.applied,
        migrations_pending=store.pending,
    )


def _box(report: Report) -> BoxOut:
    return BoxOut(
        backend=report.backend,
        offered=report.offered,
        held=len(report.probes) - len(report.escapes),
        escapes=[probe.name for probe in report.escapes],
        missing=report.missing,
        fix=report.fix,
    )


_KIND: Final = "text/plain; version=0.0.4"
_OK: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}

metrics_router = APIRouter(tags=["health"])
"""Outside of the versioned interface: scrapers look for this very address."""


@metrics_router.get(
    "/metrics", name="metrics", response_class=PlainTextResponse, responses={**documented(), **_OK}
)
async def metrics(use: Use, caller: Caller) -> PlainTextResponse:
    """What this server has counted and timed since it was started. Needs the scope metrics:read."""
    return PlainTextResponse(await use.show_metrics(caller), media_type=_KIND)
