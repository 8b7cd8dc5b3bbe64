"""Work items, leases and presence over REST."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StringConstraints

from portico.bridge.core.leases import (
    LONGEST,
    MOST_LETTERS,
    USUAL,
    Lease,
    LeaseId,
    LeaseSpec,
    Waiting,
)
from portico.bridge.core.presence import MOST_LETTERS as MOST_OF_NOTE
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    MOST_DEPENDS,
    MOST_OF_TITLE,
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.bridge.core.work_items import MOST_LETTERS as MAX_WORK_ITEM_LETTERS
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_shapes import upto_of
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    LabelText,
    LeaseIdPath,
    Limit,
    OneLine,
    Page,
    PrincipalIdText,
    ProjectIdPath,
    Switch,
    Text,
    WorkIdPath,
    WorkIdText,
    next_cursor,
    position,
)
from portico.interfaces.http.use_cases import Things
from portico.kernel.ids import PrincipalId

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


leases_router = APIRouter(tags=["bridge"])


@leases_router.get("/projects/{project}/leases", name="list_leases", responses=documented(404))
async def list_leases(things: Things, caller: Caller, project: ProjectIdPath) -> LeasesOut:
    """Those that are held now."""
    held, waiting = await things.list_leases(caller, ProjectId.parse(project))
    return LeasesOut(
        data=[lease_out(each) for each in held], waiting=[_waiting_out(each) for each in waiting]
    )


@leases_router.post(
    "/projects/{project}/leases", name="take_lease", status_code=201, responses=documented(404)
)
async def take_lease(
    things: Things, asked: IdempotentCreate, project: ProjectIdPath, body: LeaseIn
) -> LeaseOut:
    """409 `lease_held` tells who has it, and until when. With the same `Idempotency-Key` again it
    is the same lease of this project; for another resource the key is refused."""
    wish = LeaseSpec(
        project=ProjectId.parse(project),
        resource=body.resource,
        lasts=timedelta(seconds=body.seconds),
        purpose=body.purpose,
        wait=body.wait,
        key=asked.key,
    )
    return lease_out(await things.take_lease(asked.caller, wish))


@leases_router.post(
    "/projects/{project}/leases/check", name="check_lease", responses=documented(404)
)
async def check_lease(
    things: Things, caller: Caller, project: ProjectIdPath, body: LeaseCheckIn
) -> LeaseOut:
    """Whether this token is that of who holds it now; 409 `lease_lost` if not."""
    return lease_out(
        await things.check_lease(caller, ProjectId.parse(project), body.resource, body.token)
    )


@leases_router.post("/leases/{lease}/renew", name="renew_lease", responses=documented(404))
async def renew_lease(
    things: Things, caller: Caller, lease: LeaseIdPath, body: RenewIn
) -> LeaseOut:
    """For so long from now on; 409 `lease_lost` if it has expired, even if nobody took it."""
    renewed = await things.renew_lease(
        caller, LeaseId.parse(lease), body.token, for_=timedelta(seconds=body.seconds)
    )
    return lease_out(renewed)


@leases_router.post(
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


_Long = Annotated[Text, Field(max_length=MAX_WORK_ITEM_LETTERS)]


class WorkIn(Body, title="WorkIn"):
    title: Annotated[OneLine, StringConstraints(max_length=MOST_OF_TITLE)]
    body: _Long = ""
    label: LabelText | None = None
    """How secret it is: as what you have read, and as the project, if left away."""
    depends: Annotated[list[WorkIdText], Field(max_length=MOST_DEPENDS)] = Field(default=[])
    """What has to be over before."""


class HandOverIn(Body, title="HandOverIn"):
    token: Token
    to: PrincipalIdText | None = None
    """To whoever comes, if left away."""


class EndIn(Body, title="EndIn"):
    token: Token
    """That of your claim."""
    state: Literal[WorkItemStatus.DONE, WorkItemStatus.DROPPED] = WorkItemStatus.DONE
    outcome: _Long = ""


class PresenceIn(Body, title="PresenceIn"):
    doing: PresenceStatus = PresenceStatus.THERE
    note: Annotated[Text, Field(max_length=MOST_OF_NOTE)] = ""


class WorkOut(BaseModel, title="WorkOut"):
    id: str
    project: str
    title: str
    body: str
    label: str
    state: WorkItemStatus
    depends: list[str]
    held_up: bool
    """Something that it depends on is not over."""
    claimed_by: str | None
    claimed_by_name: str | None
    token: int
    """One more with each claim."""
    outcome: str
    untrusted: bool
    """One of those who wrote it had read strangers' words in the same task."""
    made_by: str
    made_at: datetime
    changed_at: datetime


