"""Workflows and programs as they are told over REST."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, JsonValue
from starlette.responses import Response

from portico.kernel.json import JsonObject
from portico.workflows.core.plan_report import Mode, StepStanding, WorkflowStatus


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
    state: StepStanding
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
