"""Agents over REST: made, looked at, changed, compared, taken out and brought in."""

import re
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from portico.agents.core.agents import Agent, AgentFilter, read_spec
from portico.engine.core.idempotency import Answer
from portico.interfaces.http.agent_use_cases import Agents
from portico.interfaces.http.agent_words import (
    AgentDraft,
    AgentIn,
    AgentLine,
    AgentName,
    AgentNamePath,
    AgentOut,
    SpecOut,
    VersionOut,
    agent_line,
    agent_out,
    details,
    spec_out,
    version_out,
)
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.problems import ProblemDetail, documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.words import Body, Name, Switch, wire

TOML: Final = "application/toml"
_ETAG: Final = re.compile(r'(?:W/)?"?([1-9][0-9]{0,8})"?')

_Words = Annotated[Name | None, Query(max_length=200)]
_Number = Annotated[int, Query(ge=1, le=1_000_000_000)]
_Was = Annotated[
    int | None,
    Query(ge=1, le=1_000_000_000, description="The version that you have read; also as If-Match."),
]
_IfMatch = Annotated[str | None, Header(max_length=40, description="The ETag that you have read.")]


class Flaws(BaseModel, title="Flaws"):
    data: list[ProblemDetail]
    warnings: list[ProblemDetail]
    """What does not keep it from being made."""


class TemplateOut(BaseModel, title="TemplateOut"):
    name: str
    description: str
    agent: SpecOut
    """Its model is empty: choose one."""


class ChangeOut(
    BaseModel, title="ChangeOut", json_schema_extra=alias("portico__faces__http__agents__ChangeOut")
):
    field: str
    before: JsonValue
    after: JsonValue
    lines: list[str]
    """Of texts: what went (`-`) and what came (`+`)."""


class NameIn(Body, title="NameIn"):
    name: AgentName


class RestoreIn(Body, title="RestoreIn"):
    version: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]


class ImportIn(Body, title="ImportIn"):
    toml: Annotated[str, Field(min_length=1, max_length=500_000)]
    replace: Switch = False
    """Whether one that has its name already becomes as this one."""


router = APIRouter(prefix="/agents", tags=["agents"])


@router.get("", name="list_agents", responses=documented())
async def list_agents(  # noqa: PLR0913 # a filter each
    agents: Agents,
    caller: Caller,
    *,
    text: _Words = None,
    tag: _Words = None,
    model: _Words = None,
    tool: _Words = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[AgentLine]:
    """By name. `text` is looked for in names and descriptions; `tool` is one that they may use."""
    which = AgentFilter(text=text, tag=tag, model=model, tool=tool)
    found = await agents.list_agents(caller, which, after=position(after), limit=limit)
    data = [agent_line(agent) for agent in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].name if data else ""))


@router.post(
    "", name="create_agent", status_code=201, response_model=AgentOut, responses=documented()
)
async def create_agent(agents: Agents, asked: Asked, body: AgentIn) -> Response:
    """Make one. Everything that is wrong with it is told at once, each with its field."""

    async def action() -> Answer:
        spec = await agents.check_agent.read(asked.caller, body.root)
        return await _answer(agents, asked, await agents.create_agent(asked.caller, spec))

    return await asked.once("agents.create", body, action, status=201)


@router.post("/check", name="check_agent", responses=documented())
async def check_agent(agents: Agents, caller: Caller, body: AgentDraft) -> Flaws:
    """What is wrong with one that is not made yet; nothing is changed."""
    found = await agents.check_agent.written(caller, body.root)
    spec, _ = read_spec(body.root)
    warnings = await agents.check_agent.warnings(caller, spec)
    return Flaws(data=details(found), warnings=details(warnings))


@router.post(
    "/import", name="import_agent", status_code=201, response_model=AgentOut, responses=documented()
)
async def import_agent(agents: Agents, asked: Asked, body: ImportIn) -> Response:
    """Make one of a file that was taken out before, here or elsewhere."""

    async def action() -> Answer:
        made = await agents.import_agent(asked.caller, body.toml, replace=body.replace)
        return await _answer(agents, asked, made)

    return await asked.once("agents.import", body, action, status=201)


@router.get("/templates", name="list_templates", responses=documented())
async def list_templates(agents: Agents, _caller: Caller) -> Page[TemplateOut]:
    """Starting points, each complete but for its model."""
    data = [
        TemplateOut(name=it.name, description=it.description, agent=spec_out(it.spec))
        for it in agents.list_templates()
    ]
    return Page(data=data, next=None)


