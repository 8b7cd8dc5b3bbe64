"""The agents there are, as a list of models: what a chat program lets its user choose from."""

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portico.agents.core.agent import Agent, AgentFilter
from portico.faces.http.agent_use_cases import Agents
from portico.faces.http.authentication import Caller
from portico.faces.http.chat_bodies import PREFIX, agent_named
from portico.faces.http.openai_errors import said

_PAGE = 200
_MOST = 5
"""Pages: nobody chooses from a list that is longer."""


class ModelOut(BaseModel):
    id: str
    """What to ask for: `agent/` and its name."""
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    description: str


class ModelsOut(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelOut]


router = APIRouter(prefix="/v1", tags=["chat"])
_SAID: dict[int | str, dict[str, Any]] = said(404)


@router.get("/models", responses=_SAID)
async def list_chat_models(agents: Agents, caller: Caller) -> ModelsOut:
    """Each agent that you may know of, by name."""
    found: list[Agent] = []
    after: str | None = None
    for _ in range(_MOST):
        page = await agents.list_agents(caller, AgentFilter(), after=after, limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            break
        after = page[-1].name
    return ModelsOut(data=[_out(each) for each in found])


@router.get("/models/{model:path}", responses=_SAID)
async def show_chat_model(agents: Agents, caller: Caller, model: str) -> ModelOut:
    return _out(await agents.show_agent(caller, agent_named(model)))


def _out(agent: Agent) -> ModelOut:
    return ModelOut(
        id=f"{PREFIX}{agent.name}",
        created=int(agent.made_at.timestamp()),
        owned_by=agent.made_by_name,
        description=agent.spec.description,
    )
