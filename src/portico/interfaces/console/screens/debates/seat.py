"""A seat for whoever joins a debate themselves: to take it, to see what is asked, to answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.debate.core.debates import DebateId, GuestAnswer, Seat
from portico.debate.core.errors import DebateNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.debates.board import is_seated
from portico.interfaces.console.screens.debates.look import debate_at, drawn
from portico.interfaces.console.screens.debates.wishes import share
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

_ASKED: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    voice: str
    question: str
    asked: str | None
    choices: tuple[str, ...]
    again: bool
    """It is the second round: whoever says something else says why."""
    until: datetime
    label: Label
    over: bool


async def seat_of(desk: Desk, which: DebateId) -> SeatView | None:
    """Of whoever has one already: looking takes none. Raises `DebateNotFound`."""
    whole = await desk.house.debates.look.one(desk.caller, which)
    its = whole.debate
    mine = is_seated(its, desk.caller.id) and desk.caller.may(Scope.DEBATES_JOIN)
    if not mine or its.status.over:
        return None
    return seat_view(await desk.house.debates.join_debate(desk.caller, which))


async def show(request: Request) -> Response:
    """For somebody who may not read the debate and yet sit in it: they are told nothing before."""
    which = debate_at(request)
    values: dict[str, object] = {"which": str(which), "seat": None, "problem": None, "typed": {}}
    return await page(request, "debates/seat.html", values, title="A seat in a debate")


async def show_part(request: Request) -> Response:
    """What is asked of whoever sits there, anew."""
    desk, which = desk_of(request), debate_at(request)
    values: dict[str, object] = {
        "seat": await seat_of(desk, which),
        "which": str(which),
        "typed": {},
    }
    return part(request, "debates/_seat.html", values)


async def sit(request: Request) -> Response:
    """Take a seat, or look again; or answer what is asked there."""
    desk, which, form = desk_of(request), debate_at(request), await form_of(request)
    answers = form.one_of("do", ("join", "answer")) == "answer"
    try:
        if answers:
            seat = await desk.house.debates.answer_as_guest(desk.caller, which, answer_in(form))
        else:
            seat = await desk.house.debates.join_debate(desk.caller, which)
    except PorticoError as problem:
        return await _again(request, desk, which, form, problem)
    if await _readable(desk, which):
        return done(f"/debates/{which}", "answered" if answers else "seated")
    values = {"which": str(which), "seat": seat_view(seat), "problem": None, "typed": {}}
    return await page(request, "debates/seat.html", values, title="A seat in a debate")


async def _again(
    request: Request, desk: Desk, which: DebateId, form: Form, problem: PorticoError
) -> Response:
    typed = {name: form.fields.get(name, [""])[0] for name in ("answer", "rationale", "because")}
    if await _readable(desk, which):
        seat = await seat_of(desk, which)
        return await drawn(request, desk, which, problem, {"seat": seat, "typed": typed})
    values: dict[str, object] = {
        "which": str(which),
        "seat": None,
        "problem": problem,
        "typed": typed,
    }
    return await page(
        request,
        "debates/seat.html",
        values,
        title="A seat in a debate",
        status=status_of(problem),
    )


async def _readable(desk: Desk, which: DebateId) -> bool:
    if not desk.caller.may(Scope.DEBATES_READ):
        return False
    try:
        await desk.house.debates.look.one(desk.caller, which)
    except DebateNotFound:
        return False
    return True


def seat_view(seat: Seat) -> SeatView:
    return SeatView(
        voice=seat.voice,
        question=seat.question,
        asked=None if seat.asked is None else seat.asked[:_ASKED],
        choices=tuple(_choices(seat)),
        again=seat.key is not None and seat.key.startswith("said:2:"),
        until=seat.until,
        label=seat.label,
        over=seat.over,
    )


def answer_in(form: Form) -> GuestAnswer:
    """Raises `BadForm`."""
    return GuestAnswer(
        answer=form.text("answer", most=100_000),
        rationale=form.maybe("rationale", most=20_000) or "",
        confidence=share(form.maybe("confidence", most=10), "confidence"),
        veto=form.maybe("veto", most=2_000),
        changed_because=form.maybe("because", most=2_000),
    )


def _choices(seat: Seat) -> Sequence[str]:
    match (seat.schema or {}).get("properties"):
        case {"answer": {"enum": [*choices]}}:
            return [str(each) for each in choices]
        case _:
            return ()


routes: Final = [
    Route("/debates/{debate}/seat", show, methods=["GET"]),
    Route("/debates/{debate}/seat", sit, methods=["POST"]),
    Route("/debates/{debate}/seat/part", show_part, methods=["GET"]),
]
