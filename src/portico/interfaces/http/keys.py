"""API keys over REST: issue, list, rotate, revoke, and whose answers one may pass on."""

from datetime import datetime, timedelta
from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, model_validator
from starlette.responses import Response

from portico.engine.core.idempotency import StoredResponse
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Scope
from portico.guard.keys import IssuedKey, KeySpec
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    KeyIdPath,
    LabelText,
    Limit,
    Name,
    Page,
    PrincipalIdText,
    Switch,
    ToolList,
    next_cursor,
    position,
)
from portico.interfaces.http.use_cases import Gateway, Use
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

_DAYS = Field(ge=1, le=3650, strict=True)


class KeyIn(Body, title="KeyIn"):
    name: Name
    principal: PrincipalIdText | None = None
    """Whose key it is; yours if left away."""
    scopes: Annotated[list[Scope], Field(max_length=50)] | None = None
    """All that the principal may, if left away."""
    clearance: LabelText | None = None
    tools: ToolList | None = None
    """The only tools that it is good for, with wildcards: `github.*`. What the principal may, if
    left away."""
    days: Annotated[int, _DAYS] | None = None
    """How long it works; until it is revoked if left away."""
    agent: Switch = False
    """For a program that acts for you: of a new agent of that name if you may add principals, else
    of your own, with what a program may have."""

    @model_validator(mode="after")
    def _has_one_holder(self) -> Self:
        if self.agent and self.principal is not None:
            raise ValueError("either agent or principal")
        return self


class RotateIn(Body, title="RotateIn"):
    overlap_hours: Annotated[int, Field(ge=0, le=720, strict=True)] = 24
    """How long the old key goes on working beside the new one."""


class KeyOut(BaseModel, title="KeyOut"):
    id: str
    principal: str
    name: str
    scopes: list[str] | None
    clearance: str
    tools: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class IssuedKeyOut(KeyOut, title="IssuedKeyOut"):
    key: str | None
    """The key itself. Shown once: null when the answer is repeated; then rotate it."""


router = APIRouter(prefix="/keys", tags=["keys"])


@router.get("", name="list_keys", responses=documented())
async def list_keys(
    use: Use, caller: Caller, limit: Limit = DEFAULT_LIMIT, after: After = None
) -> Page[KeyOut]:
    """All keys of the space with the scope keys:read, else your own."""
    found = await use.list_keys(caller, after=position(after), limit=limit)
    data = [_kept(key) for key in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.post(
    "",
    name="issue_key",
    status_code=201,
    response_model=IssuedKeyOut,
    responses=documented(404, 409),
)
async def issue_key(use: Use, asked: IdempotentCreate, body: KeyIn) -> Response:
    wish = KeySpec(
        name=body.name,
        principal=None if body.principal is None else PrincipalId.parse(body.principal),
        scopes=None if body.scopes is None else frozenset(body.scopes),
        clearance=None if body.clearance is None else Label.parse(body.clearance),
        tools=None if body.tools is None else tuple(body.tools),
        lifetime=None if body.days is None else timedelta(days=body.days),
    )

    async def action() -> StoredResponse:
        issue = use.issue_agent_key if body.agent else use.issue_key
        return issued_answer(await issue(asked.caller, wish))

    return await asked.once("keys.issue", body, action, status=201)


@router.get("/{key_id}", name="show_key", responses=documented(404))
async def show_key(use: Use, caller: Caller, key_id: KeyIdPath) -> KeyOut:
    return _kept(await use.show_key(caller, key_id))


@router.post(
    "/{key_id}/rotate",
    name="rotate_key",
    status_code=201,
    response_model=IssuedKeyOut,
    responses=documented(404, 409),
)
async def rotate_key(
    use: Use, asked: IdempotentCreate, key_id: KeyIdPath, body: RotateIn
) -> Response:
    """A new key in the old one's place; both work during the overlap."""

    async def action() -> StoredResponse:
        overlap = timedelta(hours=body.overlap_hours)
        return issued_answer(await use.rotate_key(asked.caller, key_id, overlap))

    return await asked.once("keys.rotate", body, action, status=201)


@router.delete("/{key_id}", name="revoke_key", status_code=204, responses=documented(404))
async def revoke_key(use: Use, caller: Caller, key_id: KeyIdPath) -> None:
    """End a key at once. Repeating it is harmless."""
    await use.revoke_key(caller, key_id)


def issued_answer(issued: IssuedKey) -> StoredResponse:
    return StoredResponse(
        {**_kept(issued.stored).model_dump(mode="json"), "key": None},
        shown_once={"key": issued.key.reveal()},
    )


def _kept(key: StoredKey) -> KeyOut:
    return KeyOut(
        id=key.id,
        principal=str(key.principal),
        name=key.name,
        scopes=None if key.scopes is None else sorted(key.scopes),
        clearance=str(key.clearance),
        tools=None if key.tools is None else [*key.tools],
        created_at=key.created_at,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        revoked_at=key.revoked_at,
    )


class TrustIn(Body, title="TrustIn"):
    person: PrincipalIdText | None
    """Null: nobody's any more."""


class TrustOut(BaseModel, title="TrustOut"):
    key: str
    person: str | None


trust_router = APIRouter(prefix="/keys", tags=["keys"])


@trust_router.get("/{key_id}/trust", name="show_trust", responses=documented(404))
async def show_trust(gateway: Gateway, caller: Caller, key_id: KeyIdPath) -> TrustOut:
    """Whose answers to requests for approval this key's program passes on, if anybody's."""
    person = await gateway.approvals.show_trust(caller, key_id)
    return TrustOut(key=key_id, person=None if person is None else str(person))


@trust_router.put("/{key_id}/trust", name="trust_client", responses=documented(404))
async def trust_client(
    gateway: Gateway, caller: Caller, key_id: KeyIdPath, body: TrustIn
) -> TrustOut:
    """Take what this key's program says that its user has answered for that person's own word."""
    person = None if body.person is None else PrincipalId.parse(body.person)
    await gateway.approvals.trust_client(caller, key_id, person)
    return TrustOut(key=key_id, person=body.person)
