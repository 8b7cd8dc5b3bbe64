"""The bridge: inbox, search, new projects and conversations, and the routes of all its pages."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import ConversationNotFound
from portico.bridge.core.projects import Project
from portico.bridge.search import Hit
from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.bridge import conversation, messages
from portico.interfaces.console.screens.bridge import project as things
from portico.interfaces.console.screens.bridge.panes import (
    FOLLOWED,
    choices_of,
    company_of,
    conversation_at,
    conversation_path,
    conversation_rows,
    hit_rows,
    next_unread,
    overdue_rows,
    panes,
    project_at,
    project_path,
    project_rows,
    read_at,
    said,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import PUBLIC, Label

_MOST_PEOPLE: Final = 100


async def new_project(request: Request) -> Response:
    return await _project_form(request, {}, None)


async def make_project(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("name", "description", "label")}
    try:
        wanted: JsonObject = {
            "name": form.text("name", most=200),
            "description": form.maybe("description") or "",
            "label": form.maybe("label", most=500),
        }

        async def make() -> str:
            label = wanted["label"]
            made = await desk.services.bridge.talk.create_project(
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
    desk = page_context(request)
    return await _conversation_form(request, await project_at(desk, request), {}, None)


async def make_conversation(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
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
    desk, form = page_context(request), await form_of(request)
    away = form.one_of("archived", ("yes", "no")) == "yes"
    project = await project_at(desk, request)
    await desk.services.bridge.talk.change_project(desk.caller, project.id, archived=away)
    return done(project_path(project.id), "archived" if away else "taken_out")


async def archive_conversation(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    away = form.one_of("archived", ("yes", "no")) == "yes"
    its = await conversation_at(desk, request)
    await desk.services.bridge.talk.change_conversation(desk.caller, its.id, archived=away)
    return done(f"{project_path(its.project)}/{its.id}", "archived" if away else "taken_out")


async def _begun(desk: PageContext, project: Project, form: Form) -> str:
    label = form.maybe("label", most=500)
    made = await desk.services.bridge.talk.create_conversation(
        desk.caller,
        project.id,
        form.text("title", most=400),
        label=None if label is None else Label.parse(label),
        closed=form.ticked("closed"),
        participants=[PrincipalId.parse(each) for each in form.many("people")],
    )
    return str(made.id)


async def _made_once(
    desk: PageContext,
    operation: str,
    request: JsonObject,
    form: Form,
    make: Callable[[], Awaitable[str]],
) -> str:
    """Its id alone is kept, for who is cleared for as much: as over REST."""
    own = sha256(canonical([str(desk.caller.clearance)])).hexdigest()

    async def action() -> StoredResponse:
        return StoredResponse({"id": await make()})

    ask = WriteRequest(f"{operation} {own}", request, form.once)
    receipt = await desk.services.use.do_once(desk.caller, ask, action)
    return str(receipt.body["id"])


async def _project_form(
    request: Request, typed: dict[str, str], problem: PorticoError | None
) -> Response:
    desk = page_context(request)
    require_scope(desk.caller, Scope.BRIDGE_WRITE)
    labels = choices_of(PUBLIC, PUBLIC, desk.caller.clearance)
    values = {"typed": typed, "problem": problem, "labels": labels}
    status = 200 if problem is None else status_of(problem)
    return await page(
        request, "bridge/new_project.html", values, title="New project", status=status
    )


async def _conversation_form(
    request: Request, project: Project, typed: dict[str, Any], problem: PorticoError | None
) -> Response:
    desk = page_context(request)
    require_scope(desk.caller, Scope.BRIDGE_WRITE)
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


begin_routes: Final = [
    Route("/bridge/new", new_project, methods=["GET"]),
    Route("/bridge/new", make_project, methods=["POST"]),
    Route("/bridge/{project}/new", new_conversation, methods=["GET"]),
    Route("/bridge/{project}/new", make_conversation, methods=["POST"]),
    Route("/bridge/{project}/archive", archive_project, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/archive", archive_conversation, methods=["POST"]),
]

_PROJECTS: Final = 60
_RECENT: Final = 16
_HITS: Final = 60
_PLAIN: Final = "application/octet-stream"
"""Whatever somebody has attached, it is a file to be kept, and no page of ours."""


async def show(request: Request) -> Response:
    desk = page_context(request)
    values = {**await _inbox(desk), "said": said(request)}
    return await page(request, "bridge/page.html", values, title="Bridge")


async def show_inbox(request: Request) -> Response:
    return part(request, "bridge/_inbox_again.html", await _inbox(page_context(request)))


async def show_list(request: Request) -> Response:
    """Both lists anew."""
    desk = page_context(request)
    project, at = await project_at(desk, request), request.query_params.get("at")
    values = await panes(desk, project.id, ConversationId.parse(at) if at else None)
    return part(request, "bridge/_lists.html", values)


async def go_on(request: Request) -> Response:
    """To the next conversation in which something is unread."""
    desk = page_context(request)
    inbox = await desk.services.bridge.talk.show_inbox(desk.caller)
    found = next_unread(inbox, request.query_params.get("from"))
    return RedirectResponse("/bridge" if found is None else conversation_path(found), 303)


async def search(request: Request) -> Response:
    """Among everything that whoever asks may read, and not in one project alone: then that would
    have been read in it."""
    desk, asked = page_context(request), request.query_params
    text, by = asked.get("q", "").strip()[:1000], asked.get("by", "words")
    hits: list[Hit] = []
    where: dict[ConversationId, Conversation] = {}
    problem = None
    if text:
        try:
            hits = [
                *await desk.services.bridge.talk.search_messages(
                    desk.caller, text, by_meaning=by == "meaning", limit=_HITS
                )
            ]
            where = await _where(desk, {hit.message.conversation for hit in hits})
        except PorticoError as error:
            problem = error
    values = {
        "text": text,
        "by": by,
        "problem": problem,
        "hits": hit_rows(hits, where, asked.get("project")),
        **await _projects(desk),
    }
    return await page(request, "bridge/search.html", values, title="Search the bridge")


async def export(request: Request) -> Response:
    desk = page_context(request)
    project = await project_at(desk, request)
    lines = await desk.services.bridge.letting_out.export_project(desk.caller, project.id)
    name = quote(f"{project.name}.ndjson", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return StreamingResponse(_written(lines), 200, headers, "application/x-ndjson")


async def fetch(request: Request) -> Response:
    """An attachment."""
    desk, digest = page_context(request), Digest.parse(request.path_params["digest"])
    its, content = await desk.services.bridge.things.fetch_attachment(desk.caller, digest)
    name = quote(its.name, safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, headers=headers, media_type=_PLAIN)


async def _inbox(desk: PageContext) -> dict[str, object]:
    use = desk.services.bridge.talk
    inbox = await use.show_inbox(desk.caller)
    projects = await use.list_projects(desk.caller, limit=_PROJECTS)
    names = {each.id: each.name for each in projects}
    recent = await use.list_conversations(desk.caller, limit=_RECENT)
    late = {each.conversation for each in inbox.overdue}
    waiting = conversation_rows([item.conversation for item in inbox.unread], inbox, projects=names)
    seen = {row.id for row in waiting}
    others = [row for row in conversation_rows(recent, inbox, projects=names) if row.id not in seen]
    return {
        "projects": project_rows(projects, inbox, None),
        "unread_rows": waiting,
        "recent": others,
        "overdue": overdue_rows(inbox.overdue, await _where(desk, late), desk.caller.id),
        "unread": inbox.total,
        "topics": " ".join([row.id for row in (*waiting, *others)][: FOLLOWED + 1]),
        "mcp": f"{desk.services.use.base_url}/mcp/bridge",
    }


async def _projects(desk: PageContext) -> dict[str, object]:
    use = desk.services.bridge.talk
    inbox = await use.show_inbox(desk.caller)
    projects = await use.list_projects(desk.caller, limit=_PROJECTS)
    return {"projects": project_rows(projects, inbox, None), "unread": inbox.total}


async def _where(
    desk: PageContext, which: Collection[ConversationId]
) -> dict[ConversationId, Conversation]:
    """Those that can still be seen."""
    found = {}
    for each in which:
        with suppress(ConversationNotFound):
            found[each] = await desk.services.bridge.talk.show_conversation(desk.caller, each)
    return found


async def _written(lines: AsyncGenerator[JsonObject, None]) -> AsyncIterator[str]:
    async with aclosing(lines):
        async for line in lines:
            yield json.dumps(line) + "\n"


_FIRST: Final = [
    Route("/bridge", show, methods=["GET"]),
    Route("/bridge/inbox", show_inbox, methods=["GET"]),
    Route("/bridge/next", go_on, methods=["GET"]),
    Route("/bridge/search", search, methods=["GET"]),
    Route("/bridge/attachments/{digest}", fetch, methods=["GET"]),
]
_OF_PROJECT: Final = [
    Route("/bridge/{project}/list", show_list, methods=["GET"]),
    Route("/bridge/{project}/export", export, methods=["GET"]),
]
# Fixed paths come before those with an id in the same place.
routes: Final = [
    *_FIRST,
    *begin_routes,
    *_OF_PROJECT,
    *things.routes,
    *messages.routes,
    *conversation.routes,
]
