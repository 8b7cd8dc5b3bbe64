"""Debates over REST: start, follow, show, replay, join, estimate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, StringConstraints
from starlette.responses import PlainTextResponse, Response

from portico.debate.core.debaters import Persona
from portico.debate.core.debates import DebateId, DebateStatus
from portico.debate.core.events import DebateStreamItem, happening_json
from portico.debate.core.replay import log_text
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.debate_shapes import (
    CapIn,
    CapOut,
    CostOut,
    DebateIn,
    DebateOut,
    DebaterOut,
    EstimateOut,
    GuestAnswerIn,
    OutcomeIn,
    OutcomeOut,
    PersonaIn,
    PromoteIn,
    ReplayedOut,
    ReplayIn,
    SeatOut,
    WholeDebateOut,
    cap_out,
    cost_out,
    debate_out,
    estimate_out,
    outcome_out,
    replayed_out,
    seat_out,
    voice_facts,
    whole_out,
)
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    DebateIdPath,
    Limit,
    Name,
    Page,
    Patience,
    ProjectIdPath,
    applied,
    next_cursor,
    position,
)
from portico.interfaces.http.streaming import (
    END,
    MEDIA_TYPE,
    Listening,
    RunEventStream,
    one_line,
    retry_after,
)
from portico.interfaces.http.use_cases import Debates
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

_Words = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=200)] | None,
    Query(description="Words of the question."),
]
_ENDED: Final[dict[str, Any]] = {"model": DebateOut, "description": "It was over within `wait`."}
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}

router = APIRouter(prefix="/debates", tags=["debates"])


class PromotionOut(BaseModel, title="PromotionOut"):
    approval: str
    """Of the request that somebody else has to say yes to."""


@router.post(
    "",
    name="start_debate",
    status_code=202,
    response_model=DebateOut,
    responses={**documented(404, 429), 200: _ENDED},
)
async def start_debate(
    debates: Debates, asked: IdempotentCreate, body: DebateIn, patience: Patience
) -> Response:
    """Ask a question of several voices. It goes on by itself, and is told while it happens; it
    never spends more than its cap, and is over at its deadline."""
    started = await debates.start_debate(asked.caller, body.wish(debates.usual_cap, asked.key))
    debate = started.debate
    if patience is not None:
        debate = await debates.wait_for_debate(asked.caller, debate.id, patience=patience)
    replayed = {"Idempotency-Replayed": "true"} if started.replayed else {}
    headers = {"Location": f"/api/v1/debates/{debate.id}", **replayed, **applied(patience)}
    status = 200 if patience is not None and debate.status.over else 202
    return _answer(debate_out(debate), status, headers)


@router.get("", name="list_debates", responses=documented(404))
async def list_debates(  # noqa: PLR0913 # FastAPI's way to be handed them
    debates: Debates,
    caller: Caller,
    *,
    project: Annotated[Name | None, Query(description="Its id, or its name.")] = None,
    status: DebateStatus | None = None,
    q: _Words = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[DebateOut]:
    """Those that you may read, newest first."""
    last = position(after)
    found = await debates.look.page(
        caller,
        project=project,
        status=status,
        words=q,
        after=None if last is None else DebateId.parse(last),
        limit=limit,
    )
    data = [debate_out(each) for each in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.get(
    "/{debate}", name="show_debate", response_model=WholeDebateOut, responses=documented(404)
)
async def show_debate(debates: Debates, caller: Caller, debate: DebateIdPath) -> Response:
    """With all that was said in it, and what it cost."""
    its = DebateId.parse(debate)
    whole = await debates.look.one(caller, its)
    outcomes = await debates.look.turned_out(caller, its)
    parts = await debates.look.parts(caller, its) if whole.debate.analysis else ()
    return _answer(whole_out(whole, parts, outcomes))


@router.get(
    "/{debate}/log",
    name="show_debate_log",
    response_class=PlainTextResponse,
    responses={**documented(404), **_TEXT},
)
async def show_debate_log(
    debates: Debates, caller: Caller, debate: DebateIdPath
) -> PlainTextResponse:
    """The whole of it as a text for people."""
    whole = await debates.look.one(caller, DebateId.parse(debate))
    text = log_text(whole).encode(errors="backslashreplace").decode()
    return PlainTextResponse(text)


@router.post("/{debate}/stop", name="stop_debate", responses=documented(404))
async def stop_debate(debates: Debates, caller: Caller, debate: DebateIdPath) -> DebateOut:
    """Nobody else is asked. What was said by then stays, and was paid for."""
    return debate_out(await debates.stop_debate(caller, DebateId.parse(debate)))


@router.post("/{debate}/outcome", name="mark_outcome", responses=documented(404))
async def mark_outcome(
    debates: Debates, caller: Caller, debate: DebateIdPath, body: OutcomeIn
) -> OutcomeOut:
    """Say how it turned out: what voices weigh from now on is learnt from it. The last word
    counts."""
    return outcome_out(await debates.mark_outcome(caller, DebateId.parse(debate), body.wish))


@router.post("/{debate}/replay", name="replay_debate", responses=documented(404))
async def replay_debate(
    debates: Debates, caller: Caller, debate: DebateIdPath, body: ReplayIn
) -> ReplayedOut:
    """What other rules would have made of what was said. Nobody is asked, and nothing is kept."""
    return replayed_out(await debates.replay_debate(caller, DebateId.parse(debate), body.wish))


@router.post("/{debate}/share", name="share_debate", responses=documented(404))
async def share_debate(debates: Debates, caller: Caller, debate: DebateIdPath) -> DebateOut:
    """Let those of its project read it who are cleared for it."""
    return debate_out(await debates.share_debate(caller, DebateId.parse(debate)))


@router.post("/{debate}/promote", name="promote_debate", status_code=202, responses=documented(404))
async def promote_debate(
    debates: Debates, caller: Caller, debate: DebateIdPath, body: PromoteIn
) -> PromotionOut:
    """Ask for a copy that is less secret: it is made once somebody else has said yes."""
    approval = await debates.promote_debate(caller, DebateId.parse(debate), Label.parse(body.to))
    return PromotionOut(approval=str(approval))


@router.delete("/{debate}", name="remove_debate", status_code=204, responses=documented(404, 409))
async def remove_debate(debates: Debates, caller: Caller, debate: DebateIdPath) -> None:
    """With its parts, and with what was learnt from it."""
    await debates.remove_debate(caller, DebateId.parse(debate))


def _answer(
    body: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """What a voice said may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(body.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="backslashreplace")
    return Response(content, status, dict(headers or {}), media_type="application/json")


