"""Durable runs over REST: start, list, show, cancel, resume."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from starlette.responses import Response

from portico.agents.core.activation import shown
from portico.engine.core.errors import InvalidCursor
from portico.engine.core.runs import Failure, Run, RunPosition, RunStatus, Started, Step, StepState
from portico.engine.runs import RunSpec
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    LabelText,
    Limit,
    Name,
    OneLine,
    Page,
    Patience,
    RunIdPath,
    applied,
    next_cursor,
    position,
)
from portico.interfaces.http.use_cases import Use
from portico.kernel.ids import InvalidId, RunId
from portico.kernel.label import Label


def written(place: RunPosition) -> str:
    return f"{place.created_at.astimezone(UTC).isoformat()} {place.run}"


def read(text: str | None) -> RunPosition | None:
    """Raises `InvalidCursor`."""
    if text is None:
        return None
    created, _, run = text.partition(" ")
    try:
        place = RunPosition(datetime.fromisoformat(created), RunId.parse(run))
        ours = written(place) == text
    except (ValueError, OverflowError, InvalidId) as error:
        raise InvalidCursor from error
    if not ours:
        raise InvalidCursor
    return place


class RunIn(Body, title="RunIn"):
    kind: Name
    input: dict[str, JsonValue] = Field(default_factory=dict)
    label: LabelText | None = None
    """How secret it and what it gives is: `team` if left away, or less if that is above you."""


class ForkIn(Body, title="ForkIn"):
    step: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    """What ended before this one is kept; this one and the rest are done anew."""


class SignalIn(Body, title="SignalIn"):
    payload: JsonValue = None


class FailureOut(BaseModel, title="FailureOut"):
    type: str
    message: str
    code: str | None
    step: str | None


class RunSummary(BaseModel):
    id: str
    kind: str
    status: RunStatus
    principal: str
    label: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waits_for: list[str]
    """Topics; an answer to any of them lets it go on."""
    wakes_at: datetime | None
    attempts: int
    """How often it was taken up since it last waited; more than once after a crash."""
    forked_from: str | None
    error: FailureOut | None


class RunLine(
    RunSummary, title="RunLine", json_schema_extra=alias("portico__faces__http__runs__RunLine")
):
    steps_over: int


class RunPage(
    Page[RunLine],
    title="Page[RunLine]",
    json_schema_extra=alias("portico__faces__http__paging__Page_RunLine___1"),
):
    pass


class RunOut(
    RunSummary, title="RunOut", json_schema_extra=alias("portico__faces__http__runs__RunOut")
):
    input: dict[str, JsonValue]
    result: JsonValue


class StepOut(BaseModel, title="StepOut"):
    name: str
    state: StepState
    started_at: datetime
    finished_at: datetime | None
    due_at: datetime | None
    """When a wait ends by itself."""
    output: JsonValue
    error: FailureOut | None


class RunDetail(RunOut, title="RunDetail", json_schema_extra=alias("RunDetail")):
    steps: list[StepOut]
    """In the order in which they ended; those still open come last."""


_Topic = Annotated[OneLine, Path(max_length=200)]
_ENDED: Final[dict[str, Any]] = {"model": RunOut, "description": "It has ended within `wait`."}

router = APIRouter(prefix="/runs", tags=["runs"])


@router.post(
    "",
    name="start_run",
    status_code=202,
    response_model=RunOut,
    responses={**documented(), 200: _ENDED},
)
async def start_run(
    request: Request, asked: IdempotentCreate, body: RunIn, patience: Patience
) -> Response:
    """Start a run of a kind that can be started by its name: `drill`."""
    label = None if body.label is None else Label.parse(body.label)
    wish = RunSpec(kind=body.kind, input=body.input, key=asked.key, label=label)
    started = await asked.use.start_run(asked.caller, wish)
    headers = _headers(request, started)
    if patience is None:
        return _answer(_out(started.run), 202, headers)
    run = await asked.use.wait_for_run(asked.caller, started.run.id, patience)
    return _answer(_out(run), 200 if run.status.over else 202, headers | applied(patience))


@router.get("", name="list_runs", responses=documented())
async def list_runs(
    use: Use,
    caller: Caller,
    *,
    status: Annotated[list[RunStatus], Query(max_length=len(RunStatus))] = [],  # noqa: B006 # FastAPI's way; never changed
    kind: Annotated[OneLine | None, Query(max_length=100)] = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> RunPage:
    """Newest first; of one status or several, of one kind."""
    before = read(position(after))
    found = await use.list_runs(caller, statuses=status, kind=kind, before=before, limit=limit)
    data = [RunLine(**_summary(run), steps_over=over) for run, over in found]
    last = written(found[-1][0].position) if found else ""
    return RunPage(data=data, next=next_cursor(data, limit, last))


@router.get("/{run_id}", name="show_run", response_model=RunDetail, responses=documented(404))
async def show_run(use: Use, caller: Caller, run_id: RunIdPath) -> Response:
    """A run with its steps, and what each of them gave."""
    run, steps = await use.show_run(caller, RunId.parse(run_id))
    return _answer(_detail(run, steps), 200)


@router.post(
    "/{run_id}/cancel", name="cancel_run", response_model=RunOut, responses=documented(404)
)
async def cancel_run(use: Use, caller: Caller, run_id: RunIdPath) -> Response:
    """End a run. What it has done stays done."""
    return _answer(_out(await use.cancel_run(caller, RunId.parse(run_id))), 200)


@router.post(
    "/{run_id}/resume", name="resume_run", response_model=RunOut, responses=documented(404)
)
async def resume_run(use: Use, caller: Caller, run_id: RunIdPath) -> Response:
    """Take up a run that failed, was cancelled or is stuck; what failed in it is tried again."""
    return _answer(_out(await use.resume_run(caller, RunId.parse(run_id))), 200)


@router.post(
    "/{run_id}/fork",
    name="fork_run",
    status_code=202,
    response_model=RunOut,
    responses=documented(404),
)
async def fork_run(
    request: Request, asked: IdempotentCreate, run_id: RunIdPath, body: ForkIn
) -> Response:
    """Start another run from the middle of this one."""
    source = RunId.parse(run_id)
    started = await asked.use.fork_run(asked.caller, source, step=body.step, key=asked.key)
    return _answer(_out(started.run), 202, _headers(request, started))


@router.post(
    "/{run_id}/signals/{topic}", name="signal_run", response_model=RunOut, responses=documented(404)
)
async def signal_run(
    use: Use, caller: Caller, run_id: RunIdPath, topic: _Topic, body: SignalIn
) -> Response:
    """Tell a run something it waits for, or will; the first answer counts."""
    run = await use.signal_run(caller, RunId.parse(run_id), topic, body.payload)
    return _answer(_out(run), 200)


def _headers(request: Request, started: Started) -> dict[str, str]:
    where = request.app.url_path_for("show_run", run_id=str(started.run.id))
    replayed = {"Idempotency-Replayed": "true"} if started.replayed else {}
    return {"Location": str(where), **replayed}


def _answer(body: BaseModel, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """What a step gave may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(body.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="backslashreplace")
    return Response(content, status, headers, media_type="application/json")


def _summary(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "kind": run.kind,
        "status": run.status,
        "principal": str(run.principal),
        "label": str(run.label),
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "waits_for": [*run.waits_for],
        "wakes_at": run.wakes_at,
        "attempts": run.attempts,
        "forked_from": None if run.forked_from is None else str(run.forked_from),
        "error": _failure(run.failure),
    }


def _out(run: Run) -> RunOut:
    return RunOut.model_construct(
        **_summary(run), input=shown(run.kind, run.input), result=run.result
    )


def _detail(run: Run, steps: Sequence[Step]) -> RunDetail:
    return RunDetail.model_construct(
        **_summary(run),
        input=shown(run.kind, run.input),
        result=run.result,
        steps=[_step(step) for step in steps],
    )


def _step(step: Step) -> StepOut:
    return StepOut.model_construct(
        name=step.name,
        state=step.state,
        started_at=step.started_at,
        finished_at=step.finished_at,
        due_at=step.due_at,
        output=step.output,
        error=_failure(step.failure),
    )


def _failure(failure: Failure | None) -> FailureOut | None:
    return None if failure is None else FailureOut.model_validate(failure.as_json())
