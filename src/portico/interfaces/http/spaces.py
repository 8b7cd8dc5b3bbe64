"""Spaces and task contexts over REST."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from portico.engine.core.idempotency import StoredResponse
from portico.guard.core.contexts import OpenedContext
from portico.guard.core.spaces import ExportedRow, Space
from portico.guard.spaces import SpaceSpec
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.principals import InvitationOut, invitation_answer
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import Body, ContextIdPath, Name, Page, SpaceIdPath
from portico.interfaces.http.use_cases import Use
from portico.kernel.ids import ContextId, SpaceId


class SpaceIn(Body, title="SpaceIn"):
    name: Name
    admin: Name
    """The person who will be invited as the new space's admin."""


class SpaceChange(Body, title="SpaceChange"):
    name: Name


class SpaceOut(BaseModel, title="SpaceOut"):
    id: str
    name: str
    created_at: datetime


class FoundedOut(BaseModel, title="FoundedOut"):
    space: SpaceOut
    invitation: InvitationOut


router = APIRouter(prefix="/spaces", tags=["spaces"])


@router.get("", name="list_spaces", responses=documented())
async def list_spaces(use: Use, caller: Caller) -> Page[SpaceOut]:
    """The spaces you can see: your own."""
    return Page(data=[_out(await use.show_space(caller))], next=None)


@router.post(
    "", name="found_space", status_code=201, response_model=FoundedOut, responses=documented(409)
)
async def found_space(use: Use, asked: IdempotentCreate, body: SpaceIn) -> Response:
    """Found a space; its admin comes in by the invitation in the answer, shown once."""

    async def action() -> StoredResponse:
        space, invitation = await use.found_space(
            asked.caller, SpaceSpec(name=body.name, admin=body.admin)
        )
        invited = invitation_answer(invitation, use.base_url)
        founded = {"space": _out(space).model_dump(mode="json")}
        return StoredResponse(
            stored={**founded, "invitation": invited.stored},
            shown_once={"invitation": invited.first()},
        )

    return await asked.once("spaces.found", body, action, status=201)


@router.get("/{space_id}", name="show_space", responses=documented(404))
async def show_space(use: Use, caller: Caller, space_id: SpaceIdPath) -> SpaceOut:
    return _out(await use.show_space(caller, SpaceId.parse(space_id)))


@router.patch(
    "/{space_id}", name="rename_space", response_model=SpaceOut, responses=documented(404, 409)
)
async def rename_space(
    use: Use, asked: IdempotentCreate, space_id: SpaceIdPath, body: SpaceChange
) -> Response:
    async def action() -> StoredResponse:
        space = await use.rename_space(asked.caller, SpaceId.parse(space_id), body.name)
        return StoredResponse(_out(space).model_dump(mode="json"))

    return await asked.once("spaces.rename", body, action, status=200)


@router.get(
    "/{space_id}/export",
    name="export_space",
    response_class=StreamingResponse,
    responses={
        **documented(404),
        200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}},
    },
)
async def export_space(use: Use, caller: Caller, space_id: SpaceIdPath) -> StreamingResponse:
    """Every row of the space that is yours to see, one JSON object a line; no proof of any key."""
    rows = await use.export_space(caller, SpaceId.parse(space_id))
    return StreamingResponse(_lines(rows), media_type="application/x-ndjson")


@router.delete("/{space_id}", name="delete_space", status_code=204, responses=documented(404))
async def delete_space(
    use: Use,
    caller: Caller,
    space_id: SpaceIdPath,
    confirm: Annotated[str, Query(max_length=200, description="The space's name.")],
) -> None:
    """Remove the space and everything in it, for ever. Repeating it is harmless."""
    await use.delete_space(caller, SpaceId.parse(space_id), confirm=confirm)


def _out(space: Space) -> SpaceOut:
    return SpaceOut(id=str(space.id), name=space.name, created_at=space.created_at)


async def _lines(rows: AsyncGenerator[ExportedRow, None]) -> AsyncIterator[str]:
    async with aclosing(rows):
        async for row in rows:
            yield json.dumps({"table": row.table, "values": row.values}) + "\n"


class ContextIn(Body, title="ContextIn"):
    name: Name
    """What you will know it by."""


class ContextOut(BaseModel, title="ContextOut"):
    id: str
    """To be sent as the header `Portico-Context`, with each request that is part of the task."""
    name: str
    label: str
    """The most secret of what has been read in it so far."""
    untrusted: bool
    """Whether anything has been read in it that a stranger wrote."""
    opened_at: datetime


contexts_router = APIRouter(prefix="/contexts", tags=["contexts"])


@contexts_router.get("", name="list_contexts", responses=documented())
async def list_contexts(use: Use, caller: Caller) -> list[ContextOut]:
    """Your own that are open."""
    return [_context_out(each) for each in await use.list_contexts(caller)]


@contexts_router.post(
    "", name="open_context", status_code=201, response_model=ContextOut, responses=documented()
)
async def open_context(use: Use, asked: IdempotentCreate, body: ContextIn) -> Response:
    """A clean one, for a person or a worker; an agent's task is always that of its key."""

    async def action() -> StoredResponse:
        opened = await use.open_context(asked.caller, body.name)
        return StoredResponse(_context_out(opened).model_dump(mode="json"))

    return await asked.once("contexts.open", body, action, status=201)


@contexts_router.delete(
    "/{context}", name="close_context", status_code=204, responses=documented(404)
)
async def close_context(use: Use, caller: Caller, context: ContextIdPath) -> None:
    """Nothing more is done in it."""
    await use.close_context(caller, ContextId.parse(context))


def _context_out(opened: OpenedContext) -> ContextOut:
    return ContextOut(
        id=str(opened.id),
        name=opened.name,
        label=str(opened.label),
        untrusted=opened.untrusted,
        opened_at=opened.opened_at,
    )