class PresenceOut(BaseModel, title="PresenceOut"):
    principal: str
    name: str
    doing: PresenceStatus
    note: str
    until: datetime
    """Unless they say so again before."""


router = APIRouter(tags=["bridge"])


@router.get("/projects/{project}/work", name="list_work", responses=documented(404))
async def list_work(
    things: Things,
    caller: Caller,
    project: ProjectIdPath,
    *,
    state: Annotated[WorkItemStatus | None, Query()] = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[WorkOut]:
    """Oldest first."""
    found = await things.list_work(
        caller,
        ProjectId.parse(project),
        state=state,
        after=position(after),
        limit=limit,
    )
    data = [work_out(each) for each in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.post(
    "/projects/{project}/work", name="add_work", status_code=201, responses=documented(404)
)
async def add_work(
    things: Things, asked: IdempotentCreate, project: ProjectIdPath, body: WorkIn
) -> WorkOut:
    """With the same `Idempotency-Key` again it is the same piece of work, for ever."""
    wanted = NewWorkItem(
        project=ProjectId.parse(project),
        title=body.title,
        body=body.body,
        label=upto_of(body.label),
        depends=tuple(map(WorkItemId.parse, body.depends)),
        key=asked.key,
    )
    return work_out(await things.add_work(asked.caller, wanted))


@router.get("/projects/{project}/presence", name="list_presence", responses=documented(404))
async def list_presence(
    things: Things, caller: Caller, project: ProjectIdPath
) -> Page[PresenceOut]:
    """Who is there now."""
    found = await things.list_presence(caller, ProjectId.parse(project))
    return Page(data=[_presence_out(each) for each in found], next=None)


@router.put(
    "/projects/{project}/presence", name="say_presence", status_code=204, responses=documented(404)
)
async def say_presence(
    things: Things, caller: Caller, project: ProjectIdPath, body: PresenceIn
) -> None:
    """For two minutes; say it again before they are over."""
    await things.say_presence(caller, ProjectId.parse(project), body.doing, body.note)


@router.get("/work/{work}", name="show_work", responses=documented(404))
async def show_work(things: Things, caller: Caller, work: WorkIdPath) -> WorkOut:
    return work_out(await things.show_work(caller, WorkItemId.parse(work)))


@router.post("/work/{work}/claim", name="claim_work", responses=documented(404))
async def claim_work(things: Things, caller: Caller, work: WorkIdPath) -> WorkOut:
    """By one alone: 409 `work_taken` tells who has it."""
    return work_out(await things.claim_work(caller, WorkItemId.parse(work)))


@router.post("/work/{work}/hand-over", name="hand_over_work", responses=documented(404))
async def hand_over_work(
    things: Things, caller: Caller, work: WorkIdPath, body: HandOverIn
) -> WorkOut:
    """What you have claimed, to somebody or to whoever comes."""
    to = None if body.to is None else PrincipalId.parse(body.to)
    return work_out(await things.hand_over_work(caller, WorkItemId.parse(work), body.token, to))


@router.post("/work/{work}/end", name="end_work", responses=documented(404))
async def end_work(things: Things, caller: Caller, work: WorkIdPath, body: EndIn) -> WorkOut:
    """What you have claimed; the same again changes nothing."""
    ended = WorkEnded(
        work=WorkItemId.parse(work), token=body.token, state=body.state, outcome=body.outcome
    )
    return work_out(await things.end_work(caller, ended))


def work_out(work: WorkItem) -> WorkOut:
    return WorkOut(
        id=str(work.id),
        project=str(work.project),
        title=work.title,
        body=work.body,
        label=str(work.label),
        state=work.state,
        depends=[*map(str, work.depends)],
        held_up=work.held_up,
        claimed_by=None if work.claimed_by is None else str(work.claimed_by),
        claimed_by_name=work.claimed_by_name,
        token=work.token,
        outcome=work.outcome,
        untrusted=work.untrusted,
        made_by=str(work.made_by),
        made_at=work.made_at,
        changed_at=work.changed_at,
    )


def _presence_out(presence: Presence) -> PresenceOut:
    return PresenceOut(
        principal=str(presence.principal),
        name=presence.name,
        doing=presence.doing,
        note=presence.note,
        until=presence.until,
    )