guests_router = APIRouter(prefix="/debates/{debate}", tags=["debates"])


@guests_router.post("/join", name="join_debate", responses=documented(404, 409))
async def join_debate(
    debates: Debates, caller: Caller, debate: DebateIdPath, patience: Patience
) -> SeatOut:
    """Take a seat, or look what is asked of you there now; with `Prefer: wait=10`, once something
    is."""
    waits = timedelta(0) if patience is None else patience
    return seat_out(await debates.wait_at_seat(caller, DebateId.parse(debate), patience=waits))


@guests_router.post("/answer", name="answer_as_guest", responses=documented(404, 409))
async def answer_as_guest(
    debates: Debates, caller: Caller, debate: DebateIdPath, body: GuestAnswerIn
) -> SeatOut:
    """Answer what you are asked; your first answer counts."""
    seat = await debates.answer_as_guest(caller, DebateId.parse(debate), body.answered)
    return seat_out(seat)


_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

stream_router = APIRouter(prefix="/debates", tags=["debates"])


@stream_router.get(
    "/{debate}/events",
    name="follow_debate",
    response_class=Response,
    responses={**documented(404), 200: {"description": "A stream.", "content": _STREAM}},
)
async def follow_debate(
    debates: Debates,
    listener: Listening,
    debate: DebateIdPath,
    after: Annotated[
        str | None, Query(max_length=4000, description="`id` of the last event one has had.")
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=4000, description="As `after`, and wins over it."),
    ] = None,
) -> Response:
    """What is said and done in it, to its end, from where one left off."""
    its = DebateId.parse(debate)
    await debates.look.one(listener.caller, its)
    told = debates.follow_debate(listener.caller, its, after=last_event_id or after or None)
    return RunEventStream(listener, told, DebateStreamEncoder())


