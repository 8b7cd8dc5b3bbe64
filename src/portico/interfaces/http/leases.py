"""Leases over REST: for a while something is somebody's, and others see whose."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from portico.bridge.core.leases import (
    LONGEST,
    MOST_LETTERS,
    USUAL,
    Lease,
    LeaseId,
    LeaseWish,
    Waiting,
)
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Things
from portico.interfaces.http.once import Asked
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, LeaseIdPath, OneLine, ProjectIdPath, Switch, Text

_Resource = Annotated[OneLine, StringConstraints(max_length=MOST_LETTERS)]
_Seconds = Annotated[int, Field(strict=True, ge=1, le=int(LONGEST.total_seconds()))]
Token = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
_USUAL = int(USUAL.total_seconds())


class LeaseIn(Body, title="LeaseIn"):
    resource: _Resource
    """A name or a pattern: `src/parser/**`, `branch:main`. `*` stands for anything but `/`, `**`
    for anything, and every other letter for itself: `pages/[id].ts` is one file."""
    seconds: _Seconds = _USUAL
    purpose: Annotated[Text, Field(max_length=MOST_LETTERS)] = ""
    wait: Switch = False
    """If it is another's, to be in the queue for it, and to be seen there."""


class RenewIn(Body, title="RenewIn"):
    token: Token
    seconds: _Seconds = _USUAL


class TokenIn(Body, title="TokenIn"):
    token: Token


class LeaseCheckIn(Body, title="LeaseCheckIn"):
    resource: _Resource
    token: Token


class LeaseOut(BaseModel, title="LeaseOut"):
    id: str
    project: str
    resource: str
    holder: str
    holder_name: str
    token: int
    """Larger than that of every lease that was given before in this project: whoever guards the
    resource refuses a smaller one than it has seen."""
    taken_at: datetime
    expires_at: datetime
    purpose: str


class WaitingOut(BaseModel, title="WaitingOut"):
    principal: str
    name: str
    resource: str
    since: datetime
    until: datetime
    """When they lose their place, unless they ask again before."""


class LeasesOut(BaseModel, title="LeasesOut"):
    data: list[LeaseOut]
    waiting: list[WaitingOut]
    """Whoever wants what another has, in the order in which they came."""


router = APIRouter(tags=["bridge"])


@router.get("/projects/{project}/leases", name="list_leases", responses=documented(404))
async def list_leases(things: Things, caller: Caller, project: ProjectIdPath) -> LeasesOut:
    """Those that are held now."""
    held, waiting = await things.list_leases(caller, ProjectId.parse(project))
    return LeasesOut(
        data=[lease_out(each) for each in held], waiting=[_waiting_out(each) for each in waiting]
    )


@router.post(
    "/projects/{project}/leases", name="take_lease", status_code=201, responses=documented(404)
)
async def take_lease(
    things: Things, asked: Asked, project: ProjectIdPath, body: LeaseIn
) -> LeaseOut:
    """409 `lease_held` tells who has it, and until when. With the same `Idempotency-Key` again it
    is the same lease of this project; for another resource the key is refused."""
    wish = LeaseWish(
        project=ProjectId.parse(project),
        resource=body.resource,
        lasts=timedelta(seconds=body.seconds),
        purpose=body.purpose,
        wait=body.wait,
        key=asked.key,
    )
    return lease_out(await things.take_lease(asked.caller, wish))


@router.post("/projects/{project}/leases/check", name="check_lease", responses=documented(404))
async def check_lease(
    things: Things, caller: Caller, project: ProjectIdPath, body: LeaseCheckIn
) -> LeaseOut:
    """Whether this token is that of who holds it now; 409 `lease_lost` if not."""
    return lease_out(
        await things.check_lease(caller, ProjectId.parse(project), body.resource, body.token)
    )


@router.post("/leases/{lease}/renew", name="renew_lease", responses=documented(404))
async def renew_lease(
    things: Things, caller: Caller, lease: LeaseIdPath, body: RenewIn
) -> LeaseOut:
    """For so long from now on; 409 `lease_lost` if it has expired, even if nobody took it."""
    renewed = await things.renew_lease(
        caller, LeaseId.parse(lease), body.token, for_=timedelta(seconds=body.seconds)
    )
    return lease_out(renewed)


@router.post(
    "/leases/{lease}/release", name="release_lease", status_code=204, responses=documented(404)
)
async def release_lease(things: Things, caller: Caller, lease: LeaseIdPath, body: TokenIn) -> None:
    await things.release_lease(caller, LeaseId.parse(lease), body.token)


def lease_out(lease: Lease) -> LeaseOut:
    return LeaseOut(
        id=str(lease.id),
        project=str(lease.project),
        resource=lease.resource,
        holder=str(lease.holder),
        holder_name=lease.holder_name,
        token=lease.token,
        taken_at=lease.taken_at,
        expires_at=lease.expires_at,
        purpose=lease.purpose,
    )


def _waiting_out(waiting: Waiting) -> WaitingOut:
    return WaitingOut(
        principal=str(waiting.principal),
        name=waiting.name,
        resource=waiting.resource,
        since=waiting.since,
        until=waiting.until,
    )
