"""Principals over REST: who there is, invitations, and links into the console."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, Response

from portico.engine.core.idempotency import StoredResponse
from portico.guard.core.principals import Identity, Role
from portico.guard.invitations import Invitation
from portico.guard.principals import PrincipalChange, PrincipalSpec
from portico.guard.sessions import HANDED_ON
from portico.interfaces.http.authentication import Caller, CallerEntry, bearer_of
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.keys import IssuedKeyOut, issued_answer
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    LabelText,
    Limit,
    Name,
    Page,
    PrincipalIdPath,
    Roles,
    Switch,
    ToolList,
    next_cursor,
    position,
)
from portico.interfaces.http.use_cases import Use
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


class PrincipalIn(Body, title="PrincipalIn"):
    kind: Literal[PrincipalKind.AGENT, PrincipalKind.WORKER]
    name: Name
    roles: Roles = Field(default=[Role.MEMBER])
    clearance: LabelText = "team"
    tools: ToolList | None = None
    """The only tools that it may use, with wildcards: `github.*`. All of them, if left away."""


class PrincipalChangeIn(Body, title="PrincipalChangeIn"):
    """What is left away stays as it is."""

    roles: Roles | None = None
    clearance: LabelText | None = None
    tools: ToolList | None = None
    """The whole new list; `["*"]` is every tool."""
    disabled: Switch | None = None


class PrincipalOut(BaseModel, title="PrincipalOut"):
    id: str
    kind: PrincipalKind
    name: str
    roles: list[str]
    clearance: str
    tools: list[str] | None
    created_at: datetime
    disabled_at: datetime | None


class MeOut(BaseModel, title="MeOut"):
    """Who the key you sent makes you, and what it lets you do."""

    id: str
    space: str
    kind: PrincipalKind
    name: str
    roles: list[str]
    scopes: list[str]
    clearance: str
    tools: list[list[str]]
    """Lists of tools, each of which has to name one that you may use."""


router = APIRouter(tags=["principals"])


@router.get("/me", name="me", responses=documented())
async def me(caller: Caller) -> MeOut:
    return _me(caller)


@router.get("/principals", name="list_principals", responses=documented())
async def list_principals(
    use: Use, caller: Caller, limit: Limit = DEFAULT_LIMIT, after: After = None
) -> Page[PrincipalOut]:
    start = position(after)
    found = await use.list_principals(
        caller, after=PrincipalId.parse(start) if start is not None else None, limit=limit
    )
    data = [principal_out(identity) for identity in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.post(
    "/principals",
    name="add_principal",
    status_code=201,
    response_model=PrincipalOut,
    responses=documented(409),
)
async def add_principal(use: Use, asked: IdempotentCreate, body: PrincipalIn) -> Response:
    """Add an agent or a worker; a person is better invited."""
    wish = PrincipalSpec(
        kind=body.kind,
        name=body.name,
        roles=frozenset(body.roles),
        clearance=Label.parse(body.clearance),
        tools=None if body.tools is None else tuple(body.tools),
    )

    async def action() -> StoredResponse:
        identity = await use.add_principal(asked.caller, wish)
        return StoredResponse(principal_out(identity).model_dump(mode="json"))

    return await asked.once("principals.add", body, action, status=201)


@router.get("/principals/{principal_id}", name="show_principal", responses=documented(404))
async def show_principal(use: Use, caller: Caller, principal_id: PrincipalIdPath) -> PrincipalOut:
    return principal_out(await use.show_principal(caller, PrincipalId.parse(principal_id)))


@router.patch(
    "/principals/{principal_id}",
    name="change_principal",
    response_model=PrincipalOut,
    responses=documented(404, 409),
)
async def change_principal(
    use: Use, asked: IdempotentCreate, principal_id: PrincipalIdPath, body: PrincipalChangeIn
) -> Response:
    """Change roles, clearance or tools, disable or enable; never one's own."""
    change = PrincipalChange(
        roles=None if body.roles is None else frozenset(body.roles),
        clearance=None if body.clearance is None else Label.parse(body.clearance),
        tools=None if body.tools is None else tuple(body.tools),
        disabled=body.disabled,
    )

    async def action() -> StoredResponse:
        who = PrincipalId.parse(principal_id)
        identity = await use.change_principal(asked.caller, who, change)
        return StoredResponse(principal_out(identity).model_dump(mode="json"))

    return await asked.once("principals.change", body, action, status=200)


