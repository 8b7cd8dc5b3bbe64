"""The two lists beside whatever is open: projects, and the conversations of one of them."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import ConversationNotFound, ProjectNotFound
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.read_state import Inbox
from portico.engine.core.errors import BadCursor
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.bridge.lists import conversation_rows, project_rows, topics
from portico.interfaces.http.paging import opaque, position
from portico.kernel.ids import BadId

_PROJECTS: Final = 60
_LISTED: Final = 40
_AT_ONCE: Final = 200
_PAGES: Final = 5


async def project_at(desk: Desk, request: Request) -> Project:
    """The one in the address. Raises `NotPermitted`, `ProjectNotFound`."""
    which = request.path_params["project"]
    try:
        project = ProjectId.parse(which)
    except BadId as error:
        raise ProjectNotFound(which) from error
    return await desk.house.bridge.talk.show_project(desk.caller, str(project))


async def conversation_at(desk: Desk, request: Request) -> Conversation:
    """The one in the address, which is in the project that stands there too. Raises
    `NotPermitted`, `ConversationNotFound`."""
    which = request.path_params["conversation"]
    try:
        conversation = ConversationId.parse(which)
    except BadId as error:
        raise ConversationNotFound(which) from error
    found = await desk.house.bridge.talk.show_conversation(desk.caller, conversation)
    if str(found.project) != request.path_params["project"]:
        raise ConversationNotFound(which)
    return found


async def panes(
    desk: Desk,
    project: ProjectId,
    current: ConversationId | None = None,
    *,
    archived: bool = False,
    after: str | None = None,
) -> dict[str, Any]:
    """Both lists, and the project that they are of."""
    inbox = await desk.house.bridge.talk.show_inbox(desk.caller)
    projects = await desk.house.bridge.talk.list_projects(desk.caller, limit=_PROJECTS)
    listed = await conversations(desk, inbox, project, current, archived=archived, after=after)
    known = {each.id: each for each in projects}
    return {
        "projects": project_rows(projects, inbox, project),
        "project": known.get(project)
        or await desk.house.bridge.talk.show_project(desk.caller, str(project)),
        "inbox": inbox,
        **listed,
    }


async def conversations(  # what is listed, and from where on
    desk: Desk,
    inbox: Inbox,
    project: ProjectId,
    current: ConversationId | None = None,
    *,
    archived: bool = False,
    after: str | None = None,
) -> dict[str, Any]:
    """The list in the middle."""
    found, last = await _of(desk, project, archived=archived, after=_position(after))
    rows = conversation_rows(found, inbox, current=current)
    return {
        "listed": rows,
        "topics": topics(rows),
        "archived": archived,
        "more": None if last is None else opaque(last),
        "at": None if current is None else str(current),
        "unread": inbox.total,
    }


async def _of(
    desk: Desk, project: ProjectId, *, archived: bool, after: str | None
) -> tuple[Sequence[Conversation], str | None]:
    """Out of all, and not as a list of this project: whoever reads that is in the project, and
    could write nothing there that is less secret than the most secret of these names."""
    found: list[Conversation] = []
    for _ in range(_PAGES):
        page = await desk.house.bridge.talk.list_conversations(
            desk.caller, archived=archived, after=after, limit=_AT_ONCE
        )
        found += [each for each in page if each.project == project]
        after = str(page[-1].id) if len(page) == _AT_ONCE else None
        if len(found) > _LISTED:
            return found[:_LISTED], str(found[_LISTED - 1].id)
        if after is None:
            break
    return found, after


def _position(cursor: str | None) -> str | None:
    try:
        return position(cursor)
    except BadCursor:
        return None
