"""Debates: list, show, replay, join, stop, share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.debate.core.conduct import brief, percent, verdict_words
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebateStatus,
    Decision,
    GuestAnswer,
    OutcomeSpec,
    Replayed,
    ReplaySpec,
    Seat,
)
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Preset
from portico.debate.core.replay import log_text
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part, wants_part
from portico.interfaces.console.screens import debate_form
from portico.interfaces.console.screens.bridge.panes import lower_than
from portico.interfaces.console.screens.debate_board import (
    CHIPS,
    board_of,
    debate_rows,
    is_seated,
    may_of,
    outcome_words,
)
from portico.interfaces.console.screens.debate_form import share
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import InvalidId
from portico.kernel.label import PUBLIC, Label

_SAID: Final = {
    "stopped": "Nobody else is asked. It ends in a moment, with what was said by now.",
    "shared": "Those of its project who are cleared for it can read it now.",
    "marked": "Marked. What its voices weigh from now on is learnt from it.",
    "asked": "Asked for. Somebody else has to say yes: it waits under Approvals.",
    "seated": "You have a seat.",
    "answered": "Your answer is in.",
}


def debate_at(request: Request) -> DebateId:
    """The one in the address. Raises `DebateNotFound`."""
    which = request.path_params["debate"]
    try:
        return DebateId.parse(which)
    except InvalidId as error:
        raise DebateNotFound(which) from error


async def board_values(desk: PageContext, which: DebateId) -> dict[str, Any]:
    """Raises `NotPermitted`, `DebateNotFound`."""
    look = desk.services.debates.look
    whole = await look.one(desk.caller, which)
    its = whole.debate
    parts = await look.parts(desk.caller, which) if its.analysis else ()
    outcomes = await look.turned_out(desk.caller, which) if its.status.over else ()
    board = board_of(whole, parts, desk.now)
    return {
        "debate": its,
        "board": board,
        "may": may_of(its, desk.caller, board),
        "outcome": outcome_words(outcomes),
        "outcomes": outcomes,
        "lower_to": lower_than(its.label, PUBLIC),
        "presets": [str(each) for each in Preset],
        "project_name": await _project(desk, its),
        "replayed": None,
        "asked": {},
    }


async def drawn(
    request: Request,
    desk: PageContext,
    which: DebateId,
    problem: PorticoError | None = None,
    more: Mapping[str, object] | None = None,
) -> Response:
    """`more`: what was asked for on this page, and what came of it."""
    values: dict[str, Any] = {
        **await board_values(desk, which),
        "problem": problem,
        "said": _SAID.get(request.query_params.get("done", "")),
        "seat": None,
        "typed": {},
        **(more or {}),
    }
    status = 200 if problem is None else status_of(problem)
    title = " ".join(values["debate"].question.text.split())[:80]
    return await page(request, "debates/debate.html", values, title=title, status=status)


async def _project(desk: PageContext, its: Debate) -> str | None:
    """Its name, for whoever may know it."""
    if its.project is None or not desk.caller.may(Scope.BRIDGE_READ):
        return None
    try:
        found = await desk.services.bridge.talk.show_project(desk.caller, its.project)
    except PorticoError:
        return None
    return found.name


_DOES: Final = ("stop", "share", "promote", "outcome", "remove")
_WAYS: Final = ("right", "wrong", "answer")


async def act(request: Request) -> Response:
    """One of a few; a refusal is shown on the page of the debate."""
    desk, which, form = page_context(request), debate_at(request), await form_of(request)
    does = form.one_of("do", _DOES)
    try:
        told = await _done(desk, which, form, does)
    except PorticoError as problem:
        return await drawn(
            request, desk, which, problem, {"note": form.fields.get("note", [""])[0]}
        )
    return done("/debates" if does == "remove" else f"/debates/{which}", told)


async def _done(desk: PageContext, which: DebateId, form: Form, does: str) -> str:
    use, caller = desk.services.debates, desk.caller
    match does:
        case "stop":
            await use.stop_debate(caller, which)
            return "stopped"
        case "share":
            await use.share_debate(caller, which)
            return "shared"
        case "promote":
            await use.promote_debate(caller, which, Label.parse(form.text("to", most=500)))
            return "asked"
        case "outcome":
            await use.mark_outcome(caller, which, outcome_in(form))
            return "marked"
        case _:
            await use.remove_debate(caller, which)
            return "removed"


def outcome_in(form: Form) -> OutcomeSpec:
    """Raises `InvalidForm`."""
    note = form.maybe("note", most=2_000) or ""
    match form.one_of("way", _WAYS):
        case "answer":
            answer = form.maybe("answer", most=2_000)
            if answer is None:
                raise InvalidForm("answer", "must say which answer is right")
            return OutcomeSpec(answer=answer, note=note)
        case way:
            return OutcomeSpec(right=way == "right", note=note)


action_routes: Final = [Route("/debates/{debate}", act, methods=["POST"])]

_ROUNDS: Final = {"1": 1, "2": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one way of deciding made of it."""

    answer: str
    decided: bool
    sure: str
    value: float
    told: str
    options: tuple[tuple[str, float, str], ...]
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    was: Side | None
    now: Side
    same: bool
    notes: tuple[str, ...]


