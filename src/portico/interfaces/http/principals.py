"""Principals over REST: who there is in a space, and what they may do."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from portico.engine.core.idempotency import Answer
from portico.guard.core.principals import Identity, Role
from portico.guard.principals import PrincipalChange, PrincipalWish
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.problems import documented
from portico.interfaces.http.use_cases import Use
from portico.interfaces.http.words import (
    Body,
    LabelText,
    Name,
    PrincipalIdPath,
    Roles,
    Switch,
    ToolList,
)
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
async def add_principal(use: Use, asked: Asked, body: PrincipalIn) -> Response:
    """Add an agent or a worker; a person is better invited."""
    wish = PrincipalWish(
        kind=body.kind,
        name=body.name,
        roles=frozenset(body.roles),
        clearance=Label.parse(body.clearance),
        tools=None if body.tools is None else tuple(body.tools),
    )

    async def action() -> Answer:
        identity = await use.add_principal(asked.caller, wish)
        return Answer(principal_out(identity).model_dump(mode="json"))

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
    use: Use, asked: Asked, principal_id: PrincipalIdPath, body: PrincipalChangeIn
) -> Response:
    """Change roles, clearance or tools, disable or enable; never one's own."""
    change = PrincipalChange(
        roles=None if body.roles is None else frozenset(body.roles),
        clearance=None if body.clearance is None else Label.parse(body.clearance),
        tools=None if body.tools is None else tuple(body.tools),
        disabled=body.disabled,
    )

    async def action() -> Answer:
        who = PrincipalId.parse(principal_id)
        identity = await use.change_principal(asked.caller, who, change)
        return Answer(principal_out(identity).model_dump(mode="json"))

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
