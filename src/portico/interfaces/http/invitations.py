"""Inviting people over REST."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, Response

from portico.engine.core.idempotency import Answer
from portico.guard.core.principals import Role
from portico.guard.invitations import Invitation
from portico.guard.principals import PrincipalWish
from portico.interfaces.http.authentication import CallerEntry
from portico.interfaces.http.keys import IssuedKeyOut, issued_answer
from portico.interfaces.http.once import Asked
from portico.interfaces.http.principals import PrincipalOut, principal_out
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use
from portico.interfaces.http.words import Body, LabelText, Name, PrincipalIdPath, Roles
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>You are invited to Portico</title>
<style>body{font:16px/1.5 system-ui;max-width:38rem;margin:12vh auto;padding:0 1rem}
code{background:#8882;padding:.15em .35em;border-radius:.25em}</style>
<h1>You are invited</h1>
<p>On the machine you work on, install Portico if it is not there
(<code>pip install portico</code>). Then copy the whole address of this page, and run:</p>
<p><code>portico join --save 'THE ADDRESS'</code></p>
<p>It works once, within a week of the invitation. The part behind the # never left your
browser.</p></html>
"""


class InvitationIn(Body, title="InvitationIn"):
    name: Name
    roles: Roles = Field(default=[Role.MEMBER])
    clearance: LabelText = "team"


class InvitationOut(BaseModel, title="InvitationOut"):
    principal: PrincipalOut
    expires_at: datetime
    link: str | None
    """Shown once: null when the answer is repeated."""


router = APIRouter(prefix="/invitations", tags=["invitations"])


@router.post(
    "", name="invite", status_code=201, response_model=InvitationOut, responses=documented(409)
)
async def invite(use: Use, asked: Asked, body: InvitationIn) -> Response:
    """Invite a person by a link that works once, within a week."""
    wish = PrincipalWish(
        kind=PrincipalKind.PERSON,
        name=body.name,
        roles=frozenset(body.roles),
        clearance=Label.parse(body.clearance),
    )

    async def action() -> Answer:
        return invitation_answer(await use.invite_person(asked.caller, wish), use.base_url)

    return await asked.once("invitations.invite", body, action, status=201)


@router.post(
    "/{principal_id}/again",
    name="invite_again",
    status_code=201,
    response_model=InvitationOut,
    responses=documented(404, 409),
)
async def invite_again(use: Use, asked: Asked, principal_id: PrincipalIdPath) -> Response:
    """A new link for a person who has lost theirs."""

    async def action() -> Answer:
        who = PrincipalId.parse(principal_id)
        return invitation_answer(await use.invite_again(asked.caller, who), use.base_url)

    return await asked.once("invitations.again", None, action, status=201)


@router.post(
    "/accept",
    name="accept",
    status_code=201,
    response_model=IssuedKeyOut,
    responses=documented(409),
)
async def accept(use: Use, entry: CallerEntry) -> Response:
    """Take the invitation, sent as the bearer key, and get a key for it."""
    issued = await use.accept_invitation(entry.principal, entry.key_id)
    body = IssuedKeyOut.model_validate(issued_answer(issued).first())
    return Response(body.model_dump_json(), 201, media_type="application/json")


join_page = APIRouter(include_in_schema=False)


@join_page.get("/join")
async def join() -> HTMLResponse:
    headers = {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        "Referrer-Policy": "no-referrer",
    }
    return HTMLResponse(_PAGE, headers=headers)


def invitation_answer(invitation: Invitation, base_url: str) -> Answer:
    """The secret stands behind the #, which browsers keep to themselves: no log ever has it."""
    kept = InvitationOut(
        principal=principal_out(invitation.identity), expires_at=invitation.expires_at, link=None
    )
    return Answer(
        kept.model_dump(mode="json"),
        shown_once={"link": f"{base_url}/join#{invitation.key.reveal()}"},
    )