@dataclass(frozen=True, slots=True)
class DebateStreamEncoder:
    """Encodes a stream for clients that read our own events."""

    @property
    def waits(self) -> bool:
        return False

    def started(self) -> bytes:
        return retry_after(1000)

    def told(self, told: DebateStreamItem) -> bytes:
        name, facts = happening_json(told.event)
        mark = f"id: {told.cursor}\n" if told.cursor else ""
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), default=dict)
        return f"{mark}event: {name}\ndata: {one_line(text)}\n\n".encode(errors="backslashreplace")

    def gave_up(self) -> bytes:
        return b""

    def broke(self, error: PorticoError) -> bytes:
        text = json.dumps({"code": error.code, "detail": str(error), "fix": error.fix})
        return f"event: error\ndata: {text}\n\n".encode()

    def ended(self) -> bytes:
        return END


_PersonaName = Annotated[Name, Path(description="Of the persona.")]


class DebaterStatusOut(DebaterOut, title="VoiceStateOut"):
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


panel_router = APIRouter(tags=["debates"])


@panel_router.post("/debate-estimate", name="estimate_debate", responses=documented(404))
async def estimate_debate(debates: Debates, caller: Caller, body: DebateIn) -> EstimateOut:
    """What it would cost, at most and usually. Nothing is asked, and nothing is spent."""
    return estimate_out(await debates.estimate_debate(caller, body.wish(debates.usual_cap)))


@panel_router.get("/debate-voices", name="list_debate_voices", responses=documented())
async def list_debate_voices(
    debates: Debates, caller: Caller, *, fresh: bool = False
) -> Page[DebaterStatusOut]:
    """Who could be asked, and whether they are there; `fresh` asks them again."""
    found = await debates.list_voices(caller, fresh=fresh)
    data = [
        DebaterStatusOut(**voice_facts(each.debater), available=each.available, why=each.why)
        for each in found
    ]
    return Page(data=data, next=None)


@panel_router.get("/debate-personas", name="list_personas", responses=documented())
async def list_personas(debates: Debates, caller: Caller) -> Page[PersonaOut]:
    found = await debates.personas.all(caller)
    return Page(data=[_persona_out(each) for each in found], next=None)


@panel_router.put("/debate-personas/{name}", name="put_persona", responses=documented(409))
async def put_persona(
    debates: Debates, caller: Caller, name: _PersonaName, body: PersonaIn
) -> PersonaOut:
    """A new one, or another text for one of yours; the built-in ones stay as they are."""
    made = await debates.personas.put(caller, name, body.instructions, specialist=body.specialist)
    return _persona_out(made)


@panel_router.delete(
    "/debate-personas/{name}",
    name="remove_persona",
    status_code=204,
    responses=documented(404, 409),
)
async def remove_persona(debates: Debates, caller: Caller, name: _PersonaName) -> None:
    await debates.personas.remove(caller, name)


@panel_router.get(
    "/projects/{project}/debate-budget", name="show_debate_budget", responses=documented(404)
)
async def show_debate_budget(debates: Debates, caller: Caller, project: ProjectIdPath) -> BudgetOut:
    cap, cost = await debates.budget.show(caller, project)
    return BudgetOut(project=project, cap=cap_out(cap), spent=cost_out(cost))


@panel_router.put(
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