def principal_out(identity: Identity) -> PrincipalOut:
    return PrincipalOut(
        id=str(identity.id),
        kind=identity.kind,
        name=identity.name,
        roles=sorted(identity.roles),
        clearance=str(identity.clearance),
        tools=None if identity.tools is None else [*identity.tools],
        created_at=identity.created_at,
        disabled_at=identity.disabled_at,
    )


def _me(caller: Principal) -> MeOut:
    return MeOut(
        id=str(caller.id),
        space=str(caller.space),
        kind=caller.kind,
        name=caller.name,
        roles=sorted(caller.roles),
        scopes=sorted(caller.scopes),
        clearance=str(caller.clearance),
        tools=[[*each] for each in caller.tools],
    )


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


invitations_router = APIRouter(prefix="/invitations", tags=["invitations"])


@invitations_router.post(
    "", name="invite", status_code=201, response_model=InvitationOut, responses=documented(409)
)
async def invite(use: Use, asked: IdempotentCreate, body: InvitationIn) -> Response:
    """Invite a person by a link that works once, within a week."""
    wish = PrincipalSpec(
        kind=PrincipalKind.PERSON,
        name=body.name,
        roles=frozenset(body.roles),
        clearance=Label.parse(body.clearance),
    )

    async def action() -> StoredResponse:
        return invitation_answer(await use.invite_person(asked.caller, wish), use.base_url)

    return await asked.once("invitations.invite", body, action, status=201)


@invitations_router.post(
    "/{principal_id}/again",
    name="invite_again",
    status_code=201,
    response_model=InvitationOut,
    responses=documented(404, 409),
)
async def invite_again(
    use: Use, asked: IdempotentCreate, principal_id: PrincipalIdPath
) -> Response:
    """A new link for a person who has lost theirs."""

    async def action() -> StoredResponse:
        who = PrincipalId.parse(principal_id)
        return invitation_answer(await use.invite_again(asked.caller, who), use.base_url)

    return await asked.once("invitations.again", None, action, status=201)


@invitations_router.post(
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


def invitation_answer(invitation: Invitation, base_url: str) -> StoredResponse:
    """The secret stands behind the #, which browsers keep to themselves: no log ever has it."""
    kept = InvitationOut(
        principal=principal_out(invitation.identity), expires_at=invitation.expires_at, link=None
    )
    return StoredResponse(
        kept.model_dump(mode="json"),
        shown_once={"link": f"{base_url}/join#{invitation.key.reveal()}"},
    )


console_links_router = APIRouter(prefix="/console-links", tags=["console"])


class ConsoleLinkOut(BaseModel, title="ConsoleLinkOut"):
    link: str
    """With a session behind the #, which the page it leads to exchanges for another."""
    expires_at: datetime


@console_links_router.post(
    "", name="open_console", status_code=201, response_model=ConsoleLinkOut, responses=documented()
)
async def open_console(use: Use, _caller: Caller, request: Request) -> Response:
    """For a person, with an access key of theirs."""
    made = await use.open_session(bearer_of(request.scope), "portico ui", HANDED_ON)
    expires = made.stored.expires_at or made.stored.created_at + HANDED_ON
    body = ConsoleLinkOut(link=f"{use.base_url}/login#{made.key.reveal()}", expires_at=expires)
    return Response(body.model_dump_json(), 201, media_type="application/json")
