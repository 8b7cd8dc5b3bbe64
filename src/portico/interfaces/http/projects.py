"""Projects over REST: made, looked at, put away, taken along whole."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import LettingOut, Talk
from portico.interfaces.http.bridge_words import Archived, ProjectOut, Upto, project_out, upto_of
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, LabelText, Name, ProjectIdPath, Switch, Text
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
async def create_project(talk: Talk, asked: Asked, body: ProjectIn) -> Response:
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
