"""Ask something of several voices: the form, what it would cost, and to start it."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message, MessageId
from portico.bridge.core.projects import Project
from portico.debate.core.debates import Estimate
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.bridge.standing import choices_of, read_at
from portico.interfaces.console.screens.debates.wishes import (
    KINDS,
    MINUTES,
    PRESETS,
    Typed,
    typed_in,
    wish_of,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.label import PUBLIC, Label, join

_PROJECTS: Final = 100
_QUESTION: Final = 2_000


async def show(request: Request) -> Response:
    desk, asked = desk_of(request), request.query_params
    permit(desk.caller, Scope.DEBATES_RUN)
    typed = Typed(
        question=asked.get("question", "")[:_QUESTION],
        project=asked.get("project", "")[:100],
        conversation=asked.get("conversation", "")[:100],
        message=asked.get("message", "")[:100],
    )
    return await _drawn(request, desk, await _from_talk(desk, typed))


async def start(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    typed = typed_in(form)
    try:
        least = await _least(desk, typed)
        debates = desk.house.debates
        wish = wish_of(form, least, debates.usual_cap)
        started = await debates.start_debate(desk.caller, wish)
    except PorticoError as problem:
        return await _drawn(request, desk, typed, problem)
    return done(f"/debates/{started.debate.id}")


async def estimate(request: Request) -> Response:
    """What it would cost; what is missing yet is said in the same place."""
    desk, form = desk_of(request), await form_of(request)
    found: Estimate | None = None
    problem: PorticoError | None = None
    try:
        least = await _least(desk, typed_in(form))
        debates = desk.house.debates
        wish = wish_of(form, least, debates.usual_cap, once=False)
        found = await debates.estimate_debate(desk.caller, wish)
    except PorticoError as error:
        problem = error
    values = {"estimate": found, "problem": problem, "kinds": KINDS}
    return part(request, "debates/_estimate.html", values)


async def _drawn(
    request: Request, desk: Desk, typed: Typed, problem: PorticoError | None = None
) -> Response:
    projects = await _projects(desk)
    least = await _least(desk, typed)
    project = next((each for each in projects if str(each.id) == typed.project), None)
    read = PUBLIC if project is None else await read_at(desk, project.id)
    inside = join([least, PUBLIC if project is None else project.label])
    values: dict[str, Any] = {
        "typed": typed,
        "problem": problem,
        "projects": projects,
        "voices": await desk.house.debates.list_voices(desk.caller),
        "personas": await desk.house.debates.personas.all(desk.caller),
        "kinds": KINDS,
        "presets": PRESETS,
        "minutes": MINUTES,
        "labels": choices_of(inside, read, desk.caller.clearance),
        "inside": inside,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "debates/new.html", values, title="New debate", status=status)


async def _projects(desk: Desk) -> Sequence[Project]:
    if not desk.caller.may(Scope.BRIDGE_READ):
        return ()
    return await desk.house.bridge.talk.list_projects(desk.caller, limit=_PROJECTS)


async def _from_talk(desk: Desk, typed: Typed) -> Typed:
    """With what a conversation or one of its messages says, to be changed by whoever asks."""
    its, message = await _asked_about(desk, typed)
    if its is None:
        return typed
    question = its.title if message is None else message.body
    return Typed(
        question=typed.question or question[:_QUESTION],
        project=str(its.project),
        conversation=typed.conversation,
        message=typed.message,
    )


async def _least(desk: Desk, typed: Typed) -> Label:
    """As secret as where it was taken from, whatever was made of it since."""
    its, message = await _asked_about(desk, typed)
    labels = [each.label for each in (its, message) if each is not None]
    return join(labels)


async def _asked_about(desk: Desk, typed: Typed) -> tuple[Conversation | None, Message | None]:
    """Raises `ConversationNotFound`, `MessageNotFound`, `BadId`."""
    if not typed.conversation:
        return None, None
    use = desk.house.bridge.talk
    its = await use.show_conversation(desk.caller, ConversationId.parse(typed.conversation))
    if not typed.message:
        return its, None
    return its, await use.show_message(desk.caller, MessageId.parse(typed.message))


routes: Final = [
    Route("/debates/new", show, methods=["GET"]),
    Route("/debates/new", start, methods=["POST"]),
    Route("/debates/estimate", estimate, methods=["POST"]),
]
