"""Begin something on the bridge: a project, or a conversation in one. Put it away again."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.projects import Project
from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.bridge.company import company_of
from portico.interfaces.console.screens.bridge.lists import project_path
from portico.interfaces.console.screens.bridge.panes import conversation_at, panes, project_at
from portico.interfaces.console.screens.bridge.standing import choices_of, read_at
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import PUBLIC, Label

_MOST_PEOPLE: Final = 100


async def new_project(request: Request) -> Response:
    return await _project_form(request, {}, None)


async def make_project(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("name", "description", "label")}
    try:
        wanted: JsonObject = {
            "name": form.text("name", most=200),
            "description": form.maybe("description") or "",
            "label": form.maybe("label", most=500),
        }

        async def make() -> str:
            label = wanted["label"]
            made = await desk.house.bridge.talk.create_project(
                desk.caller,
                str(wanted["name"]),
                str(wanted["description"]),
                None if label is None else Label.parse(str(label)),
            )
            return str(made.id)

        made = await _made_once(desk, "console.bridge.project", wanted, form, make)
    except PorticoError as problem:
        return await _project_form(request, typed, problem)
    return done(f"/bridge/{made}", "made")


async def new_conversation(request: Request) -> Response:
    desk = desk_of(request)
    return await _conversation_form(request, await project_at(desk, request), {}, None)


async def make_conversation(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    typed: dict[str, Any] = {
        "title": form.fields.get("title", [""])[0],
        "label": form.fields.get("label", [""])[0],
        "closed": "closed" in form.fields,
        "people": form.fields.get("people", []),
    }
    try:
        wanted: JsonObject = {
            "project": str(project.id),
            "title": form.text("title", most=400),
            "label": form.maybe("label", most=500),
            "closed": form.ticked("closed"),
            "people": [*form.many("people", most=_MOST_PEOPLE)],
        }

        async def make() -> str:
            return await _begun(desk, project, form)

        made = await _made_once(desk, "console.bridge.conversation", wanted, form, make)
    except PorticoError as problem:
        return await _conversation_form(request, project, typed, problem)
    return done(f"{project_path(project.id)}/{made}")


async def archive_project(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    away = form.one_of("archived", ("yes", "no")) == "yes"
    project = await project_at(desk, request)
    await desk.house.bridge.talk.change_project(desk.caller, project.id, archived=away)
    return done(project_path(project.id), "archived" if away else "taken_out")


async def archive_conversation(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    away = form.one_of("archived", ("yes", "no")) == "yes"
    its = await conversation_at(desk, request)
    await desk.house.bridge.talk.change_conversation(desk.caller, its.id, archived=away)
    return done(f"{project_path(its.project)}/{its.id}", "archived" if away else "taken_out")


async def _begun(desk: Desk, project: Project, form: Form) -> str:
    label = form.maybe("label", most=500)
    made = await desk.house.bridge.talk.create_conversation(
        desk.caller,
        project.id,
        form.text("title", most=400),
        label=None if label is None else Label.parse(label),
        closed=form.ticked("closed"),
        participants=[PrincipalId.parse(each) for each in form.many("people")],
    )
    return str(made.id)


async def _made_once(
    desk: Desk,
    operation: str,
    request: JsonObject,
    form: Form,
    make: Callable[[], Awaitable[str]],
) -> str:
    """Its id alone is kept, for who is cleared for as much: as over REST."""
    own = sha256(canonical([str(desk.caller.clearance)])).hexdigest()

    async def action() -> Answer:
        return Answer({"id": await make()})

    ask = Ask(f"{operation} {own}", request, form.once)
    receipt = await desk.house.use.do_once(desk.caller, ask, action)
    return str(receipt.body["id"])


async def _project_form(
    request: Request, typed: dict[str, str], problem: PorticoError | None
) -> Response:
    desk = desk_of(request)
    permit(desk.caller, Scope.BRIDGE_WRITE)
    labels = choices_of(PUBLIC, PUBLIC, desk.caller.clearance)
    values = {"typed": typed, "problem": problem, "labels": labels}
    status = 200 if problem is None else status_of(problem)
    return await page(
        request, "bridge/new_project.html", values, title="New project", status=status
    )


async def _conversation_form(
    request: Request, project: Project, typed: dict[str, Any], problem: PorticoError | None
) -> Response:
    desk = desk_of(request)
    permit(desk.caller, Scope.BRIDGE_WRITE)
    company = await company_of(desk)
    others = [
        each
        for each in (company or {}).values()
        if each.id != desk.caller.id and not each.gone and each.clearance.covers(project.label)
    ]
    mark = await read_at(desk, project.id)
    values = {
        **await panes(desk, project.id),
        "typed": typed,
        "problem": problem,
        "labels": choices_of(project.label, mark, desk.caller.clearance),
        "have_read": mark,
        "people": sorted(others, key=lambda each: each.name.casefold())[:_MOST_PEOPLE],
    }
    status = 200 if problem is None else status_of(problem)
    return await page(
        request, "bridge/new_conversation.html", values, title="New conversation", status=status
    )


routes: Final = [
    Route("/bridge/new", new_project, methods=["GET"]),
    Route("/bridge/new", make_project, methods=["POST"]),
    Route("/bridge/{project}/new", new_conversation, methods=["GET"]),
    Route("/bridge/{project}/new", make_conversation, methods=["POST"]),
    Route("/bridge/{project}/archive", archive_project, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/archive", archive_conversation, methods=["POST"]),
]