async def show_replay(request: Request) -> Response:
    desk, which = page_context(request), debate_at(request)
    asked = _asked(request)
    found: Beside | None = None
    problem: PorticoError | None = None
    try:
        wish = _wish(request)
        found = beside(await desk.services.debates.replay_debate(desk.caller, which, wish))
    except PorticoError as error:
        problem = error
    if not wants_part(request):
        return await drawn(request, desk, which, problem, {"replayed": found, "asked": asked})
    status = 200 if problem is None else status_of(problem)
    values = {"replayed": found, "problem": problem, "asked": asked}
    return part(request, "debates/_replayed.html", values, status=status)


def beside(replayed: Replayed) -> Beside:
    was = replayed.was
    return Beside(
        was=None if was is None else _side(was, replayed.calls_made, replayed.tokens_spent),
        now=_side(replayed.now, replayed.calls, replayed.tokens),
        same=was is not None and was.answer == replayed.now.answer,
        notes=replayed.notes[:12],
    )


def _side(decision: Decision, calls: int, tokens: int) -> Side:
    return Side(
        answer="No decision" if decision.answer is None else brief(decision.answer),
        decided=decision.answer is not None,
        sure=percent(decision.probability),
        value=decision.probability,
        told=verdict_words(decision, DebateStatus.RUNNING),
        options=tuple(
            (brief(each.shown), each.probability, percent(each.probability))
            for each in decision.options[:6]
        ),
        calls=calls,
        tokens=tokens,
    )


def _wish(request: Request) -> ReplaySpec:
    """Raises `InvalidForm`."""
    asked = request.query_params
    preset, rounds = asked.get("preset", ""), asked.get("rounds", "")
    if preset and preset not in {str(each) for each in Preset}:
        raise InvalidForm("preset", "must be one of what is offered")
    return ReplaySpec(
        preset=Preset(preset) if preset else None,
        thoroughness=share(asked.get("thoroughness") or None, "thoroughness"),
        without=tuple(asked.getlist("without")[:26]),
        rounds=_ROUNDS.get(rounds),
    )


def _asked(request: Request) -> Mapping[str, Any]:
    asked = request.query_params
    return {
        "preset": asked.get("preset", ""),
        "thoroughness": asked.get("thoroughness", ""),
        "without": asked.getlist("without"),
        "rounds": asked.get("rounds", ""),
    }


replay_routes: Final = [Route("/debates/{debate}/replay", show_replay, methods=["GET"])]

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


async def seat_of(desk: PageContext, which: DebateId) -> SeatView | None:
    """Of whoever has one already: looking takes none. Raises `DebateNotFound`."""
    whole = await desk.services.debates.look.one(desk.caller, which)
    its = whole.debate
    mine = is_seated(its, desk.caller.id) and desk.caller.may(Scope.DEBATES_JOIN)
    if not mine or its.status.over:
        return None
    return seat_view(await desk.services.debates.join_debate(desk.caller, which))


async def show_seat(request: Request) -> Response:
    """For somebody who may not read the debate and yet sit in it: they are told nothing before."""
    which = debate_at(request)
    values: dict[str, object] = {"which": str(which), "seat": None, "problem": None, "typed": {}}
    return await page(request, "debates/seat.html", values, title="A seat in a debate")


