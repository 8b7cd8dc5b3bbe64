"""Workflows over REST: run a plan, see how far it is, mend it."""

from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from portico.engine.core.runs import RunStatus, Started
from portico.guard.core.approvals import Resolution
from portico.interfaces.http import run_positions
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway, GatewayUseCases
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.patience import Patience, applied
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import Alias
from portico.interfaces.http.words import Body, LabelText, Name, RunIdPath, SuggestionIdText
from portico.interfaces.http.workflow_out import WorkflowOut, told
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan_learning import LONGEST_INTENT, SuggestionId
from portico.workflows.core.plan_report import Mode
from portico.workflows.run_queries import WorkflowLine
from portico.workflows.runs import RunWorkflowWish

_Step = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Plan = dict[str, JsonValue]
ENDED: Final = {"model": WorkflowOut, "description": "It has ended within `wait`."}


class WorkflowIn(Body, title="WorkflowIn"):
    plan: Plan | None = None
    """What to do: see the schema of plans (`portico plan schema`)."""
    name: Name | None = None
    """Instead of a plan: one that is saved."""
    suggestion: SuggestionIdText | None = None
    """Instead of a plan: one that was suggested to you, within the hour."""
    intent: Annotated[str, StringConstraints(max_length=LONGEST_INTENT)] | None = None
    """What a plan is for, in your own words: if it goes well, it is suggested for the like of
    them."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    mode: Annotated[Mode, Alias("Mode-Input")] = Mode.DURABLE
    """`inline`: at once and without a journal, for a plan that only reads."""
    label: LabelText | None = None
    accept: Annotated[list[_Step], Field(max_length=2000)] = Field(default_factory=list)
    """Proposed references that are meant: `read.json.path -> write.path`."""


class ForkWorkflowIn(Body, title="ForkWorkflowIn"):
    step: _Step | None = None
    """This one and what depends on it is done anew."""
    arguments: dict[_Step, dict[str, JsonValue]] = Field(default_factory=dict)
    """By step: what to give it instead. What is not named stays."""


class ResolveStepIn(Body, title="ResolveStepIn"):
    step: _Step
    """As it is shown: `send`, or `send[3]` of a `for_each`."""
    outcome: Resolution
    """What you have found: it was `done`, it shall be tried again (`retry`), or not (`skip`)."""


class WorkflowLineOut(BaseModel, title="WorkflowLineOut"):
    run: str
    kind: str
    """workflow, or program."""
    name: str | None
    status: RunStatus
    principal: str
    label: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    steps_over: int
    """Done, failed or skipped."""
    steps_done: int
    steps: int | None


class _Workflow(StringConvertor):
    """Where a workflow's id stands, but for what is an address of its own there: asked what can be
    done with `/workflows/check`, the server does not speak of a workflow of that name."""

    regex = "(?!(?:check|propose)$)[^/]+"


register_url_convertor("workflow", _Workflow())
router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.post(
    "",
    name="run_workflow",
    status_code=202,
    response_model=WorkflowOut,
    responses={**documented(404, 409, 429), 200: ENDED},
)
async def run_workflow(
    request: Request, gateway: Gateway, asked: Asked, body: WorkflowIn, patience: Patience
) -> Response:
    """Run a plan, a saved one, or one that was suggested. Every step passes the guard as a call of
    yours would."""
    wish = RunWorkflowWish(
        plan=body.plan,
        name=body.name,
        suggestion=None if body.suggestion is None else SuggestionId.parse(body.suggestion),
        intent=body.intent,
        inputs=body.inputs,
        mode=body.mode,
        key=asked.key,
        label=None if body.label is None else Label.parse(body.label),
        accept=body.accept,
    )
    started = await gateway.run_workflow(asked.caller, wish)
    report = await gateway.workflows.wait_for_workflow(
        asked.caller, started.run.id, patience=patience or timedelta(0)
    )
    headers = where(request, started) | applied(patience)
    return told(report.as_json(), 200 if report.over else 202, headers)


@router.get("", name="list_workflows", responses=documented())
async def list_workflows(
    gateway: Gateway,
    caller: Caller,
    *,
    status: Annotated[list[RunStatus], Query(max_length=len(RunStatus))] = [],  # noqa: B006 # FastAPI's way; never changed
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[WorkflowLineOut]:
    """Newest first: all, or without `runs:read` your own."""
    found = await gateway.workflows.list_workflows(
        caller, statuses=status, before=run_positions.read(position(after)), limit=limit
    )
    data = [_line(line) for line in found]
    last = run_positions.written(found[-1].run.position) if found else ""
    return Page(data=data, next=next_cursor(data, limit, last))


@router.get(
    "/{run_id:workflow}",
    name="show_workflow",
    response_model=WorkflowOut,
    responses=documented(404),
)
async def show_workflow(
    gateway: Gateway,
    caller: Caller,
    run_id: RunIdPath,
    *,
    wait: Annotated[int, Query(ge=0, le=60, description="seconds")] = 0,
) -> Response:
    """How far it is; to whoever started it, with what it gave."""
    patience = timedelta(seconds=wait)
    return await _told(gateway, caller, RunId.parse(run_id), patience)


@router.post(
    "/{run_id}/cancel",
    name="cancel_workflow",
    response_model=WorkflowOut,
    responses=documented(404),
)
async def cancel_workflow(gateway: Gateway, caller: Caller, run_id: RunIdPath) -> Response:
    """End it, and take back what it asked for. What it has done stays done."""
    run = await gateway.workflows.cancel_workflow(caller, RunId.parse(run_id))
    return await _told(gateway, caller, run.id)


@router.post(
    "/{run_id}/resume",
    name="resume_workflow",
    response_model=WorkflowOut,
    responses=documented(404),
)
async def resume_workflow(gateway: Gateway, caller: Caller, run_id: RunIdPath) -> Response:
    """Take up one that failed, was cancelled or is stuck: the steps that failed are tried again."""
    run = await gateway.workflows.resume_workflow(caller, RunId.parse(run_id))
    return await _told(gateway, caller, run.id)


@router.post(
    "/{run_id}/fork",
    name="fork_workflow",
    status_code=202,
    response_model=WorkflowOut,
    responses=documented(404),
)
async def fork_workflow(
    request: Request, gateway: Gateway, asked: Asked, run_id: RunIdPath, body: ForkWorkflowIn
) -> Response:
    """Another run of the same plan, with other arguments: what does not depend on them is kept."""
    started = await gateway.workflows.fork_workflow(
        asked.caller,
        RunId.parse(run_id),
        step=body.step,
        arguments=body.arguments,
        key=asked.key,
    )
    report = await gateway.workflows.show_workflow(asked.caller, started.run.id)
    return told(report.as_json(), 202, where(request, started))


@router.post(
    "/{run_id}/resolve",
    name="resolve_step",
    response_model=WorkflowOut,
    responses=documented(404, 409),
)
async def resolve_step(
    gateway: Gateway, caller: Caller, run_id: RunIdPath, body: ResolveStepIn
) -> Response:
    """Say what became of a step of which nobody knows whether it was done."""
    run = await gateway.workflows.resolve_step(caller, RunId.parse(run_id), body.step, body.outcome)
    return await _told(gateway, caller, run.id)


async def _told(
    gateway: GatewayUseCases, caller: Principal, run: RunId, patience: timedelta = timedelta(0)
) -> Response:
    """Of a program as of a plan."""
    try:
        report = await gateway.workflows.wait_for_workflow(caller, run, patience=patience)
        return told(report.as_json(), 200)
    except NotAWorkflow:
        program = await gateway.programs.wait_for_program(caller, run, patience=patience)
        return told(program.as_json(), 200)


def where(request: Request, started: Started) -> dict[str, str]:
    place = request.app.url_path_for("show_workflow", run_id=str(started.run.id))
    replayed = {"Idempotency-Replayed": "true"} if started.replayed else {}
    return {"Location": str(place), **replayed}


def _line(line: WorkflowLine) -> WorkflowLineOut:
    run = line.run
    return WorkflowLineOut(
        run=str(run.id),
        kind=run.kind,
        name=line.name,
        status=run.status,
        principal=str(run.principal),
        label=str(run.label),
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        steps_over=line.over,
        steps_done=line.done,
        steps=line.steps,
    )
