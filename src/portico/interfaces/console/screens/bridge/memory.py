"""What a project remembers: looked through, added to, forgotten, with its history."""

import json
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.memory import MOST_LETTERS, MOST_OF_VALUE, ToRemember
from portico.bridge.core.projects import Project
from portico.engine.core.errors import BadCursor
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.bridge.company import company_of
from portico.interfaces.console.screens.bridge.lists import project_path
from portico.interfaces.console.screens.bridge.panes import panes, project_at
from portico.interfaces.console.screens.bridge.project_rows import memory_rows
from portico.interfaces.console.screens.bridge.standing import choices_of, read_at
from portico.interfaces.console.screens.bridge.words import said
from portico.interfaces.http.paging import next_cursor, text_position
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.label import Label

_AT_ONCE: Final = 50


async def show(request: Request) -> Response:
    desk = desk_of(request)
    return await _drawn(request, desk, await project_at(desk, request), {})


async def put(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("key", "value", "label", "version")}
    try:
        await desk.house.bridge.things.remember(desk.caller, _wanted(project, form))
    except PorticoError as problem:
        return await _drawn(request, desk, project, typed, problem)
    return done(f"{project_path(project.id)}/memory", "remembered")


async def forget(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    project = await project_at(desk, request)
    key, label = form.text("key", most=MOST_LETTERS), Label.parse(form.text("label", most=500))
    try:
        await desk.house.bridge.things.forget(desk.caller, project.id, key, label)
    except PorticoError as problem:
        return await _drawn(request, desk, project, {}, problem)
    return done(f"{project_path(project.id)}/memory", "forgotten")


async def history(request: Request) -> Response:
    desk, key = desk_of(request), request.query_params.get("key", "")[:1200]
    project = await project_at(desk, request)
    found = await desk.house.bridge.things.memory_history(desk.caller, project.id, key)
    values = {
        **await panes(desk, project.id),
        "key": key,
        "versions": memory_rows(found[:_AT_ONCE], await company_of(desk), whole=True),
        "can_write": desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None,
    }
    return await page(request, "bridge/memory_history.html", values, title=f"{key}: history")


async def _drawn(
    request: Request,
    desk: Desk,
    project: Project,
    typed: dict[str, str],
    problem: PorticoError | None = None,
) -> Response:
    listed = await _listed(request, desk, project)
    mark = await read_at(desk, project.id)
    values = {
        **await panes(desk, project.id),
        **listed,
        "typed": typed,
        "problem": problem,
        "said": said(request),
        "have_read": mark,
        "labels": choices_of(project.label, mark, desk.caller.clearance),
        "can_write": desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None,
    }
    status = 200 if problem is None else status_of(problem)
    title = f"{project.name}: memory"
    return await page(request, "bridge/memory.html", values, title=title, status=status)


async def _listed(request: Request, desk: Desk, project: Project) -> dict[str, Any]:
    asked, use = request.query_params, desk.house.bridge.things
    words, prefix = asked.get("q", "").strip()[:1000], asked.get("prefix", "")[:MOST_LETTERS]
    if words:
        found = await use.search_memory(desk.caller, project.id, words, _AT_ONCE)
        following = None
    else:
        found = await use.list_memory(
            desk.caller, project.id, prefix=prefix, after=_after(asked.get("after")), limit=_AT_ONCE
        )
        following = next_cursor(found, _AT_ONCE, found[-1].key if found else "")
    rows = memory_rows(found, await company_of(desk))
    return {"memory": rows, "words": words, "prefix": prefix, "following": following}


def _wanted(project: Project, form: Form) -> ToRemember:
    """What is no JSON is a text. Raises `BadForm`, `BadLabel`."""
    label = form.maybe("label", most=500)
    return ToRemember(
        project=project.id,
        key=form.text("key", most=MOST_LETTERS),
        value=_value(form.text("value", most=MOST_OF_VALUE)),
        label=None if label is None else Label.parse(label),
        version=form.whole("version", most=1_000_000_000),
    )


def _value(text: str) -> JsonValue:
    if not text.startswith(("{", "[")):
        return text
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value


def _after(cursor: str | None) -> str | None:
    try:
        return text_position(cursor)
    except BadCursor:
        return None


routes: Final = [
    Route("/bridge/{project}/memory", show, methods=["GET"]),
    Route("/bridge/{project}/memory", put, methods=["POST"]),
    Route("/bridge/{project}/memory/forget", forget, methods=["POST"]),
    Route("/bridge/{project}/memory/history", history, methods=["GET"]),
]
