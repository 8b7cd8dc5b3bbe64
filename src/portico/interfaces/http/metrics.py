"""Figures for Prometheus, in its own text."""

from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use

_KIND: Final = "text/plain; version=0.0.4"
_OK: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}

router = APIRouter(tags=["health"])
"""Outside of the versioned interface: scrapers look for this very address."""


@router.get(
    "/metrics", name="metrics", response_class=PlainTextResponse, responses={**documented(), **_OK}
)
async def metrics(use: Use, caller: Caller) -> PlainTextResponse:
    """What this server has counted and timed since it was started. Needs the scope metrics:read."""
    return PlainTextResponse(await use.show_metrics(caller), media_type=_KIND)
