"""What projects remember, over REST: read, written upon a version, forgotten, found."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from portico.bridge.core.memory import MOST_LETTERS, Remembered, ToRemember
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Things
from portico.interfaces.http.bridge_words import upto_of
from portico.interfaces.http.paging import DEFAULT_LIMIT, Limit, Page, next_cursor, text_position
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import (
    Body,
    LabelText,
    Moment,
    OneLine,
    ProjectIdPath,
    Text,
    wire,
)

_KeyText = Annotated[OneLine, StringConstraints(max_length=MOST_LETTERS)]
_Key = Annotated[_KeyText, Query(description="`notes/build`: any line, with slashes or without.")]
_Prefix = Annotated[
    Annotated[Text, StringConstraints(max_length=MOST_LETTERS)],
    Query(description="How the keys begin."),
]
_After = Annotated[
    str | None, Query(max_length=1200, description="`next` of the page before this one.")
]
_Version = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]


class MemoryIn(Body, title="MemoryIn"):
    value: JsonValue
    label: LabelText | None = None
    """How secret it is: as what you have read, and as the project, if left away. Under another
    label the same key is another memory."""
    version: _Version | None = None
    """The one that you have read; 0 if there must be none. Left away: whatever is there."""
    expires_at: Moment | None = None


class MemoryOut(BaseModel, title="MemoryOut"):
    project: str
    key: str
    value: JsonValue
    label: str
    version: int
    expires_at: datetime | None
    forgotten: bool
    """From this version on there was nothing, until there is a later one."""
    untrusted: bool
    """Its writer had read strangers' words in the same task."""
    by: str
    at: datetime


router = APIRouter(prefix="/projects/{project}/memory", tags=["bridge"])


@router.get("", name="list_memory", responses=documented(404))
async def list_memory(
    things: Things,
    caller: Caller,
    project: ProjectIdPath,
    *,
    prefix: _Prefix = "",
    limit: Limit = DEFAULT_LIMIT,
    after: _After = None,
) -> Page[MemoryOut]:
    """By key; of each the most secret that you may read."""
    found = await things.list_memory(
        caller, ProjectId.parse(project), prefix=prefix, after=text_position(after), limit=limit
    )
    data = [memory_out(each) for each in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].key if data else ""))


@router.get("/value", name="recall", responses=documented(404))
async def recall(things: Things, caller: Caller, project: ProjectIdPath, key: _Key) -> MemoryOut:
    """The most secret that you may read."""
    return memory_out(await things.recall(caller, ProjectId.parse(project), key))


@router.put("/value", name="remember", responses=documented(404))
async def remember(
    things: Things, caller: Caller, project: ProjectIdPath, key: _Key, body: MemoryIn
) -> MemoryOut:
    """With a version, nobody's change since is written over."""
    wanted = ToRemember(
        project=ProjectId.parse(project),
        key=key,
        value=body.value,
        label=upto_of(body.label),
        version=body.version,
        expires_at=body.expires_at,
    )
    return memory_out(await things.remember(caller, wanted))


@router.delete("/value", name="forget", status_code=204, responses=documented(404))
async def forget(
    things: Things,
    caller: Caller,
    project: ProjectIdPath,
    key: _Key,
    label: Annotated[
        LabelText | None, Query(description="Under which label; the one you read, if left away.")
    ] = None,
) -> None:
    """Its history stays."""
    await things.forget(caller, ProjectId.parse(project), key, upto_of(label))


@router.get("/history", name="memory_history", responses=documented(404))
async def memory_history(
    things: Things, caller: Caller, project: ProjectIdPath, key: _Key
) -> Page[MemoryOut]:
    """Every version of it that you may read, newest first."""
    found = await things.memory_history(caller, ProjectId.parse(project), key)
    return Page(data=[memory_out(each) for each in found], next=None)


@router.get("/search", name="search_memory", responses=documented(404))
async def search_memory(
    things: Things,
    caller: Caller,
    project: ProjectIdPath,
    q: Annotated[
        Annotated[Text, StringConstraints(min_length=1, max_length=1000)],
        Query(description="Words of the key or of the value."),
    ],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Page[MemoryOut]:
    found = await things.search_memory(caller, ProjectId.parse(project), q, limit)
    return Page(data=[memory_out(each) for each in found], next=None)


def memory_out(remembered: Remembered) -> MemoryOut:
    return MemoryOut(
        project=str(remembered.project),
        key=remembered.key,
        value=wire(remembered.value),
        label=str(remembered.label),
        version=remembered.version,
        expires_at=remembered.expires_at,
        forgotten=remembered.forgotten,
        untrusted=remembered.untrusted,
        by=str(remembered.by),
        at=remembered.at,
    )
