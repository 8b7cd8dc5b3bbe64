"""Agents as they are written on the wire."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, TypeAdapter

from portico.agents.core.agent_checks import AGENT_NAME
from portico.agents.core.agents import Agent, AgentSpec, AgentVersion, Limits, ToolMode
from portico.interfaces.http.problems import ProblemDetail
from portico.interfaces.http.schema_names import ENUMERATIONS
from portico.kernel.errors import Flaw

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


def agent_out(agent: Agent, warnings: Sequence[Flaw]) -> AgentOut:
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


def details(flaws: Sequence[Flaw]) -> list[ProblemDetail]:
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
        "most_output": spec.most_output,
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
