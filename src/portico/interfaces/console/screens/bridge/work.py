"""Work of a project: added, claimed, handed over, ended."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import MOST_LETTERS, NewWork, WorkEnded, WorkId, WorkState
from portico.engine.core.errors import BadCursor
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.bridge.company import company_of
from portico.interfaces.console.screens.bridge.lists import project_path
from portico.interfaces.console.screens.bridge.panes import panes, project_at
from portico.interfaces.console.screens.bridge.project_rows import work_rows
from portico.interfaces.console.screens.bridge.standing import choices_of, read_at
from portico.interfaces.console.screens.bridge.words import said
from portico.interfaces.http.paging import next_cursor, position
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

_AT_ONCE: Final = 50
_CHIPS: Final = {"": "All", "open": "Open", "claimed": "Claimed", "done": "Done"}
_OVER: Final = (str(WorkState.DONE), str(WorkState.DROPPED))


async def show(request: Request) -> Response:
    desk = desk_of(request)
    return await _drawn(request, desk, await project_at(desk, request))


async def add(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("title", "body", "label")}
    try:
        await desk.house.bridge.things.add_work(desk.caller, _wanted(project, form))
    except PorticoError as problem:
        return await _drawn(request, desk, project, problem, typed)
    return done(f"{project_path(project.id)}/work", "added")


async def change(request: Request) -> Response:
    """Claim it, hand it over, end it."""
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    work = WorkId.parse(request.path_params["work"])
    try:
        told = await _changed(desk, form, work)
    except PorticoError as problem:
        return await _drawn(request, desk, project, problem)
    return done(f"{project_path(project.id)}/work", told)


async def _changed(desk: Desk, form: Form, work: WorkId) -> str:
    use = desk.house.bridge.things
    match form.one_of("do", ("claim", "hand_over", "end")):
        case "claim":
            await use.claim_work(desk.caller, work)
            return "claimed"
        case "hand_over":
            to = form.maybe("to", most=100)
            them = None if to is None else PrincipalId.parse(to)
            await use.hand_over_work(desk.caller, work, _token(form), them)
            return "handed_over"
        case _:
            ended = WorkEnded(
                work=work,
                token=_token(form),
                state=WorkState(form.one_of("state", _OVER)),
                outcome=form.maybe("outcome", most=MOST_LETTERS) or "",
            )
            await use.end_work(desk.caller, ended)
            return "ended"


async def _drawn(
    request: Request,
    desk: Desk,
    project: Project,
    problem: PorticoError | None = None,
    typed: dict[str, str] | None = None,
) -> Response:
    listed = await _listed(request, desk, project)
    mark = listed["have_read"]
    values = {
        **await panes(desk, project.id),
        **listed,
        "problem": problem,
        "typed": typed or {},
        "said": said(request),
        "labels": choices_of(project.label, mark, desk.caller.clearance),
    }
    status = 200 if problem is None else status_of(problem)
    title = f"{project.name}: work"
    return await page(request, "bridge/work.html", values, title=title, status=status)


async def _listed(request: Request, desk: Desk, project: Project) -> dict[str, Any]:
    asked = request.query_params
    state = asked.get("state", "")
    writes = desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None
    found = await desk.house.bridge.things.list_work(
        desk.caller,
        project.id,
        state=WorkState(state) if state in _CHIPS and state else None,
        after=_after(asked.get("after")),
        limit=_AT_ONCE,
    )
    company = await company_of(desk) or {}
    read = await read_at(desk, project.id)
    return {
        "work": work_rows(found, desk.caller.id, read, writes=writes),
        "have_read": read,
        "chips": _CHIPS,
        "state": state if state in _CHIPS else "",
        "following": next_cursor(found, _AT_ONCE, str(found[-1].id) if found else ""),
        "others": [each for each in company.values() if not each.gone],
        "can_write": writes,
    }


def _wanted(project: Project, form: Form) -> NewWork:
    """Raises `BadForm`, `BadLabel`."""
    label = form.maybe("label", most=500)
    return NewWork(
        project=project.id,
        title=form.text("title", most=400),
        body=form.maybe("body", most=MOST_LETTERS) or "",
        label=None if label is None else Label.parse(label),
        key=form.once,
    )


def _token(form: Form) -> int:
    """Raises `BadForm`."""
    token = form.whole("token")
    if token is None:
        raise BadForm("token", "must be filled in")
    return token


def _after(cursor: str | None) -> str | None:
    try:
        return position(cursor)
    except BadCursor:
        return None


routes: Final = [
    Route("/bridge/{project}/work", show, methods=["GET"]),
    Route("/bridge/{project}/work", add, methods=["POST"]),
    Route("/bridge/{project}/work/{work}", change, methods=["POST"]),
]
