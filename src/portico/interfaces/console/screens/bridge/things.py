"""A project: who is there, who holds what, what it remembers, what is to be done, and what its
debates may spend."""

from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.leases import LeaseId, LeaseWish
from portico.bridge.core.projects import Project
from portico.debate.core.questions import Cap
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.bridge import memory, work
from portico.interfaces.console.screens.bridge.lists import project_path
from portico.interfaces.console.screens.bridge.panes import panes, project_at
from portico.interfaces.console.screens.bridge.project_rows import (
    budget_row,
    lease_rows,
    presence_rows,
)
from portico.interfaces.console.screens.bridge.words import said
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError

_MINUTES: Final = ("10", "60", "480", "1440")


async def show(request: Request) -> Response:
    desk = desk_of(request)
    return await _drawn(request, desk, await project_at(desk, request))


async def show_around(request: Request) -> Response:
    """Who is there and who holds what, anew."""
    desk = desk_of(request)
    project = await project_at(desk, request)
    values = {**await _around(desk, project), "project": project}
    return part(request, "bridge/_around.html", values)


async def take_lease(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    try:
        minutes = int(form.one_of("minutes", _MINUTES))
        wish = LeaseWish(
            project=project.id,
            resource=form.text("resource", most=400),
            lasts=timedelta(minutes=minutes),
            purpose=form.maybe("purpose", most=400) or "",
            key=form.once,
        )
        await desk.house.bridge.things.take_lease(desk.caller, wish)
    except PorticoError as problem:
        return await _drawn(request, desk, project, problem)
    return done(project_path(project.id), "leased")


async def release_lease(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    token = form.whole("token")
    if token is None:
        raise BadForm("token", "must be filled in")
    lease = LeaseId.parse(request.path_params["lease"])
    try:
        await desk.house.bridge.things.release_lease(desk.caller, lease, token)
    except PorticoError as problem:
        return await _drawn(request, desk, project, problem)
    return done(project_path(project.id), "released")


async def set_budget(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    try:
        cap = Cap(tokens=form.whole("tokens"), money=_dollars(form))
        await desk.house.debates.budget.put(desk.caller, str(project.id), cap)
    except PorticoError as problem:
        return await _drawn(request, desk, project, problem)
    return done(project_path(project.id), "budget")


async def _drawn(
    request: Request, desk: Desk, project: Project, problem: PorticoError | None = None
) -> Response:
    asked = request.query_params
    archived = asked.get("archived") == "yes"
    values = {
        **await panes(desk, project.id, archived=archived, after=asked.get("after")),
        **await _around(desk, project),
        "budget": await _budget(desk, project),
        "problem": problem,
        "said": said(request),
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "bridge/project.html", values, title=project.name, status=status)


async def _around(desk: Desk, project: Project) -> dict[str, Any]:
    use = desk.house.bridge.things
    held, queue = await use.list_leases(desk.caller, project.id)
    there = await use.list_presence(desk.caller, project.id)
    return {
        "presence": presence_rows(there, desk.caller.id),
        "leases": lease_rows(held, queue, desk.caller.id, desk.now),
        "can_write": desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None,
    }


async def _budget(desk: Desk, project: Project) -> object:
    if not desk.caller.may(Scope.DEBATES_READ):
        return None
    cap, spent = await desk.house.debates.budget.show(desk.caller, str(project.id))
    return budget_row(cap, spent)


def _dollars(form: Form) -> Decimal | None:
    """Raises `BadForm`."""
    text = form.maybe("money", most=20)
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise BadForm("money", "must be an amount such as 2.50") from error
    if not value.is_finite() or value < 0:
        raise BadForm("money", "must be an amount such as 2.50")
    return value


routes: Final = [
    Route("/bridge/{project}", show, methods=["GET"]),
    Route("/bridge/{project}/around", show_around, methods=["GET"]),
    Route("/bridge/{project}/leases", take_lease, methods=["POST"]),
    Route("/bridge/{project}/leases/{lease}/release", release_lease, methods=["POST"]),
    Route("/bridge/{project}/budget", set_budget, methods=["POST"]),
    *memory.routes,
    *work.routes,
]
