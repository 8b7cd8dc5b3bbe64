"""Programs over REST: answered as workflows are, with their calls as steps."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field, JsonValue
from starlette.responses import Response

from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.once import Asked
from portico.interfaces.http.patience import Patience, applied
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, LabelText
from portico.interfaces.http.workflow_out import WorkflowOut, told
from portico.interfaces.http.workflows import ENDED, where
from portico.kernel.label import Label
from portico.workflows.core.programs import LONGEST_CODE, ProgramMode, ProgramWish


class ProgramIn(Body, title="ProgramIn"):
    code: Annotated[str, Field(min_length=1, max_length=LONGEST_CODE)]
    """Python; its only powers are the tools that you may use."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables that it finds."""
    mode: ProgramMode = ProgramMode.AUTO
    label: LabelText | None = None


router = APIRouter(prefix="/programs", tags=["workflows"])


@router.post(
    "",
    name="run_program",
    status_code=202,
    response_model=WorkflowOut,
    responses={**documented(409, 429), 200: ENDED},
)
async def run_program(
    request: Request, gateway: Gateway, asked: Asked, body: ProgramIn, patience: Patience
) -> Response:
    """Run a program. Every call in it passes the guard as a call of yours would."""
    wish = ProgramWish(
        code=body.code,
        inputs=body.inputs,
        mode=body.mode,
        key=asked.key,
        label=None if body.label is None else Label.parse(body.label),
    )
    started = await gateway.programs.start_program(asked.caller, wish)
    report = await gateway.programs.wait_for_program(
        asked.caller, started.run.id, patience=patience or timedelta(0)
    )
    headers = where(request, started) | applied(patience)
    return told(report.as_json(), 200 if report.over else 202, headers)
