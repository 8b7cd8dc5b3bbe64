"""Saved workflows over REST: plans that are tools."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from portico.engine.core.idempotency import Answer
from portico.gateway.core.catalog_snapshot import Standing
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.gateway_use_cases import Gateway
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import Page
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, wire_object
from portico.kernel.effect import Effect
from portico.workflows.saved import SavedLook

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
    standing: Standing
    steps: int
    saved_by: str
    """Their name when they did."""
    saved_at: datetime
    changed_at: datetime


class SavedOut(SavedLine, title="SavedOut"):
    plan: dict[str, JsonValue] | None
    """None if your key may not use all that it calls."""
    input_schema: dict[str, JsonValue]


router = APIRouter(prefix="/saved-workflows", tags=["workflows"])


@router.get("", name="list_saved", responses=documented())
async def list_saved(gateway: Gateway, caller: Caller) -> Page[SavedLine]:
    """By name: those that you could find as tools."""
    found = await gateway.saved.list_saved(caller)
    return Page(data=[SavedLine(**_line(look)) for look in found], next=None)


@router.get("/{name}", name="show_saved", responses=documented(404))
async def show_saved(gateway: Gateway, caller: Caller, name: NamePath) -> SavedOut:
    """One with its plan."""
    return _out(await gateway.saved.show_saved(caller, name))


@router.put("/{name}", name="save_workflow", response_model=SavedOut, responses=documented(404))
async def save_workflow(gateway: Gateway, asked: Asked, name: NamePath, body: SavedIn) -> Response:
    """Save a plan under a name, in the place of what was saved under it before. It is a tool at
    once: whoever saves it has approved it."""

    async def action() -> Answer:
        saved = await gateway.saved.save_workflow(
            asked.caller, name, body.plan, description=body.description
        )
        look = SavedLook(
            saved=saved.workflow,
            ref=saved.tool.ref,
            standing=Standing.LIVE,
            definition=saved.tool.definition,
            plan=saved.workflow.plan,
        )
        return Answer(_out(look).model_dump(mode="json"))

    return await asked.once("workflows.save", body, action, status=200)


@router.delete("/{name}", name="remove_saved", status_code=204, responses=documented(404))
async def remove_saved(gateway: Gateway, caller: Caller, name: NamePath) -> Response:
    """What runs of it goes on."""
    await gateway.saved.remove_saved(caller, name)
    return Response(status_code=204)


def _out(look: SavedLook) -> SavedOut:
    return SavedOut(
        **_line(look),
        plan=None if look.plan is None else wire_object(look.plan),
        input_schema=wire_object(look.definition.input_schema),
    )


def _line(look: SavedLook) -> dict[str, Any]:
    saved = look.saved
    steps = saved.plan.get("steps")
    return {
        "name": saved.name,
        "tool": str(look.ref),
        "description": saved.description,
        "effect": saved.effect,
        "standing": look.standing,
        "steps": len(steps) if isinstance(steps, Sequence) else 0,
        "saved_by": saved.saved_by_name,
        "saved_at": saved.saved_at,
        "changed_at": saved.changed_at,
    }
