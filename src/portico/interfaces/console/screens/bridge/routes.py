"""The bridge: what waits, projects, what is found, and the way to everything else of it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, suppress
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import ConversationNotFound
from portico.bridge.search import Hit
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page, part
from portico.interfaces.console.screens.bridge import begin, messages, talk, things
from portico.interfaces.console.screens.bridge.hits import hit_rows
from portico.interfaces.console.screens.bridge.lists import (
    FOLLOWED,
    conversation_path,
    conversation_rows,
    next_unread,
    overdue_rows,
    project_rows,
)
from portico.interfaces.console.screens.bridge.panes import panes, project_at
from portico.interfaces.console.screens.bridge.words import said
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_PROJECTS: Final = 60
_RECENT: Final = 16
_HITS: Final = 60
_PLAIN: Final = "application/octet-stream"
"""Whatever somebody has attached, it is a file to be kept, and no page of ours."""


async def show(request: Request) -> Response:
    desk = desk_of(request)
    values = {**await _inbox(desk), "said": said(request)}
    return await page(request, "bridge/page.html", values, title="Bridge")


async def show_inbox(request: Request) -> Response:
    return part(request, "bridge/_inbox_again.html", await _inbox(desk_of(request)))


async def show_list(request: Request) -> Response:
    """Both lists anew."""
    desk = desk_of(request)
    project, at = await project_at(desk, request), request.query_params.get("at")
    values = await panes(desk, project.id, ConversationId.parse(at) if at else None)
    return part(request, "bridge/_lists.html", values)


async def go_on(request: Request) -> Response:
    """To the next conversation in which something is unread."""
    desk = desk_of(request)
    inbox = await desk.house.bridge.talk.show_inbox(desk.caller)
    found = next_unread(inbox, request.query_params.get("from"))
    return RedirectResponse("/bridge" if found is None else conversation_path(found), 303)


async def search(request: Request) -> Response:
    """Among everything that whoever asks may read, and not in one project alone: then that would
    have been read in it."""
    desk, asked = desk_of(request), request.query_params
    text, by = asked.get("q", "").strip()[:1000], asked.get("by", "words")
    hits: list[Hit] = []
    where: dict[ConversationId, Conversation] = {}
    problem = None
    if text:
        try:
            hits = [
                *await desk.house.bridge.talk.search_messages(
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
    desk = desk_of(request)
    project = await project_at(desk, request)
    lines = await desk.house.bridge.letting_out.export_project(desk.caller, project.id)
    name = quote(f"{project.name}.ndjson", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return StreamingResponse(_written(lines), 200, headers, "application/x-ndjson")


async def fetch(request: Request) -> Response:
    """An attachment."""
    desk, digest = desk_of(request), Digest.parse(request.path_params["digest"])
    its, content = await desk.house.bridge.things.fetch_attachment(desk.caller, digest)
    name = quote(its.name, safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, headers=headers, media_type=_PLAIN)


async def _inbox(desk: Desk) -> dict[str, object]:
    use = desk.house.bridge.talk
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
        "mcp": f"{desk.house.use.base_url}/mcp/bridge",
    }


async def _projects(desk: Desk) -> dict[str, object]:
    use = desk.house.bridge.talk
    inbox = await use.show_inbox(desk.caller)
    projects = await use.list_projects(desk.caller, limit=_PROJECTS)
    return {"projects": project_rows(projects, inbox, None), "unread": inbox.total}


async def _where(
    desk: Desk, which: Collection[ConversationId]
) -> dict[ConversationId, Conversation]:
    """Those that can still be seen."""
    found = {}
    for each in which:
        with suppress(ConversationNotFound):
            found[each] = await desk.house.bridge.talk.show_conversation(desk.caller, each)
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
# What has a name of its own comes before what has an id there.
routes: Final = [
    *_FIRST,
    *begin.routes,
    *_OF_PROJECT,
    *things.routes,
    *messages.routes,
    *talk.routes,
]
