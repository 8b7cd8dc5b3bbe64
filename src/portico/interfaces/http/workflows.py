"""Workflows over REST: check, run, show and control plans and programs; saved workflows."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from portico.engine.core.idempotency import StoredResponse
from portico.engine.core.runs import RunStatus, Started
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.guard.core.approvals import Resolution
from portico.interfaces.http import runs
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import Alias
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    LabelText,
    Limit,
    Name,
    Page,
    Patience,
    RunIdPath,
    SuggestionIdText,
    applied,
    next_cursor,
    position,
    wire_object,
)
from portico.interfaces.http.use_cases import Gateway, GatewayUseCases
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows import plan_checks as checking
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.plan_learning import LONGEST_INTENT, SuggestionId
from portico.workflows.core.plan_report import Mode, StepStatus, WorkflowStatus
from portico.workflows.core.programs import LONGEST_CODE, ProgramMode, ProgramSpec
from portico.workflows.plan_checks import Checked
from portico.workflows.run_queries import WorkflowLine
from portico.workflows.runs import RunWorkflowSpec
from portico.workflows.saved import SavedWorkflowDetails


class WorkflowFailure(BaseModel, title="WorkflowFailure"):
    type: str
    message: str
    code: str | None
    step: str | None


class ItemsOut(BaseModel, title="ItemsOut"):
    all: int
    over: int
    failed: int


class CalledWithOut(BaseModel, title="CalledWithOut"):
    tool: str
    arguments: JsonValue
    """Without secrets, and cut where they are long."""
    started_at: datetime


class PlanStepOut(BaseModel, title="PlanStepOut"):
    id: str
    tool: str
    state: StepStatus
    why: str | None
    """Why it failed, was left out, or waits."""
    needs: list[str]
    """The steps that it depends on."""
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None
    tries: int
    approval: str | None
    """Who has to say yes is asked by this request."""
    size: int | None
    handle: str | None
    """Where what it gave is kept, for whoever started it."""
    items: ItemsOut | None
    """Of a step with `for_each`."""
    error: WorkflowFailure | None
    called_with: dict[str, CalledWithOut] | None = None
    """To whoever started it: by call, what those were given of which nobody knows whether they
    were made."""


class WorkflowOut(BaseModel, title="WorkflowOut"):
    run: str
    name: str | None
    kind: Literal["workflow", "program"]
    status: WorkflowStatus
    mode: Mode
    principal: str
    label: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None
    forked_from: str | None
    steps: list[PlanStepOut]
    """In the plan's order; of a program, its calls."""
    critical_path: list[str]
    output: JsonValue
    """What it gave: for whoever started it, and if it is not too long."""
    output_handle: str | None
    """Where it is kept: `GET /results/{result}`."""
    output_size: int | None
    printed: str | None
    """Of a program."""
    error: WorkflowFailure | None


