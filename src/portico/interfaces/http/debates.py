"""Debates over REST: ask several voices, look at what they said, step in."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, StringConstraints
from starlette.responses import PlainTextResponse, Response

from portico.debate.core.debates import DebateId, DebateStatus
from portico.debate.core.replay import log_text
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.debate_bodies import DebateIn, OutcomeIn, PromoteIn, ReplayIn
from portico.interfaces.http.debate_reports import (
    OutcomeOut,
    ReplayedOut,
    WholeDebateOut,
    outcome_out,
    replayed_out,
    whole_out,
)
from portico.interfaces.http.debate_use_cases import Debates
from portico.interfaces.http.debate_words import DebateOut, debate_out
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.patience import Patience, applied
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import DebateIdPath, Name
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
    debates: Debates, asked: Asked, body: DebateIn, patience: Patience
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
