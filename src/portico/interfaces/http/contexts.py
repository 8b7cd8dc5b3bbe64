"""Tasks over REST: open a clean one, see what each has taken in, close it."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from portico.engine.core.idempotency import Answer
from portico.guard.core.contexts import OpenedContext
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.once import Asked
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use
from portico.interfaces.http.words import Body, ContextIdPath, Name
from portico.kernel.ids import ContextId


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


router = APIRouter(prefix="/contexts", tags=["contexts"])


@router.get("", name="list_contexts", responses=documented())
async def list_contexts(use: Use, caller: Caller) -> list[ContextOut]:
    """Your own that are open."""
    return [_out(each) for each in await use.list_contexts(caller)]


@router.post(
    "", name="open_context", status_code=201, response_model=ContextOut, responses=documented()
)
async def open_context(use: Use, asked: Asked, body: ContextIn) -> Response:
    """A clean one, for a person or a worker; an agent's task is always that of its key."""

    async def action() -> Answer:
        opened = await use.open_context(asked.caller, body.name)
        return Answer(_out(opened).model_dump(mode="json"))

    return await asked.once("contexts.open", body, action, status=201)


@router.delete("/{context}", name="close_context", status_code=204, responses=documented(404))
async def close_context(use: Use, caller: Caller, context: ContextIdPath) -> None:
    """Nothing more is done in it."""
    await use.close_context(caller, ContextId.parse(context))


def _out(opened: OpenedContext) -> ContextOut:
    return ContextOut(
        id=str(opened.id),
        name=opened.name,
        label=str(opened.label),
        untrusted=opened.untrusted,
        opened_at=opened.opened_at,
    )
