"""Projects over REST, with their memory and attachments."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from starlette.responses import Response, StreamingResponse

from portico.bridge.core.attachments import LARGEST, Attachment, Digest
from portico.bridge.core.attachments import MOST_LETTERS as MAX_ATTACHMENT_LETTERS
from portico.bridge.core.memory import MOST_LETTERS, MemoryEntry, ToRemember
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_shapes import Archived, ProjectOut, Upto, project_out, upto_of
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    DigestPath,
    LabelText,
    Limit,
    Moment,
    Name,
    OneLine,
    Page,
    ProjectIdPath,
    Switch,
    Text,
    next_cursor,
    position,
    text_position,
    wire,
)
from portico.interfaces.http.use_cases import LettingOut, Talk, Things
from portico.kernel.json import JsonObject

_NDJSON: Final = "application/x-ndjson"
_LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {_NDJSON: {"schema": {"type": "string"}}}, "description": "A line each."}
}
_Description = Annotated[Text, Field(max_length=10_000)]


class ProjectIn(Body, title="ProjectIn"):
    name: Name
    description: _Description = ""
    label: LabelText | None = None
    """How secret it is, and at least all that is in it: as what you have read, if left away."""


class ProjectChangeIn(Body, title="ProjectChangeIn"):
    """What is left away stays as it is."""

    name: Name | None = None
    description: _Description | None = None
    archived: Switch | None = None
    """Nothing is written in one that is put away."""


router = APIRouter(prefix="/projects", tags=["bridge"])


@router.get("", name="list_projects", responses=documented())
async def list_projects(
    talk: Talk,
    caller: Caller,
    *,
    archived: Archived = False,
    upto: Upto = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[ProjectOut]:
    """Those with the latest news first."""
    found = await talk.list_projects(
        caller, archived=archived, after=position(after), limit=limit, upto=upto_of(upto)
    )
    data = [project_out(project) for project in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.post(
    "", name="create_project", status_code=201, response_model=ProjectOut, responses=documented()
)
async def create_project(talk: Talk, asked: IdempotentCreate, body: ProjectIn) -> Response:
    """Its name is one for those who can see it: under another label it may be there again."""

    async def make() -> ProjectOut:
        label = upto_of(body.label)
        return project_out(
            await talk.create_project(asked.caller, body.name, body.description, label)
        )

    async def show(made: str) -> ProjectOut:
        return project_out(await talk.show_project(asked.caller, made))

    return await asked.made_once("bridge.projects.create", body, make, show)


@router.get("/{project}", name="show_project", responses=documented(404))
async def show_project(
    talk: Talk,
    caller: Caller,
    project: Annotated[Name, Path(description="Its id, or its name: of several the most secret.")],
) -> ProjectOut:
    return project_out(await talk.show_project(caller, project))


@router.patch("/{project}", name="change_project", responses=documented(404))
async def change_project(
    talk: Talk, caller: Caller, project: ProjectIdPath, body: ProjectChangeIn
) -> ProjectOut:
    """What somebody else has made, with `bridge:manage`."""
    changed = await talk.change_project(
        caller,
        ProjectId.parse(project),
        name=body.name,
        description=body.description,
        archived=body.archived,
    )
    return project_out(changed)


@router.get(
    "/{project}/export",
    name="export_project",
    response_class=StreamingResponse,
    responses={**documented(404), **_LINES},
)
async def export_project(
    letting_out: LettingOut, caller: Caller, project: ProjectIdPath
) -> StreamingResponse:
    """All that you may see of it, one JSON object a line: conversations, messages, memory, work."""
    lines = await letting_out.export_project(caller, ProjectId.parse(project))
    return StreamingResponse(_written(lines), media_type=_NDJSON)


async def _written(lines: AsyncGenerator[JsonObject, None]) -> AsyncIterator[str]:
    async with aclosing(lines):
        async for line in lines:
            yield json.dumps(line) + "\n"


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


memory_router = APIRouter(prefix="/projects/{project}/memory", tags=["bridge"])


@memory_router.get("", name="list_memory", responses=documented(404))
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


@memory_router.get("/value", name="recall", responses=documented(404))
async def recall(things: Things, caller: Caller, project: ProjectIdPath, key: _Key) -> MemoryOut:
    """The most secret that you may read."""
    return memory_out(await things.recall(caller, ProjectId.parse(project), key))


@memory_router.put("/value", name="remember", responses=documented(404))
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


@memory_router.delete("/value", name="forget", status_code=204, responses=documented(404))
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


@memory_router.get("/history", name="memory_history", responses=documented(404))
async def memory_history(
    things: Things, caller: Caller, project: ProjectIdPath, key: _Key
) -> Page[MemoryOut]:
    """Every version of it that you may read, newest first."""
    found = await things.memory_history(caller, ProjectId.parse(project), key)
    return Page(data=[memory_out(each) for each in found], next=None)


@memory_router.get("/search", name="search_memory", responses=documented(404))
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


def memory_out(remembered: MemoryEntry) -> MemoryOut:
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


ADDED: Final = (re.compile("/api/v1/projects/[^/]+/attachments"), LARGEST)
"""Where a request may be as large as an attachment."""
_BYTES: Final = "application/octet-stream"
_BINARY: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_SENT: Final[dict[str, Any]] = {"requestBody": {"required": False, "content": {_BYTES: _BINARY}}}
"""Without any, it is an empty file."""
_AS_IT_IS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
"""Nothing that somebody has sent is a page of ours."""


class AttachmentOut(BaseModel, title="AttachmentOut"):
    digest: str
    """SHA-256 of the content: what messages name it by."""
    label: str
    name: str
    media_type: str
    size: int
    untrusted: bool
    """Whoever added it had read strangers' words in the same task."""
    by: str
    at: datetime


