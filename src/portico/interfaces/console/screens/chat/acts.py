"""What somebody does in a chat: begin one, say something, stop it, ask again, approve."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, part, wants_part
from portico.interfaces.console.screens.approvals.typed import written
from portico.interfaces.console.screens.chat import pages
from portico.interfaces.console.screens.chat.reading import run_named, seat
from portico.interfaces.console.screens.chat.talking import (
    LONGEST,
    begun,
    branched,
    retried,
    said_to,
)
from portico.interfaces.console.screens.chat.thread import Mine, clipped
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import LEVELS, Label

_ANSWERS: Final = tuple(AnswerKind)
AT_END: Final = {"HX-Retarget": "#chat", "HX-Reswap": "beforeend"}


async def begin(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    try:
        agent, message = form.text("agent", most=60), form.text("message", most=LONGEST)
        chosen = form.maybe("label", most=20)
        label = None if chosen is None else Label(LEVELS[form.one_of("label", tuple(LEVELS))])
        run = await begun(desk, agent, message, once=form.once, label=label)
    except PorticoError as problem:
        return await pages.drawn(request, problem, _typed(form))
    return done(f"/chat/{run}")


async def say(request: Request) -> Response:
    """Into the run that is on; or, if it is over, into another that continues it."""
    desk, run = desk_of(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        message = form.text("message", most=LONGEST)
        heard = await said_to(desk, run, message, once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem, _typed(form))
    if heard.run != run or not wants_part(request):
        return moved(request, f"/chat/{heard.run}")
    return said_part(request, run, heard.number or 0, message)


def said_part(request: Request, run: RunId, number: int, message: str) -> Response:
    mine = Mine(
        key=f"{run}-said-{number}",
        number=number,
        said=clipped(message),
        at=desk_of(request).now,
        waits=True,
        changeable=False,
    )
    values = {"item": mine, "run": str(run), "head": None, "pane": False}
    response = part(request, "chat/_mine.html", values)
    response.headers.update(AT_END)
    return response


async def stop(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    try:
        await desk.house.agent_runs.stop_run(seat(desk, run), run)
    except PorticoError as problem:
        return await _trouble(request, problem)
    return Response(status_code=204) if wants_part(request) else done(f"/chat/{run}", "stopped")


async def again(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        to = await retried(desk, run, once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem)
    return moved(request, f"/chat/{to}")


async def branch(request: Request) -> Response:
    """The message once more, changed: what came before it stays, and so does this run."""
    desk, run = desk_of(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        to = await branched(desk, run, form.text("message", most=LONGEST), once=form.once)
    except PorticoError as problem:
        return await _trouble(request, problem, _typed(form))
    return moved(request, f"/chat/{to}")


async def answer(request: Request) -> Response:
    """The use case of the inbox, in the chat that waits for it."""
    desk, run = desk_of(request), run_named(request.path_params["run"])
    form = await form_of(request)
    try:
        approval = ApprovalId.parse(request.path_params["approval"])
        reply = Reply(
            kind=AnswerKind(form.one_of("answer", _ANSWERS)),
            via=Via.WEB,
            reason=form.maybe("reason", most=500),
            arguments=_arguments(form),
        )
        await desk.house.gateway.approvals.answer_approval(seat(desk, run), approval, reply)
    except PorticoError as problem:
        return await _trouble(request, problem)
    number = form.whole("turn", most=10**6)
    if number is None or not wants_part(request):
        return done(f"/chat/{run}")
    return await pages.turn_part(request, desk, run, number)


def _arguments(form: Form) -> JsonObject | None:
    """None if they are to stay as they are. Raises `BadForm`."""
    typed = form.maybe("arguments", most=LONGEST)
    if typed is None:
        return None
    return written(typed)


def moved(request: Request, to: str) -> Response:
    if wants_part(request):
        return Response(status_code=204, headers={"HX-Redirect": to})
    return done(to)


async def _trouble(request: Request, problem: PorticoError, typed: str = "") -> Response:
    """In the chat itself: what was typed is still there."""
    if wants_part(request):
        return trouble_part(request, problem)
    return await pages.drawn_one(request, problem, typed)


def trouble_part(request: Request, problem: PorticoError, at: str = "#chat") -> Response:
    """At the end of the chat, wherever its answer was to go."""
    values = {"problem": problem}
    response = part(request, "chat/_trouble.html", values, status=status_of(problem))
    response.headers.update({**AT_END, "HX-Retarget": at})
    return response


def _typed(form: Form) -> str:
    return "".join(form.fields.get("message", ("",))[:1])[:LONGEST]