def told(body: JsonObject, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """What a tool gave may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="backslashreplace")
    return Response(content, status, headers, media_type="application/json")


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
    request: Request,
    gateway: Gateway,
    asked: IdempotentCreate,
    body: WorkflowIn,
    patience: Patience,
) -> Response:
    """Run a plan, a saved one, or one that was suggested. Every step passes the guard as a call of
    yours would."""
    wish = RunWorkflowSpec(
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
        caller, statuses=status, before=runs.read(position(after)), limit=limit
    )
    data = [_line(line) for line in found]
    last = runs.written(found[-1].run.position) if found else ""
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
    request: Request,
    gateway: Gateway,
    asked: IdempotentCreate,
    run_id: RunIdPath,
    body: ForkWorkflowIn,
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


class ProgramIn(Body, title="ProgramIn"):
    code: Annotated[str, Field(min_length=1, max_length=LONGEST_CODE)]
    """Python; its only powers are the tools that you may use."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Variables that it finds."""
    mode: ProgramMode = ProgramMode.AUTO
    label: LabelText | None = None


programs_router = APIRouter(prefix="/programs", tags=["workflows"])


@programs_router.post(
    "",
    name="run_program",
    status_code=202,
    response_model=WorkflowOut,
    responses={**documented(409, 429), 200: ENDED},
)
async def run_program(
    request: Request, gateway: Gateway, asked: IdempotentCreate, body: ProgramIn, patience: Patience
) -> Response:
    """Run a program. Every call in it passes the guard as a call of yours would."""
    wish = ProgramSpec(
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


class CheckIn(Body, title="CheckIn"):
    plan: dict[str, JsonValue]


class FaultOut(BaseModel, title="FaultOut"):
    place: str
    """JSON pointer into the plan."""
    what: str
    fix: str | None


class NeedsOut(BaseModel, title="NeedsOut"):
    rule: str
    reason: str


class CheckedStep(BaseModel, title="CheckedStep"):
    id: str
    tool: str
    effect: Effect
    needs: list[str]
    approval: NeedsOut | None
    """Why somebody would be asked first, as things are now."""


class CheckOut(BaseModel, title="CheckOut"):
    ok: bool
    flaws: list[FaultOut]
    name: str | None
    effect: Effect | None
    """The worst of its steps."""
    order: list[str]
    critical_path: list[str]
    steps: list[CheckedStep]


checks_router = APIRouter(prefix="/workflows", tags=["workflows"])


@checks_router.post("/check", name="check_plan", responses=documented())
async def check_plan(gateway: Gateway, caller: Caller, body: CheckIn) -> CheckOut:
    """What is wrong with a plan, or what it would do. Nothing is run."""
    try:
        return _checked(await gateway.check_plan(caller, body.plan))
    except InvalidPlan as error:
        return _faulty(error)


def _checked(found: Checked) -> CheckOut:
    return CheckOut(
        ok=True,
        flaws=[],
        name=found.plan.name,
        effect=found.effect,
        order=[*found.order],
        critical_path=[*found.critical_path],
        steps=[_step(step) for step in found.steps],
    )


def _step(step: checking.CheckedStep) -> CheckedStep:
    asked = step.approval
    return CheckedStep(
        id=step.id,
        tool=step.tool,
        effect=step.effect,
        needs=[*step.needs],
        approval=None if asked is None else NeedsOut(rule=asked.rule, reason=asked.reason),
    )


def _faulty(error: InvalidPlan) -> CheckOut:
    flaws = [FaultOut(place=each.place, what=each.what, fix=each.fix) for each in error.diagnostics]
    return CheckOut(
        ok=False, flaws=flaws, name=None, effect=None, order=[], critical_path=[], steps=[]
    )


NamePath = Annotated[str, Path(min_length=1, max_length=48, pattern="^[A-Za-z][A-Za-z0-9_-]*$")]


class SavedIn(Body, title="SavedIn"):
    plan: dict[str, JsonValue]
    description: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    """What models find it by; the plan's own, if left away."""


class SavedLine(BaseModel, title="SavedLine"):
    name: str
    tool: str
    """What it is called as."""
    description: str
    effect: Effect
    """The worst of its steps when it was saved."""
    standing: ToolStatus
    steps: int
    saved_by: str
    """Their name when they did."""
    saved_at: datetime
    changed_at: datetime


class SavedOut(SavedLine, title="SavedOut"):
    plan: dict[str, JsonValue] | None
    """None if your key may not use all that it calls."""
    input_schema: dict[str, JsonValue]


saved_router = APIRouter(prefix="/saved-workflows", tags=["workflows"])


@saved_router.get("", name="list_saved", responses=documented())
async def list_saved(gateway: Gateway, caller: Caller) -> Page[SavedLine]:
    """By name: those that you could find as tools."""
    found = await gateway.saved.list_saved(caller)
    return Page(data=[SavedLine(**_saved_line(look)) for look in found], next=None)


@saved_router.get("/{name}", name="show_saved", responses=documented(404))
async def show_saved(gateway: Gateway, caller: Caller, name: NamePath) -> SavedOut:
    """One with its plan."""
    return _out(await gateway.saved.show_saved(caller, name))


@saved_router.put(
    "/{name}", name="save_workflow", response_model=SavedOut, responses=documented(404)
)
async def save_workflow(
    gateway: Gateway, asked: IdempotentCreate, name: NamePath, body: SavedIn
) -> Response:
    """Save a plan under a name, in the place of what was saved under it before. It is a tool at
    once: whoever saves it has approved it."""

    async def action() -> StoredResponse:
        saved = await gateway.saved.save_workflow(
            asked.caller, name, body.plan, description=body.description
        )
        look = SavedWorkflowDetails(
            saved=saved.workflow,
            ref=saved.tool.ref,
            status=ToolStatus.LIVE,
            definition=saved.tool.definition,
            plan=saved.workflow.plan,
        )
        return StoredResponse(_out(look).model_dump(mode="json"))

    return await asked.once("workflows.save", body, action, status=200)


@saved_router.delete("/{name}", name="remove_saved", status_code=204, responses=documented(404))
async def remove_saved(gateway: Gateway, caller: Caller, name: NamePath) -> Response:
    """What runs of it goes on."""
    await gateway.saved.remove_saved(caller, name)
    return Response(status_code=204)


def _out(look: SavedWorkflowDetails) -> SavedOut:
    return SavedOut(
        **_saved_line(look),
        plan=None if look.plan is None else wire_object(look.plan),
        input_schema=wire_object(look.definition.input_schema),
    )


def _saved_line(look: SavedWorkflowDetails) -> dict[str, Any]:
    saved = look.saved
    steps = saved.plan.get("steps")
    return {
        "name": saved.name,
        "tool": str(look.ref),
        "description": saved.description,
        "effect": saved.effect,
        "standing": look.status,
        "steps": len(steps) if isinstance(steps, Sequence) else 0,
        "saved_by": saved.saved_by_name,
        "saved_at": saved.saved_at,
        "changed_at": saved.changed_at,
    }
