"""A way into the console for whoever has a key: a link that works once, for two minutes."""

from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from portico.guard.sessions import HANDED_ON
from portico.interfaces.http.authentication import Caller, bearer_of
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use

router = APIRouter(prefix="/console-links", tags=["console"])


class ConsoleLinkOut(BaseModel, title="ConsoleLinkOut"):
    link: str
    """With a session behind the #, which the page it leads to exchanges for another."""
    expires_at: datetime


@router.post(
    "", name="open_console", status_code=201, response_model=ConsoleLinkOut, responses=documented()
)
async def open_console(use: Use, _caller: Caller, request: Request) -> Response:
    """For a person, with an access key of theirs."""
    made = await use.open_session(bearer_of(request.scope), "portico ui", HANDED_ON)
    expires = made.stored.expires_at or made.stored.created_at + HANDED_ON
    body = ConsoleLinkOut(link=f"{use.base_url}/login#{made.key.reveal()}", expires_at=expires)
    return Response(body.model_dump_json(), 201, media_type="application/json")
