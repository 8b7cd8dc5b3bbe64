"""What every page of the bridge shows: names of people, projects and conversations, labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import ConversationNotFound, ProjectNotFound
from portico.bridge.core.messages import Message
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.read_state import Inbox
from portico.bridge.search import Hit
from portico.bridge.taint import in_view_context
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.console.page import PageContext
from portico.interfaces.http.shapes import opaque, position
from portico.kernel.ids import InvalidId, PrincipalId
from portico.kernel.label import PUBLIC, Label, Level, join
from portico.kernel.principal import PrincipalKind

_AT_ONCE: Final = 200
_PAGES: Final = 5
"""More than a thousand in a space are not looked through for one page."""


@dataclass(frozen=True, slots=True)
class Somebody:
    id: PrincipalId
    name: str
    kind: PrincipalKind
    clearance: Label
    gone: bool = False
    """Let in no more."""


Company = Mapping[PrincipalId, Somebody]


async def company_of(desk: PageContext) -> Company | None:
    """None for whoever may not know who there is. An agent above the caller's clearance is not
    among them."""
    caller = desk.caller
    if not caller.may(Scope.PRINCIPALS_READ):
        return None
    found: dict[PrincipalId, Somebody] = {}
    after: PrincipalId | None = None
    for _ in range(_PAGES):
        page = await desk.services.use.list_principals(caller, after=after, limit=_AT_ONCE)
        for each in page:
            found[each.id] = Somebody(
                each.id, each.name, each.kind, each.clearance, each.disabled_at is not None
            )
        if len(page) < _AT_ONCE:
            break
        after = page[-1].id
    return found


_MOST: Final = 24
"""Labels to choose from; whoever is in more compartments chooses the first of them here."""


async def read_at(desk: PageContext, where: ConversationId | ProjectId) -> Label:
    """What was read in the task that this conversation or project is."""
    there = in_view_context(desk.caller, where)
    if there.context is None:
        there = replace(there, context=context_of(there), place=None)
    try:
        return (await desk.services.bridge.talk.who_am_i(there)).mark
    except ContextNotFound:
        return PUBLIC  # nothing was read there yet


def choices_of(inside: Label, mark: Label, clearance: Label) -> tuple[Label, ...]:
    """From the least that what is written there must be to the most that its writer may read, the
    least secret first; none if that is not possible."""
    least = join([inside, mark])
    if not clearance.covers(least):
        return ()
    return tuple(dict.fromkeys(_between(least, clearance)))[:_MOST]


def lower_than(label: Label, inside: Label) -> tuple[Label, ...]:
    """What it could be lowered to, without being less secret than where it is."""
    levels = [level for level in Level if inside.level <= level <= label.level]
    fewer = [label.compartments, label.compartments & inside.compartments, inside.compartments]
    every = [Label(level, compartments) for level in levels for compartments in fewer]
    fits = [each for each in every if each != label and label.covers(each) and each.covers(inside)]
    return tuple(dict.fromkeys(fits))


def _between(least: Label, most: Label) -> Iterator[Label]:
    levels = [level for level in Level if least.level <= level <= most.level]
    for level in levels:
        yield Label(level, least.compartments)
    for more in sorted(most.compartments - least.compartments):
        for level in levels:
            yield Label(level, least.compartments | {more})
    yield most


_SAID: Final = {
    "made": "It is there.",
    "archived": "Put away. Nothing is written there any more.",
    "taken_out": "Taken out of the archive.",
    "muted": "Muted: what is said here does not count as unread for you.",
    "loud": "No longer muted.",
    "joined": "You take part from now on.",
    "left": "You take part no more.",
    "let_in": "They take part from now on.",
    "raised": "Sent. It is more secret than its conversation, since you have read something "
    "here that is.",
    "absent": "Sent. Not everybody whom it names takes part here: it is not in their inbox.",
    "edited": "Changed. What it said before stays in its versions.",
    "deleted": "Deleted. That it was there remains.",
    "confirmed": "They are told that you have it.",
    "proposed": "Asked for. Somebody else has to say yes: it waits under Approvals.",
    "remembered": "Remembered.",
    "forgotten": "Forgotten. Its history stays.",
    "added": "Added.",
    "claimed": "It is yours now.",
    "handed_over": "Handed over.",
    "ended": "Ended.",
    "released": "Released.",
    "leased": "It is yours for a while.",
    "budget": "The budget is set.",
}


def said(request: Request) -> str | None:
    return _SAID.get(request.query_params.get("done", ""))


FOLLOWED: Final = 15
"""Conversations of a list that a page listens to, beside the one that is open: sixteen in all is
what one reader may follow."""
_EXCERPT: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRow:
    path: str
    name: str
    label: Label
    active_at: datetime
    unread: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    id: str
    path: str
    title: str
    project: str
    """Its name, where rows of several are listed; else empty."""
    label: Label
    closed: bool
    archived: bool
    active_at: datetime
    unread: int
    mentions: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueRow:
    path: str
    who: str
    excerpt: str
    label: Label
    until: datetime | None
    mine: bool
    """Whoever looks owes it; else they wait for it."""


def project_path(project: ProjectId) -> str:
    return f"/bridge/{project}"


def conversation_path(conversation: Conversation) -> str:
    return f"/bridge/{conversation.project}/{conversation.id}"


def project_rows(
    projects: Sequence[Project], inbox: Inbox, current: ProjectId | None
) -> tuple[ProjectRow, ...]:
    waiting = Counter[ProjectId]()
    for item in inbox.unread:
        waiting[item.conversation.project] += item.count
    return tuple(
        ProjectRow(
            path=project_path(each.id),
            name=each.name,
            label=each.label,
            active_at=each.active_at,
            unread=waiting[each.id],
            current=each.id == current,
        )
        for each in projects
    )


def conversation_rows(
    conversations: Sequence[Conversation],
    inbox: Inbox,
    *,
    current: ConversationId | None = None,
    projects: Mapping[ProjectId, str] | None = None,
) -> tuple[ConversationRow, ...]:
    """With `projects`, each says which it is of."""
    waiting = {item.conversation.id: item for item in inbox.unread}
    rows = []
    for each in conversations:
        item = waiting.get(each.id)
        rows.append(
            ConversationRow(
                id=str(each.id),
                path=conversation_path(each),
                title=each.title,
                project=(projects or {}).get(each.project, ""),
                label=each.label,
                closed=each.closed,
                archived=each.archived_at is not None,
                active_at=each.active_at,
                unread=0 if item is None else item.count,
                mentions=0 if item is None else item.mentions,
                current=each.id == current,
            )
        )
    return tuple(rows)


def overdue_rows(
    overdue: Sequence[Message], where: Mapping[ConversationId, Conversation], me: PrincipalId
) -> tuple[OverdueRow, ...]:
    """Of one whose conversation went away meanwhile nothing is told."""
    return tuple(
        OverdueRow(
            path=f"{conversation_path(where[each.conversation])}/messages/{each.id}",
            who=each.sender_name,
            excerpt=excerpt(each.body),
            label=each.label,
            until=None if each.acknowledge is None else each.acknowledge.until,
            mine=each.sender != me,
        )
        for each in overdue
        if each.conversation in where
    )


def next_unread(inbox: Inbox, after: str | None) -> Conversation | None:
    """The one with the latest news, or the next after that which is open."""
    every = [item.conversation for item in inbox.unread]
    ids = [str(each.id) for each in every]
    start = ids.index(after) + 1 if after in ids else 0
    return next((each for each in [*every[start:], *every[:start]] if str(each.id) != after), None)


def topics(rows: Sequence[ConversationRow]) -> str:
    """What a list listens to: those that come first in it."""
    return " ".join([row.id for row in rows if not row.current][:FOLLOWED])


def excerpt(text: str, most: int = _EXCERPT) -> str:
    """On one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_PROJECTS: Final = 60