async def show_part(request: Request) -> Response:
    """What is asked of whoever sits there, anew."""
    desk, which = page_context(request), debate_at(request)
    values: dict[str, object] = {
        "seat": await seat_of(desk, which),
        "which": str(which),
        "typed": {},
    }
    return part(request, "debates/_seat.html", values)


async def sit(request: Request) -> Response:
    """Take a seat, or look again; or answer what is asked there."""
    desk, which, form = page_context(request), debate_at(request), await form_of(request)
    answers = form.one_of("do", ("join", "answer")) == "answer"
    try:
        if answers:
            seat = await desk.services.debates.answer_as_guest(desk.caller, which, answer_in(form))
        else:
            seat = await desk.services.debates.join_debate(desk.caller, which)
    except PorticoError as problem:
        return await _again(request, desk, which, form, problem)
    if await _readable(desk, which):
        return done(f"/debates/{which}", "answered" if answers else "seated")
    values = {"which": str(which), "seat": seat_view(seat), "problem": None, "typed": {}}
    return await page(request, "debates/seat.html", values, title="A seat in a debate")


async def _again(
    request: Request, desk: PageContext, which: DebateId, form: Form, problem: PorticoError
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


async def _readable(desk: PageContext, which: DebateId) -> bool:
    if not desk.caller.may(Scope.DEBATES_READ):
        return False
    try:
        await desk.services.debates.look.one(desk.caller, which)
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
    """Raises `InvalidForm`."""
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


seat_routes: Final = [
    Route("/debates/{debate}/seat", show_seat, methods=["GET"]),
    Route("/debates/{debate}/seat", sit, methods=["POST"]),
    Route("/debates/{debate}/seat/part", show_part, methods=["GET"]),
]

_AT_ONCE: Final = 30


async def show_all(request: Request) -> Response:
    values = await _listed(request)
    return await page(request, "debates/page.html", values, title="Debates")


async def show_list(request: Request) -> Response:
    """The list anew."""
    return part(request, "debates/_list.html", await _listed(request))


async def show(request: Request) -> Response:
    desk, which = page_context(request), debate_at(request)
    return await drawn(request, desk, which, more={"seat": await seat_of(desk, which)})


async def show_board(request: Request) -> Response:
    values = await board_values(page_context(request), debate_at(request))
    return part(request, "debates/_board.html", values)


async def show_log(request: Request) -> Response:
    """The whole of it, as a text."""
    desk = page_context(request)
    whole = await desk.services.debates.look.one(desk.caller, debate_at(request))
    text = log_text(whole).encode(errors="backslashreplace").decode()
    return PlainTextResponse(text)


async def _listed(request: Request) -> dict[str, Any]:
    desk, asked = page_context(request), request.query_params
    state, words = asked.get("state", ""), asked.get("q", "").strip()[:200]
    status = DebateStatus(state) if state in CHIPS and state else None
    found = await desk.services.debates.look.page(
        desk.caller,
        project=asked.get("project") or None,
        status=status,
        words=words or None,
        after=_after(asked.get("after")),
        limit=_AT_ONCE,
    )
    return {
        "debates": debate_rows(found),
        "running": " ".join(str(each.id) for each in found if not each.status.over),
        "chips": CHIPS,
        "state": state if status else "",
        "words": words,
        "project": asked.get("project", "")[:100],
        "following": next_cursor(found, _AT_ONCE, str(found[-1].id) if found else ""),
        "query": request.url.query,
    }


def _after(cursor: str | None) -> DebateId | None:
    try:
        last = position(cursor)
        return None if last is None else DebateId.parse(last)
    except (InvalidCursor, InvalidId):
        return None


routes: Final = [
    Route("/debates", show_all, methods=["GET"]),
    Route("/debates/list", show_list, methods=["GET"]),
    *debate_form.routes,
    Route("/debates/{debate}", show, methods=["GET"]),
    Route("/debates/{debate}/board", show_board, methods=["GET"]),
    Route("/debates/{debate}/log", show_log, methods=["GET"]),
    *action_routes,
    *replay_routes,
    *seat_routes,
]
