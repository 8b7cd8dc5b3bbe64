"""Agents for front ends that speak AG-UI: a run in, its events out, and approvals as interrupts."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import Response

from portico.interfaces.http.agent_run_use_cases import Runs
from portico.interfaces.http.problems import documented
from portico.interfaces.http.sse import MEDIA_TYPE
from portico.interfaces.http.talk_stream import Listening
from portico.interfaces.http.words import Name

_EVENTS: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

router = APIRouter(prefix="/agents", tags=["agents"])


@router.post(
    "/{name}/ag-ui",
    name="run_ag_ui",
    response_class=Response,
    responses={
        **documented(404, 429),
        200: {"description": "A stream of AG-UI 1.0 events.", "content": _EVENTS},
    },
)
async def run_ag_ui(
    runs: Runs, listener: Listening, name: Name, body: dict[str, JsonValue]
) -> Response:
    """`RunAgentInput` of AG-UI 1.0 in. Where people have to approve a tool the run ends with an
    interrupt; another one with `resume` answers it and goes on."""
    from portico.interfaces.http.ag_ui_talk import answered  # noqa: PLC0415 # heavy: its types

    return await answered(runs, listener, name, body)
