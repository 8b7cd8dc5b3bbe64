"""Agents over REST: create, list, change, compare, export, import."""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, TypeAdapter
from starlette.responses import Response

from portico.agents.core.agent_checks import AGENT_NAME
from portico.agents.core.agents import (
    Agent,
    AgentFilter,
    AgentSpec,
    AgentVersion,
    Limits,
    ToolMode,
    read_spec,
)
from portico.engine.core.idempotency import StoredResponse
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import ProblemDetail, documented
from portico.interfaces.http.schema_names import ENUMERATIONS, alias
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    Limit,
    Name,
    Page,
    Switch,
    next_cursor,
    position,
    wire,
)
from portico.interfaces.http.use_cases import Agents
from portico.kernel.errors import FieldError

AgentNamePath = Annotated[
    str, Path(max_length=48, pattern=AGENT_NAME, description="Of the agent; or its id.")
]
AgentName = Annotated[str, Field(max_length=48, pattern=AGENT_NAME)]


class LimitsOut(BaseModel, title="LimitsOut"):
    turns: int
    tokens: int
    """Of prompts and answers together, over all turns."""
    money: str
    """US dollars."""
    seconds: float
    """Waiting for people does not count."""
    calls: int
    """Of tools."""


class SpecOut(BaseModel, title="SpecOut"):
    name: str
    description: str
    model: str
    """`provider:model`"""
    fallbacks: list[str]
    """Asked in this order where the one before does not answer."""
    tools: list[str]
    """Patterns, such as `files.*`; nothing else can be called."""
    tool_mode: ToolMode
    most_output: int
    """Tokens of one answer."""
    temperature: float | None
    label: str
    """How secret it and its runs are, and the most that it reads."""
    tags: list[str]
    exposed: bool
    """Whether it can be called as a tool."""
    instructions: str
    limits: LimitsOut


def _described(schema: dict[str, Any]) -> None:
    """As it is read, which says everything that is wrong at once: here all may be left away but the
    name and the model."""
    shape = SpecOut.model_json_schema()
    del shape["$defs"]
    shape["properties"]["limits"] = {**LimitsOut.model_json_schema(), "required": []}
    modes = TypeAdapter(ToolMode).json_schema()
    shape["properties"]["tool_mode"] = {**modes, "title": ENUMERATIONS[ToolMode]}
    schema.clear()
    schema.update({**shape, "required": ["name", "model"], "additionalProperties": False})
    schema["title"] = "AgentIn"


class AgentIn(RootModel[dict[str, JsonValue]], title="AgentIn"):
    model_config = ConfigDict(json_schema_extra=_described)


class AgentDraft(RootModel[dict[str, JsonValue]], title="AgentDraft"):
    """Whatever somebody has written so far."""


class AgentLine(BaseModel, title="AgentLine"):
    id: str
    name: str
    description: str
    model: str
    fallbacks: list[str]
    tools: list[str]
    label: str
    tags: list[str]
    exposed: bool
    version: int
    made_by_name: str
    made_at: datetime
    changed_at: datetime


class AgentOut(SpecOut, title="AgentOut"):
    id: str
    version: int
    """One more with every change; the ETag of this answer, too."""
    principal: str
    """Who it is when it calls a tool."""
    made_by: str
    made_by_name: str
    made_at: datetime
    changed_at: datetime
    warnings: list[ProblemDetail]
    """What may not be meant: tools of it that nobody can use now."""


class VersionOut(BaseModel, title="VersionOut"):
    number: int
    by: str
    by_name: str
    at: datetime
    agent: SpecOut


def spec_out(spec: AgentSpec) -> SpecOut:
    return SpecOut(**_spec(spec))


def agent_out(agent: Agent, warnings: Sequence[FieldError]) -> AgentOut:
    return AgentOut(
        **_spec(agent.spec),
        id=str(agent.id),
        version=agent.version,
        principal=str(agent.principal),
        made_by=str(agent.made_by),
        made_by_name=agent.made_by_name,
        made_at=agent.made_at,
        changed_at=agent.changed_at,
        warnings=details(warnings),
    )


def details(flaws: Sequence[FieldError]) -> list[ProblemDetail]:
    return [ProblemDetail(field=it.field, message=it.message) for it in flaws]


def agent_line(agent: Agent) -> AgentLine:
    spec = agent.spec
    return AgentLine(
        id=str(agent.id),
        name=spec.name,
        description=spec.description,
        model=spec.model,
        fallbacks=[*spec.fallbacks],
        tools=[*spec.tools],
        label=str(spec.label),
        tags=[*spec.tags],
        exposed=spec.exposed,
        version=agent.version,
        made_by_name=agent.made_by_name,
        made_at=agent.made_at,
        changed_at=agent.changed_at,
    )


def version_out(version: AgentVersion) -> VersionOut:
    return VersionOut(
        number=version.number,
        by=str(version.by),
        by_name=version.by_name,
        at=version.at,
        agent=spec_out(version.spec),
    )


def amount(money: Decimal) -> str:
    return f"{money:f}"


def _spec(spec: AgentSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "model": spec.model,
        "fallbacks": [*spec.fallbacks],
        "tools": [*spec.tools],
        "tool_mode": spec.tool_mode,
        "most_output": spec.max_output_tokens,
        "temperature": spec.temperature,
        "label": str(spec.label),
        "tags": [*spec.tags],
        "exposed": spec.exposed,
        "instructions": spec.instructions,
        "limits": _limits(spec.limits),
    }


def _limits(limits: Limits) -> LimitsOut:
    return LimitsOut(
        turns=limits.turns,
        tokens=limits.tokens,
        money=amount(limits.money),
        seconds=limits.seconds,
        calls=limits.calls,
    )


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
async def create_agent(agents: Agents, asked: IdempotentCreate, body: AgentIn) -> Response:
    """Make one. Everything that is wrong with it is told at once, each with its field."""

    async def action() -> StoredResponse:
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
async def import_agent(agents: Agents, asked: IdempotentCreate, body: ImportIn) -> Response:
    """Make one of a file that was taken out before, here or elsewhere."""

    async def action() -> StoredResponse:
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
    asked: IdempotentCreate,
    name: AgentNamePath,
    body: AgentIn,
    *,
    was: _Was = None,
    if_match: _IfMatch = None,
) -> Response:
    """All of it, as the next version. With the version that you have read, nobody's change since
    is written over."""

    async def action() -> StoredResponse:
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
    agents: Agents, asked: IdempotentCreate, name: AgentNamePath, body: NameIn
) -> Response:
    """Another one, alike but for its name, and not exposed."""

    async def action() -> StoredResponse:
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
    agents: Agents, asked: IdempotentCreate, name: AgentNamePath, body: RestoreIn
) -> Response:
    """As it was at that version, which makes the next one."""

    async def action() -> StoredResponse:
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


async def _answer(agents: Agents, asked: IdempotentCreate, agent: Agent) -> StoredResponse:
    warnings = await agents.check_agent.warnings(asked.caller, agent.spec)
    return StoredResponse(agent_out(agent, warnings).model_dump(mode="json"))


def _version(if_match: str | None) -> int | None:
    """Of what is no version of ours none is the same, so it is one that nothing is at."""
    if if_match in (None, "*"):
        return None
    found = _ETAG.fullmatch(if_match or "")
    return 0 if found is None else int(found[1])
