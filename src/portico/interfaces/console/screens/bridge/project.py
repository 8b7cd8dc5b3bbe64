"""A project: leases, memory, work items, attachments."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.leases import Lease, LeaseId, LeaseSpec, Waiting, overlap
from portico.bridge.core.memory import MOST_LETTERS, MOST_OF_VALUE, MemoryEntry, ToRemember
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import MOST_LETTERS as MAX_WORK_ITEM_LETTERS
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.debate.core.questions import Cap
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.principals import Scope
from portico.interfaces.console.formatting import as_json
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.bridge.panes import (
    Company,
    choices_of,
    company_of,
    excerpt,
    panes,
    project_at,
    project_path,
    read_at,
    said,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position, text_position
from portico.kernel.budget import Cost
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label

_TONES: Final[Mapping[PresenceStatus, str]] = {
    PresenceStatus.THERE: "ok",
    PresenceStatus.BUSY: "warn",
    PresenceStatus.AWAY: "",
}
_STATES: Final[Mapping[WorkItemStatus, tuple[str, str]]] = {
    WorkItemStatus.OPEN: ("open", ""),
    WorkItemStatus.CLAIMED: ("claimed", "run"),
    WorkItemStatus.DONE: ("done", "ok"),
    WorkItemStatus.DROPPED: ("dropped", "bad"),
}
_VALUE: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceRow:
    name: str
    doing: str
    tone: str
    note: str
    until: datetime
    mine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    id: str
    resource: str
    holder: str
    purpose: str
    until: datetime
    left: float
    """Share of its time that is left."""
    token: int
    mine: bool
    waiting: tuple[str, ...]
    """Who wants it next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    key: str
    value: str
    long: bool
    label: Label
    version: int
    by: str
    at: datetime
    expires_at: datetime | None
    forgotten: bool
    untrusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    id: str
    title: str
    body: str
    label: Label
    state: str
    tone: str
    held_up: bool
    claimed_by: str | None
    token: int
    outcome: str
    changed_at: datetime
    depends: tuple[str, ...]
    """Titles of those on the same page, else ids."""
    can_claim: bool
    mine: bool
    barred: bool
    """It could be changed, by somebody who has read no more than what is as secret."""
    untrusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    tokens: int
    tokens_cap: int | None
    money: Decimal
    money_cap: Decimal | None
    share: float | None
    """Of whichever is nearer to its end; None without a limit."""


def presence_rows(found: Sequence[Presence], me: PrincipalId) -> tuple[PresenceRow, ...]:
    return tuple(
        PresenceRow(
            name=each.name,
            doing=str(each.doing),
            tone=_TONES[each.doing],
            note=each.note,
            until=each.until,
            mine=each.principal == me,
        )
        for each in found
    )


def lease_rows(
    held: Sequence[Lease], queue: Sequence[Waiting], me: PrincipalId, now: datetime
) -> tuple[LeaseRow, ...]:
    """Each with those who wait for something of it."""
    return tuple(
        LeaseRow(
            id=str(each.id),
            resource=each.resource,
            holder=each.holder_name,
            purpose=each.purpose,
            until=each.expires_at,
            left=_left(each, now),
            token=each.token,
            mine=each.holder == me,
            waiting=tuple(one.name for one in queue if overlap(one.resource, each.resource)),
        )
        for each in held
    )


def memory_rows(
    found: Sequence[MemoryEntry], company: Company | None, *, whole: bool = False
) -> tuple[MemoryRow, ...]:
    known = company or {}
    rows = []
    for each in found:
        value = each.value if isinstance(each.value, str) else as_json(each.value)
        rows.append(
            MemoryRow(
                key=each.key,
                value=value if whole else excerpt(value, _VALUE),
                long=not whole and len(value) > _VALUE,
                label=each.label,
                version=each.version,
                by=known[each.by].name if each.by in known else "",
                at=each.at,
                expires_at=each.expires_at,
                forgotten=each.forgotten,
                untrusted=each.untrusted,
            )
        )
    return tuple(rows)


def work_rows(
    found: Sequence[WorkItem], me: PrincipalId, read: Label, *, writes: bool
) -> tuple[WorkRow, ...]:
    """`read`: what was read in this project by whoever looks."""
    titles = {each.id: each.title for each in found}
    rows = []
    for each in found:
        state, tone = _STATES[each.state]
        free = each.state is WorkItemStatus.OPEN or (
            each.state is WorkItemStatus.CLAIMED and each.claimed_by is None
        )
        claimed = each.state is WorkItemStatus.CLAIMED and each.claimed_by == me
        low = each.label.covers(read)
        can = writes and ((free and not each.held_up) or claimed)
        rows.append(
            WorkRow(
                id=str(each.id),
                title=each.title,
                body=excerpt(each.body, 400),
                label=each.label,
                state=state,
                tone=tone,
                held_up=each.held_up and not each.state.over,
                claimed_by=each.claimed_by_name,
                token=each.token,
                outcome=excerpt(each.outcome, 400),
                changed_at=each.changed_at,
                depends=tuple(titles.get(one, str(one)) for one in each.depends),
                can_claim=can and free and low,
                mine=can and claimed and low,
                barred=can and not low,
                untrusted=each.untrusted,
            )
        )
    return tuple(rows)


