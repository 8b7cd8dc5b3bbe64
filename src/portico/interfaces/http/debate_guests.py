"""Seats in debates over REST, for those who join with keys of their own."""

from datetime import timedelta

from fastapi import APIRouter

from portico.debate.core.debates import DebateId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.debate_bodies import GuestAnswerIn
from portico.interfaces.http.debate_reports import SeatOut, seat_out
from portico.interfaces.http.debate_use_cases import Debates
from portico.interfaces.http.patience import Patience
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import DebateIdPath

router = APIRouter(prefix="/debates/{debate}", tags=["debates"])


@router.post("/join", name="join_debate", responses=documented(404, 409))
async def join_debate(
    debates: Debates, caller: Caller, debate: DebateIdPath, patience: Patience
) -> SeatOut:
    """Take a seat, or look what is asked of you there now; with `Prefer: wait=10`, once something
    is."""
    waits = timedelta(0) if patience is None else patience
    return seat_out(await debates.wait_at_seat(caller, DebateId.parse(debate), patience=waits))


@router.post("/answer", name="answer_as_guest", responses=documented(404, 409))
async def answer_as_guest(
    debates: Debates, caller: Caller, debate: DebateIdPath, body: GuestAnswerIn
) -> SeatOut:
    """Answer what you are asked; your first answer counts."""
    seat = await debates.answer_as_guest(caller, DebateId.parse(debate), body.answered)
    return seat_out(seat)
