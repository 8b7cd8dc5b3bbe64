"""Work over REST: added, claimed by one, handed over, ended; and who is there to do it."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StringConstraints

from portico.bridge.core.presence import MOST_LETTERS as MOST_OF_NOTE
from portico.bridge.core.presence import Doing, Presence
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    MOST_DEPENDS,
    MOST_LETTERS,
    MOST_OF_TITLE,
    NewWork,
    Work,
    WorkEnded,
    WorkId,
    WorkState,
)
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Things
from portico.interfaces.http.bridge_words import upto_of
from portico.interfaces.http.leases import Token
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import (
    Body,
    LabelText,
    OneLine,
    PrincipalIdText,
    ProjectIdPath,
    Text,
    WorkIdPath,
    WorkIdText,
)
from portico.kernel.ids import PrincipalId

_Long = Annotated[Text, Field(max_length=MOST_LETTERS)]


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
    state: Literal[WorkState.DONE, WorkState.DROPPED] = WorkState.DONE
    outcome: _Long = ""


class PresenceIn(Body, title="PresenceIn"):
    doing: Doing = Doing.THERE
    note: Annotated[Text, Field(max_length=MOST_OF_NOTE)] = ""


class WorkOut(BaseModel, title="WorkOut"):
    id: str
    project: str
    title: str
    body: str
    label: str
    state: WorkState
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
    doing: Doing
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
    state: Annotated[WorkState | None, Query()] = None,
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
async def add_work(things: Things, asked: Asked, project: ProjectIdPath, body: WorkIn) -> WorkOut:
    """With the same `Idempotency-Key` again it is the same piece of work, for ever."""
    wanted = NewWork(
        project=ProjectId.parse(project),
        title=body.title,
        body=body.body,
        label=upto_of(body.label),
        depends=tuple(map(WorkId.parse, body.depends)),
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
    return work_out(await things.show_work(caller, WorkId.parse(work)))


@router.post("/work/{work}/claim", name="claim_work", responses=documented(404))
async def claim_work(things: Things, caller: Caller, work: WorkIdPath) -> WorkOut:
    """By one alone: 409 `work_taken` tells who has it."""
    return work_out(await things.claim_work(caller, WorkId.parse(work)))


@router.post("/work/{work}/hand-over", name="hand_over_work", responses=documented(404))
async def hand_over_work(
    things: Things, caller: Caller, work: WorkIdPath, body: HandOverIn
) -> WorkOut:
    """What you have claimed, to somebody or to whoever comes."""
    to = None if body.to is None else PrincipalId.parse(body.to)
    return work_out(await things.hand_over_work(caller, WorkId.parse(work), body.token, to))


@router.post("/work/{work}/end", name="end_work", responses=documented(404))
async def end_work(things: Things, caller: Caller, work: WorkIdPath, body: EndIn) -> WorkOut:
    """What you have claimed; the same again changes nothing."""
    ended = WorkEnded(
        work=WorkId.parse(work), token=body.token, state=body.state, outcome=body.outcome
    )
    return work_out(await things.end_work(caller, ended))


def work_out(work: Work) -> WorkOut:
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