def budget_row(cap: Cap, spent: Cost) -> BudgetRow:
    shares = []
    if cap.tokens:
        shares.append(int(spent.tokens) / cap.tokens)
    if cap.money:
        shares.append(float(spent.money / cap.money))
    if 0 in (cap.tokens, cap.money):
        shares.append(1.0)
    return BudgetRow(
        tokens=int(spent.tokens),
        tokens_cap=cap.tokens,
        money=spent.money,
        money_cap=cap.money,
        share=max(shares, default=None),
    )


def _left(lease: Lease, now: datetime) -> float:
    whole = (lease.expires_at - lease.taken_at).total_seconds()
    left = (lease.expires_at - now).total_seconds()
    return min(max(left / whole, 0.0), 1.0) if whole > 0 else 0.0


_AT_ONCE: Final = 50


async def show_memory(request: Request) -> Response:
    desk = page_context(request)
    return await _drawn(request, desk, await project_at(desk, request), {})


async def put(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("key", "value", "label", "version")}
    try:
        await desk.services.bridge.things.remember(desk.caller, _wanted(project, form))
    except PorticoError as problem:
        return await _drawn(request, desk, project, typed, problem)
    return done(f"{project_path(project.id)}/memory", "remembered")


async def forget(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    key, label = form.text("key", most=MOST_LETTERS), Label.parse(form.text("label", most=500))
    try:
        await desk.services.bridge.things.forget(desk.caller, project.id, key, label)
    except PorticoError as problem:
        return await _drawn(request, desk, project, {}, problem)
    return done(f"{project_path(project.id)}/memory", "forgotten")


async def history(request: Request) -> Response:
    desk, key = page_context(request), request.query_params.get("key", "")[:1200]
    project = await project_at(desk, request)
    found = await desk.services.bridge.things.memory_history(desk.caller, project.id, key)
    values = {
        **await panes(desk, project.id),
        "key": key,
        "versions": memory_rows(found[:_AT_ONCE], await company_of(desk), whole=True),
        "can_write": desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None,
    }
    return await page(request, "bridge/memory_history.html", values, title=f"{key}: history")


async def _drawn(
    request: Request,
    desk: PageContext,
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


async def _listed(request: Request, desk: PageContext, project: Project) -> dict[str, Any]:
    asked, use = request.query_params, desk.services.bridge.things
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
    """What is no JSON is a text. Raises `InvalidForm`, `InvalidLabel`."""
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
    except InvalidCursor:
        return None


memory_routes: Final = [
    Route("/bridge/{project}/memory", show_memory, methods=["GET"]),
    Route("/bridge/{project}/memory", put, methods=["POST"]),
    Route("/bridge/{project}/memory/forget", forget, methods=["POST"]),
    Route("/bridge/{project}/memory/history", history, methods=["GET"]),
]

_CHIPS: Final = {"": "All", "open": "Open", "claimed": "Claimed", "done": "Done"}
_OVER: Final = (str(WorkItemStatus.DONE), str(WorkItemStatus.DROPPED))


async def show_work(request: Request) -> Response:
    desk = page_context(request)
    return await _work_drawn(request, desk, await project_at(desk, request))


async def add(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    typed = {name: form.fields.get(name, [""])[0] for name in ("title", "body", "label")}
    try:
        await desk.services.bridge.things.add_work(desk.caller, _work_wanted(project, form))
    except PorticoError as problem:
        return await _work_drawn(request, desk, project, problem, typed)
    return done(f"{project_path(project.id)}/work", "added")


async def change(request: Request) -> Response:
    """Claim it, hand it over, end it."""
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    work = WorkItemId.parse(request.path_params["work"])
    try:
        told = await _changed(desk, form, work)
    except PorticoError as problem:
        return await _work_drawn(request, desk, project, problem)
    return done(f"{project_path(project.id)}/work", told)


async def _changed(desk: PageContext, form: Form, work: WorkItemId) -> str:
    use = desk.services.bridge.things
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
                state=WorkItemStatus(form.one_of("state", _OVER)),
                outcome=form.maybe("outcome", most=MAX_WORK_ITEM_LETTERS) or "",
            )
            await use.end_work(desk.caller, ended)
            return "ended"


async def _work_drawn(
    request: Request,
    desk: PageContext,
    project: Project,
    problem: PorticoError | None = None,
    typed: dict[str, str] | None = None,
) -> Response:
    listed = await _work_listed(request, desk, project)
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


async def _work_listed(request: Request, desk: PageContext, project: Project) -> dict[str, Any]:
    asked = request.query_params
    state = asked.get("state", "")
    writes = desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None
    found = await desk.services.bridge.things.list_work(
        desk.caller,
        project.id,
        state=WorkItemStatus(state) if state in _CHIPS and state else None,
        after=_work_after(asked.get("after")),
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


def _work_wanted(project: Project, form: Form) -> NewWorkItem:
    """Raises `InvalidForm`, `InvalidLabel`."""
    label = form.maybe("label", most=500)
    return NewWorkItem(
        project=project.id,
        title=form.text("title", most=400),
        body=form.maybe("body", most=MAX_WORK_ITEM_LETTERS) or "",
        label=None if label is None else Label.parse(label),
        key=form.once,
    )


def _token(form: Form) -> int:
    """Raises `InvalidForm`."""
    token = form.whole("token")
    if token is None:
        raise InvalidForm("token", "must be filled in")
    return token


def _work_after(cursor: str | None) -> str | None:
    try:
        return position(cursor)
    except InvalidCursor:
        return None


work_routes: Final = [
    Route("/bridge/{project}/work", show_work, methods=["GET"]),
    Route("/bridge/{project}/work", add, methods=["POST"]),
    Route("/bridge/{project}/work/{work}", change, methods=["POST"]),
]

_MINUTES: Final = ("10", "60", "480", "1440")


async def show(request: Request) -> Response:
    desk = page_context(request)
    return await _drawn_project(request, desk, await project_at(desk, request))


async def show_around(request: Request) -> Response:
    """Who is there and who holds what, anew."""
    desk = page_context(request)
    project = await project_at(desk, request)
    values = {**await _around(desk, project), "project": project}
    return part(request, "bridge/_around.html", values)


async def take_lease(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    try:
        minutes = int(form.one_of("minutes", _MINUTES))
        wish = LeaseSpec(
            project=project.id,
            resource=form.text("resource", most=400),
            lasts=timedelta(minutes=minutes),
            purpose=form.maybe("purpose", most=400) or "",
            key=form.once,
        )
        await desk.services.bridge.things.take_lease(desk.caller, wish)
    except PorticoError as problem:
        return await _drawn_project(request, desk, project, problem)
    return done(project_path(project.id), "leased")


async def release_lease(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    token = form.whole("token")
    if token is None:
        raise InvalidForm("token", "must be filled in")
    lease = LeaseId.parse(request.path_params["lease"])
    try:
        await desk.services.bridge.things.release_lease(desk.caller, lease, token)
    except PorticoError as problem:
        return await _drawn_project(request, desk, project, problem)
    return done(project_path(project.id), "released")


async def set_budget(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    project = await project_at(desk, request)
    try:
        cap = Cap(tokens=form.whole("tokens"), money=_dollars(form))
        await desk.services.debates.budget.put(desk.caller, str(project.id), cap)
    except PorticoError as problem:
        return await _drawn_project(request, desk, project, problem)
    return done(project_path(project.id), "budget")


async def _drawn_project(
    request: Request, desk: PageContext, project: Project, problem: PorticoError | None = None
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


async def _around(desk: PageContext, project: Project) -> dict[str, Any]:
    use = desk.services.bridge.things
    held, queue = await use.list_leases(desk.caller, project.id)
    there = await use.list_presence(desk.caller, project.id)
    return {
        "presence": presence_rows(there, desk.caller.id),
        "leases": lease_rows(held, queue, desk.caller.id, desk.now),
        "can_write": desk.caller.may(Scope.BRIDGE_WRITE) and project.archived_at is None,
    }


async def _budget(desk: PageContext, project: Project) -> object:
    if not desk.caller.may(Scope.DEBATES_READ):
        return None
    cap, spent = await desk.services.debates.budget.show(desk.caller, str(project.id))
    return budget_row(cap, spent)


def _dollars(form: Form) -> Decimal | None:
    """Raises `InvalidForm`."""
    text = form.maybe("money", most=20)
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise InvalidForm("money", "must be an amount such as 2.50") from error
    if not value.is_finite() or value < 0:
        raise InvalidForm("money", "must be an amount such as 2.50")
    return value


routes: Final = [
    Route("/bridge/{project}", show, methods=["GET"]),
    Route("/bridge/{project}/around", show_around, methods=["GET"]),
    Route("/bridge/{project}/leases", take_lease, methods=["POST"]),
    Route("/bridge/{project}/leases/{lease}/release", release_lease, methods=["POST"]),
    Route("/bridge/{project}/budget", set_budget, methods=["POST"]),
    *memory_routes,
    *work_routes,
]