attachments_router = APIRouter(tags=["bridge"])


@attachments_router.post(
    "/projects/{project}/attachments",
    name="attach",
    status_code=201,
    responses=documented(404),
    openapi_extra=_SENT,
)
async def attach(  # noqa: PLR0913 # what is said of it beside its content
    things: Things,
    caller: Caller,
    request: Request,
    project: ProjectIdPath,
    *,
    name: Annotated[
        Annotated[OneLine, StringConstraints(max_length=MAX_ATTACHMENT_LETTERS)], Query()
    ],
    label: Annotated[LabelText | None, Query()] = None,
    content_type: Annotated[str, Header(include_in_schema=False)] = _BYTES,
) -> AttachmentOut:
    """The body is the file itself, at most 25 megabytes, and its `Content-Type` what it is. The
    same content again is the same attachment, within a label."""
    media_type = content_type.partition(";")[0].strip().lower()
    content = await request.body()
    added = await things.attach(
        caller, ProjectId.parse(project), name, media_type, content, upto_of(label)
    )
    return attachment_out(added)


@attachments_router.get(
    "/attachments/{digest}",
    name="fetch_attachment",
    response_class=Response,
    responses={
        **documented(404),
        200: {"content": {"*/*": _BINARY}, "description": "The file."},
    },
)
async def fetch_attachment(things: Things, caller: Caller, digest: DigestPath) -> Response:
    """As it was added: of the same content under several labels the most secret that you may
    read."""
    attachment, content = await things.fetch_attachment(caller, Digest.parse(digest))
    headers = {
        **_AS_IT_IS,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(attachment.name, safe='')}",
        "Portico-Label": str(attachment.label),
        "Portico-Untrusted": "true" if attachment.untrusted else "false",
    }
    return Response(content, headers=headers, media_type=attachment.media_type)


def attachment_out(attachment: Attachment) -> AttachmentOut:
    return AttachmentOut(
        digest=str(attachment.digest),
        label=str(attachment.label),
        name=attachment.name,
        media_type=attachment.media_type,
        size=attachment.size,
        untrusted=attachment.untrusted,
        by=str(attachment.by),
        at=attachment.at,
    )