@router.get("/{name}", name="show_agent", responses=documented(404))
async def show_agent(
    agents: Agents, caller: Caller, name: AgentNamePath, response: Response
) -> AgentOut:
    agent = await agents.show_agent(caller, name)
    response.headers["ETag"] = f'"{agent.version}"'
    return agent_out(agent, await agents.check_agent.warnings(caller, agent.spec))


@router.put("/{name}", name="change_agent", response_model=AgentOut, responses=documented(404))
async def change_agent(
    agents: Agents,
    asked: Asked,
    name: AgentNamePath,
    body: AgentIn,
    *,
    was: _Was = None,
    if_match: _IfMatch = None,
) -> Response:
    """All of it, as the next version. With the version that you have read, nobody's change since
    is written over."""

    async def action() -> Answer:
        spec = await agents.check_agent.read(asked.caller, body.root)
        seen = was if was is not None else _version(if_match)
        changed = await agents.change_agent(asked.caller, name, spec, was=seen)
        return await _answer(agents, asked, changed)

    return await asked.once("agents.change", body, action, status=200)


@router.delete("/{name}", name="remove_agent", status_code=204, responses=documented(404))
async def remove_agent(agents: Agents, caller: Caller, name: AgentNamePath) -> Response:
    """Its runs stay on the record."""
    await agents.remove_agent(caller, name)
    return Response(status_code=204)


@router.post(
    "/{name}/duplicate",
    name="duplicate_agent",
    status_code=201,
    response_model=AgentOut,
    responses=documented(404),
)
async def duplicate_agent(
    agents: Agents, asked: Asked, name: AgentNamePath, body: NameIn
) -> Response:
    """Another one, alike but for its name, and not exposed."""

    async def action() -> Answer:
        made = await agents.duplicate_agent(asked.caller, name, body.name)
        return await _answer(agents, asked, made)

    return await asked.once("agents.duplicate", body, action, status=201)


@router.get("/{name}/versions", name="list_versions", responses=documented(404))
async def list_versions(agents: Agents, caller: Caller, name: AgentNamePath) -> Page[VersionOut]:
    """Newest first."""
    found = await agents.list_versions(caller, name)
    return Page(data=[version_out(version) for version in found], next=None)


@router.get("/{name}/diff", name="diff_versions", responses=documented(404))
async def diff_versions(
    agents: Agents,
    caller: Caller,
    name: AgentNamePath,
    one: Annotated[_Number, Query(alias="from")],
    other: Annotated[_Number, Query(alias="to")],
) -> Page[ChangeOut]:
    """What changed from the one version to the other, field by field."""
    found = await agents.diff_versions(caller, name, one, other)
    data = [
        ChangeOut(field=it.field, before=wire(it.before), after=wire(it.after), lines=[*it.lines])
        for it in found
    ]
    return Page(data=data, next=None)


@router.post(
    "/{name}/restore", name="restore_version", response_model=AgentOut, responses=documented(404)
)
async def restore_version(
    agents: Agents, asked: Asked, name: AgentNamePath, body: RestoreIn
) -> Response:
    """As it was at that version, which makes the next one."""

    async def action() -> Answer:
        restored = await agents.restore_version(asked.caller, name, body.version)
        return await _answer(agents, asked, restored)

    return await asked.once("agents.restore", body, action, status=200)


@router.get(
    "/{name}/export",
    name="export_agent",
    response_class=Response,
    responses={**documented(404), 200: {"content": {TOML: {}}, "description": "The agent."}},
)
async def export_agent(agents: Agents, caller: Caller, name: AgentNamePath) -> Response:
    """As a file, in TOML."""
    return Response(await agents.export_agent(caller, name), media_type=TOML)


async def _answer(agents: Agents, asked: Asked, agent: Agent) -> Answer:
    warnings = await agents.check_agent.warnings(asked.caller, agent.spec)
    return Answer(agent_out(agent, warnings).model_dump(mode="json"))


def _version(if_match: str | None) -> int | None:
    """Of what is no version of ours none is the same, so it is one that nothing is at."""
    if if_match in (None, "*"):
        return None
    found = _ETAG.fullmatch(if_match or "")
    return 0 if found is None else int(found[1])
