"""Who can be asked in debates, as whom, and what that costs, over REST."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from portico.debate.core.debaters import Persona
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.debate_bodies import CapIn, DebateIn, PersonaIn
from portico.interfaces.http.debate_reports import EstimateOut, estimate_out
from portico.interfaces.http.debate_use_cases import Debates
from portico.interfaces.http.debate_words import (
    CapOut,
    CostOut,
    VoiceOut,
    cap_out,
    cost_out,
    voice_facts,
)
from portico.interfaces.http.paging import Page
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Name, ProjectIdPath

_PersonaName = Annotated[Name, Path(description="Of the persona.")]


class VoiceStateOut(VoiceOut, title="VoiceStateOut"):
    available: bool
    why: str | None
    """What is wrong, and what to do about it, where it is not there."""


class PersonaOut(BaseModel, title="PersonaOut"):
    name: str
    instructions: str
    specialist: bool
    built_in: bool
    made_by: str | None
    changed_at: datetime | None


class BudgetOut(BaseModel, title="BudgetOut"):
    project: str
    cap: CapOut
    """Of all debates of the project together; null is no limit."""
    spent: CostOut
    """With what is reserved."""


router = APIRouter(tags=["debates"])


@router.post("/debate-estimate", name="estimate_debate", responses=documented(404))
async def estimate_debate(debates: Debates, caller: Caller, body: DebateIn) -> EstimateOut:
    """What it would cost, at most and usually. Nothing is asked, and nothing is spent."""
    return estimate_out(await debates.estimate_debate(caller, body.wish(debates.usual_cap)))


@router.get("/debate-voices", name="list_debate_voices", responses=documented())
async def list_debate_voices(
    debates: Debates, caller: Caller, *, fresh: bool = False
) -> Page[VoiceStateOut]:
    """Who could be asked, and whether they are there; `fresh` asks them again."""
    found = await debates.list_voices(caller, fresh=fresh)
    data = [
        VoiceStateOut(**voice_facts(each.voice), available=each.available, why=each.why)
        for each in found
    ]
    return Page(data=data, next=None)


@router.get("/debate-personas", name="list_personas", responses=documented())
async def list_personas(debates: Debates, caller: Caller) -> Page[PersonaOut]:
    found = await debates.personas.all(caller)
    return Page(data=[_persona_out(each) for each in found], next=None)


@router.put("/debate-personas/{name}", name="put_persona", responses=documented(409))
async def put_persona(
    debates: Debates, caller: Caller, name: _PersonaName, body: PersonaIn
) -> PersonaOut:
    """A new one, or another text for one of yours; the built-in ones stay as they are."""
    made = await debates.personas.put(caller, name, body.instructions, specialist=body.specialist)
    return _persona_out(made)


@router.delete(
    "/debate-personas/{name}",
    name="remove_persona",
    status_code=204,
    responses=documented(404, 409),
)
async def remove_persona(debates: Debates, caller: Caller, name: _PersonaName) -> None:
    await debates.personas.remove(caller, name)


@router.get(
    "/projects/{project}/debate-budget", name="show_debate_budget", responses=documented(404)
)
async def show_debate_budget(debates: Debates, caller: Caller, project: ProjectIdPath) -> BudgetOut:
    cap, cost = await debates.budget.show(caller, project)
    return BudgetOut(project=project, cap=cap_out(cap), spent=cost_out(cost))


@router.put(
    "/projects/{project}/debate-budget", name="put_debate_budget", responses=documented(404)
)
async def put_debate_budget(
    debates: Debates, caller: Caller, project: ProjectIdPath, body: CapIn
) -> BudgetOut:
    """What is left away, or null, is no limit."""
    cap, cost = await debates.budget.put(caller, project, body.cap)
    return BudgetOut(project=project, cap=cap_out(cap), spent=cost_out(cost))


def _persona_out(persona: Persona) -> PersonaOut:
    return PersonaOut(
        name=persona.name,
        instructions=persona.instructions,
        specialist=persona.specialist,
        built_in=persona.built_in,
        made_by=None if persona.made_by is None else str(persona.made_by),
        changed_at=persona.changed_at,
    )
