"""Agents and ways to debate as a list of models."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portico.agents.core.agents import Agent, AgentFilter
from portico.debate.core.questions import Preset
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.use_cases import Agents
from portico.interfaces.http.v1.shapes import DEBATE, PREFIX, agent_named, preset_named, said
from portico.kernel.principal import Principal

_PAGE = 200
_MOST = 5
"""Pages: nobody chooses from a list that is longer."""
_PRESETS: Final[Mapping[Preset, str]] = {
    Preset.VOTE: "Several models answer blindly; their answers are weighed.",
    Preset.DEBATE: "As a vote, and one round of critique where they are split.",
    Preset.QUORUM: "Two thirds of the weight and two families must agree; a specialist may veto.",
}


class ModelOut(
    BaseModel,
    title="ModelOut",
    json_schema_extra=alias("portico__faces__http__openai_models__ModelOut"),
):
    id: str
    """What to ask for: `agent/` and its name, or `debate/` and a preset."""
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    description: str


class ModelsOut(BaseModel, title="ModelsOut"):
    object: Literal["list"] = "list"
    data: list[ModelOut]


router = APIRouter(prefix="/v1", tags=["chat"])
_SAID: dict[int | str, dict[str, Any]] = said(404)


@router.get("/models", name="list_chat_models", responses=_SAID)
async def list_chat_models(agents: Agents, caller: Caller) -> ModelsOut:
    """Each agent that you may know of, by name, and each way to debate that you may use."""
    if not caller.may(Scope.AGENTS_READ) and (presets := _presets(caller)):
        return ModelsOut(data=presets)
    found: list[Agent] = []
    after: str | None = None
    for _ in range(_MOST):
        page = await agents.list_agents(caller, AgentFilter(), after=after, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            break
        after = page[-1].name
    return ModelsOut(data=[*map(_out, found), *_presets(caller)])


@router.get("/models/{model:path}", name="show_chat_model", responses=_SAID)
async def show_chat_model(agents: Agents, caller: Caller, model: str) -> ModelOut:
    if (preset := preset_named(model)) is not None:
        require_scope(caller, Scope.DEBATES_RUN)
        return _preset_out(preset)
    return _out(await agents.show_agent(caller, agent_named(model)))


def _presets(caller: Principal) -> list[ModelOut]:
    return [_preset_out(each) for each in Preset] if caller.may(Scope.DEBATES_RUN) else []


def _preset_out(preset: Preset) -> ModelOut:
    """Always there: it was made by nobody."""
    return ModelOut(
        id=f"{DEBATE}{preset}", created=0, owned_by="portico", description=_PRESETS[preset]
    )


def _out(agent: Agent) -> ModelOut:
    return ModelOut(
        id=f"{PREFIX}{agent.name}",
        created=int(agent.made_at.timestamp()),
        owned_by=agent.made_by_name,
        description=agent.spec.description,
    )