_LISTED: Final = 40


async def project_at(desk: PageContext, request: Request) -> Project:
    """The one in the address. Raises `NotPermitted`, `ProjectNotFound`."""
    which = request.path_params["project"]
    try:
        project = ProjectId.parse(which)
    except InvalidId as error:
        raise ProjectNotFound(which) from error
    return await desk.services.bridge.talk.show_project(desk.caller, str(project))


async def conversation_at(desk: PageContext, request: Request) -> Conversation:
    """The one in the address, which is in the project that stands there too. Raises
    `NotPermitted`, `ConversationNotFound`."""
    which = request.path_params["conversation"]
    try:
        conversation = ConversationId.parse(which)
    except InvalidId as error:
        raise ConversationNotFound(which) from error
    found = await desk.services.bridge.talk.show_conversation(desk.caller, conversation)
    if str(found.project) != request.path_params["project"]:
        raise ConversationNotFound(which)
    return found


async def panes(
    desk: PageContext,
    project: ProjectId,
    current: ConversationId | None = None,
    *,
    archived: bool = False,
    after: str | None = None,
) -> dict[str, Any]:
    """Both lists, and the project that they are of."""
    inbox = await desk.services.bridge.talk.show_inbox(desk.caller)
    projects = await desk.services.bridge.talk.list_projects(desk.caller, limit=_PROJECTS)
    listed = await conversations(desk, inbox, project, current, archived=archived, after=after)
    known = {each.id: each for each in projects}
    return {
        "projects": project_rows(projects, inbox, project),
        "project": known.get(project)
        or await desk.services.bridge.talk.show_project(desk.caller, str(project)),
        "inbox": inbox,
        **listed,
    }


async def conversations(  # what is listed, and from where on
    desk: PageContext,
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
    desk: PageContext, project: ProjectId, *, archived: bool, after: str | None
) -> tuple[Sequence[Conversation], str | None]:
    """Out of all, and not as a list of this project: whoever reads that is in the project, and
    could write nothing there that is less secret than the most secret of these names."""
    found: list[Conversation] = []
    for _ in range(_PAGES):
        page = await desk.services.bridge.talk.list_conversations(
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
    except InvalidCursor:
        return None


_HIT_EXCERPT: Final = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    path: str
    where: str
    who: str
    sent_at: datetime
    text: str
    label: Label


def hit_rows(
    hits: Sequence[Hit], where: Mapping[ConversationId, Conversation], project: str | None = None
) -> tuple[HitRow, ...]:
    """Of `project` alone, if it is given; and none of a conversation that went away meanwhile."""
    rows = []
    for hit in hits:
        its, inside = hit.message, where.get(hit.message.conversation)
        if inside is None or (project and str(inside.project) != project):
            continue
        rows.append(
            HitRow(
                path=f"{conversation_path(inside)}/messages/{its.id}",
                where=inside.title,
                who=its.sender_name,
                sent_at=its.sent_at,
                text=excerpt(its.body, _HIT_EXCERPT),
                label=its.label,
            )
        )
    return tuple(rows)
