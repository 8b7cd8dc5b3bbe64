"""One server: how it is started, reached and confined; review, approve, label, remove."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.gateway.catalog import ToolDetails
from portico.gateway.core.calls import CallStats
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.confinement import profile_from
from portico.gateway.core.launch import shown, to_json
from portico.gateway.core.server_approval import Change, Proposed
from portico.gateway.core.servers import ADDED, OURS, ConfinementMode, Http, Stdio
from portico.gateway.core.surface import one_line
from portico.gateway.logins import LoginDetails
from portico.gateway.server_approval import ServerReview, ToolReview
from portico.gateway.servers import Labelling, ServerDetails
from portico.guard.core.oauth_logins import LoginLink
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.console.formatting import State, state_of, transport_of
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.tool_view import (
    EFFECTS,
    ToolBadge,
    effect_mark,
    standing_mark,
    tool_href,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.label import LEVELS, Label
from portico.sandbox.core.profile import Profile

PAGE: Final = 50
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    name: str
    state: State
    transport: str
    process: int | None
    restarts: int
    live: int
    waiting: int
    calls: int
    p50: timedelta | None
    p95: timedelta | None
    p99: timedelta | None
    errors: float | None
    label: str
    trusted: bool
    problem: str
    """The last one, if it was not mended since."""
    enabled: bool
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """For the chips above the list."""

    all: int
    attention: int
    off: int


def server_rows(
    looks: Iterable[ServerDetails], figures: Iterable[CallStats]
) -> Sequence[ServerRow]:
    known = {each.name: each for each in figures}
    return [server_row(look, known.get(look.server.name)) for look in looks]


def server_row(look: ServerDetails, its: CallStats | None) -> ServerRow:
    server, vitals = look.server, look.health
    return ServerRow(
        name=server.name,
        state=state_of(look),
        transport=transport_of(server),
        process=vitals.process,
        restarts=max(0, vitals.starts - 1),
        live=look.tools.get(ToolStatus.LIVE, 0),
        waiting=waiting(look),
        calls=0 if its is None else its.calls,
        p50=None if its is None else its.p50,
        p95=None if its is None else its.p95,
        p99=None if its is None else its.p99,
        errors=None if its is None or not its.calls else its.error_rate,
        label=str(server.label),
        trusted=server.trusted,
        problem=_short(server.failure or vitals.lacking or ""),
        enabled=server.enabled,
        last_at=None if its is None else its.last_at,
    )


def waiting(look: ServerDetails) -> int:
    return sum(
        look.tools.get(each, 0) for each in (ToolStatus.PENDING, ToolStatus.NEW, ToolStatus.CHANGED)
    )


def chosen(rows: Sequence[ServerRow], only: str) -> Sequence[ServerRow]:
    match only:
        case "attention":
            return [row for row in rows if row.state.tone in {"warn", "bad"}]
        case "off":
            return [row for row in rows if not row.enabled]
        case _:
            return rows


def counted(rows: Sequence[ServerRow]) -> Counted:
    return Counted(
        all=len(rows),
        attention=len(chosen(rows, "attention")),
        off=len(chosen(rows, "off")),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


TOOLS: Final = 60
WAITING: Final = 25
"""Tools that wait, on the page of their server; all of them are on a page of their own."""
REVIEW: Final = 40
_RANK: Final = (
    ToolStatus.CHANGED,
    ToolStatus.NEW,
    ToolStatus.PENDING,
    ToolStatus.REFUSED,
    ToolStatus.GONE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    name: str
    transport: str
    origin: str
    ours: bool
    removable: bool
    enabled: bool
    may_start: bool
    stdio: bool
    http: bool
    command: str
    launch: JsonObject
    launch_pin: str
    reaches: str
    mode: ConfinementMode
    stated: bool
    identity: str
    protocol_revision: str
    approved_by: str | None
    approved_at: datetime | None
    listed_at: datetime | None
    failure: str | None
    label: str
    clearance: str
    trusted: bool
    timeout: float | None
    tokens: int
    said: str
    """What it says of itself, as far as somebody has approved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLine:
    name: str
    href: str
    line: str
    effect: ToolBadge
    status: ToolBadge | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTool:
    name: str
    href: str
    status: ToolBadge
    proposed: ToolBadge
    proposed_value: str
    why: str
    line: str
    changes: Sequence[Change]
    refused: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    command: str
    launch_pin: str
    launch_approved: bool
    launch_changes: Sequence[Change]
    loaders: Sequence[str]
    reaches: str
    refused: bool
    """No box, and nobody has agreed to do without."""
    unsandboxed: bool
    pin: str
    listed: bool
    waiting: Sequence[WaitingTool]
    said: Sequence[Change]
    reads: int
    writes: int
    others: int
    undecided: int
    """Let in as unknown, though an effect is proposed."""

    @property
    def tools_wait(self) -> bool:
        return self.launch_approved and self.listed and bool(self.usable or self.said)

    @property
    def usable(self) -> int:
        return self.reads + self.writes + self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    read: str
    write: str
    network: str
    reach: str


def server_view(look: ServerDetails) -> ServerView:
    server, held = look.server, look.held
    who = server.identity
    return ServerView(
        name=server.name,
        transport=transport_of(server),
        origin=server.origin,
        ours=server.origin == OURS,
        removable=server.origin == ADDED or server.gone_at is not None,
        enabled=server.enabled,
        may_start=server.may_start,
        stdio=isinstance(server.launch, Stdio),
        http=isinstance(server.launch, Http),
        command=shown(server.launch),
        launch=to_json(server.launch),
        launch_pin=server.launch_pin,
        reaches=held.said,
        mode=held.confinement.mode,
        stated=held.confinement.stated,
        identity="" if who is None else f"{who.name} {who.version}",
        protocol_revision="" if server.protocol_revision is None else str(server.protocol_revision),
        approved_by=server.approved_by,
        approved_at=server.approved_at,
        listed_at=server.listed_at,
        failure=server.failure,
        label=str(server.label),
        clearance=str(server.clearance),
        trusted=server.trusted,
        timeout=server.timeout,
        tokens=look.tokens,
        said=server.said,
    )


def tool_lines(looks: Sequence[ToolDetails], start: int = 0) -> Sequence[ToolLine]:
    return [
        ToolLine(
            name=look.tool.ref.name,
            href=tool_href(look.tool.ref),
            line=one_line(look.tool.definition),
            effect=effect_mark(look.tool.effect),
            status=None if look.status is ToolStatus.LIVE else standing_mark(look.status),
            tokens=look.tool.tokens,
        )
        for look in looks[start : start + TOOLS]
    ]


def review_view(review: ServerReview) -> Review:
    server, hold = review.server, review.held.confinement.mode
    at_rest = [each for each in review.tools if each.status is ToolStatus.LIVE]
    waiting = sorted(
        (each for each in review.tools if each.status not in {ToolStatus.LIVE, ToolStatus.GONE}),
        key=lambda each: (_RANK.index(each.status), each.tool.ref.name),
    )
    counted = Counter(_kind(each.proposal.effect) for each in waiting if each.tool.refused is None)
    return Review(
        command=review.command,
        launch_pin=server.launch_pin,
        launch_approved=server.approved_launch_pin == server.launch_pin,
        launch_changes=review.launch_changes,
        loaders=review.loaders,
        reaches=review.held.said,
        refused=hold is ConfinementMode.REFUSED,
        unsandboxed=hold is ConfinementMode.UNBOXED,
        pin=review.pin,
        listed=server.set_pin is not None,
        waiting=[_waiting(each) for each in waiting],
        said=review.said,
        reads=counted["read"],
        writes=counted["write"],
        others=counted["other"],
        undecided=sum(1 for each in at_rest if _undecided(each)),
    )


def _undecided(each: ToolReview) -> bool:
    known = each.proposal.effect is not Effect.UNKNOWN
    return each.tool.effect is Effect.UNKNOWN and known


def _kind(effect: Effect) -> str:
    if effect.is_read_only:
        return "read"
    return "other" if effect.destroys else "write"


def _waiting(review: ToolReview) -> WaitingTool:
    tool, proposed = review.tool, review.proposal
    return WaitingTool(
        name=tool.ref.name,
        href=tool_href(tool.ref),
        status=standing_mark(review.status),
        proposed=effect_mark(proposed.effect),
        proposed_value=str(proposed.effect),
        why=proposed.why,
        line=one_line(tool.definition),
        changes=review.changes,
        refused=tool.refused,
    )


def grants(profile: Profile | None) -> Grants:
    its = profile or Profile()
    return Grants(
        read="\n".join(its.read),
        write="\n".join(its.write),
        network=str(its.network),
        reach="\n".join(str(place) for place in its.reach),
    )


WITHIN: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a form on the page came to."""

    problem: PorticoError | None = None
    link: LoginLink | None = None
    start: int = 0


async def whole_page(desk: PageContext, name: str, beside: Beside) -> dict[str, Any]:
    gateway, caller = desk.services.gateway, desk.caller
    look = await gateway.show_server(caller, name)
    tools = await gateway.list_tools(caller, server=name)
    start = beside.start
    return {
        **await vitals(desk, look),
        "view": server_view(look),
        "tools": tool_lines(tools, start),
        "tool_count": len(tools),
        "more": f"/servers/{name}?start={start + TOOLS}" if start + TOOLS < len(tools) else None,
        "review": await _review(desk, name),
        "grants": grants(look.held.confinement.profile),
        "login": await _login(desk, look),
        "beside": beside,
        "levels": [*LEVELS],
        "may_write": caller.may(Scope.SERVERS_WRITE),
        "may_approve": caller.may(Scope.SERVERS_APPROVE),
        "may_log_in": caller.may(Scope.TOOLS_WRITE),
    }


async def vitals(desk: PageContext, look: ServerDetails) -> dict[str, Any]:
    """What is asked for again every few seconds."""
    figures = await desk.services.gateway.show_figures(desk.caller, within=WITHIN)
    its = next((each for each in figures if each.name == look.server.name), None)
    return {
        "row": server_row(look, its),
        "vitals": look.health,
        "sees_words": desk.caller.may(Scope.SERVERS_APPROVE),
    }


async def _review(desk: PageContext, name: str) -> Review | None:
    if not desk.caller.may(Scope.SERVERS_APPROVE):
        return None
    [found] = await desk.services.gateway.review_servers(desk.caller, name)
    return review_view(found)


async def _login(desk: PageContext, look: ServerDetails) -> LoginDetails | None:
    try:
        return await desk.services.gateway.logins.show(desk.caller, look.server.name)
    except PorticoError:
        return None  # nobody logs in to it


SAID: Final = {
    "added": "Added, and not started. Look at what would be started, and allow it.",
    "on": "Switched on.",
    "off": "Switched off. Its tools are not found, and its process is ended.",
    "restarted": "Started anew, and asked what it offers.",
    "allowed": "It may be started, and was asked what it offers. Now look at its tools.",
    "accepted": "Its tools can be found and called.",
    "labelled": "The labels are set.",
    "profile": "What it may reach is set. Its process is ended; it starts anew with the next call.",
    "logged-out": "You are logged out of it.",
}


async def show(request: Request) -> Response:
    given = request.query_params.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    return await drawn(request, request.path_params["name"], Beside(start=start))


async def drawn(request: Request, name: str, beside: Beside) -> Response:
    values = await whole_page(page_context(request), name, beside)
    said = SAID.get(request.query_params.get("done", ""))
    status = 200 if beside.problem is None else status_of(beside.problem)
    return await page(
        request, "servers/server.html", {**values, "said": said}, title=name, status=status
    )


async def show_vitals(request: Request) -> Response:
    desk = page_context(request)
    look = await desk.services.gateway.show_server(desk.caller, request.path_params["name"])
    return part(request, "servers/_vitals.html", await vitals(desk, look))


async def ask_to_remove(request: Request) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    require_scope(desk.caller, Scope.SERVERS_WRITE)
    look = await desk.services.gateway.show_server(desk.caller, name)
    values = {"name": name, "tools": sum(look.tools.values())}
    return await page(request, "servers/remove.html", values, title=f"Remove {name}?")


ServerAction = Callable[[PageContext, str, Form], Awaitable[str]]
"""What is done; the word by which the page says so."""


def _posted(act: ServerAction) -> Callable[[Request], Awaitable[Response]]:
    """A form of this page: what goes wrong is told on the page itself."""

    async def send(request: Request) -> Response:
        desk, form, name = (
            page_context(request),
            await form_of(request),
            request.path_params["name"],
        )
        try:
            word = await act(desk, name, form)
        except PorticoError as problem:
            return await drawn(request, name, Beside(problem=problem))
        return done(f"/servers/{name}", word)

    return send


async def _switch(desk: PageContext, name: str, form: Form) -> str:
    to = form.one_of("to", ["on", "off"])
    await desk.services.gateway.switch_server(desk.caller, name, enabled=to == "on")
    return to


async def _restart(desk: PageContext, name: str, _form: Form) -> str:
    await desk.services.gateway.restart_server(desk.caller, name)
    return "restarted"


async def _allow(desk: PageContext, name: str, form: Form) -> str:
    """To be started exactly as it was shown; then it is started, and asked what it offers."""
    gateway, pin = desk.services.gateway, form.text("pin", most=200)
    await gateway.approve_launch(desk.caller, name, pin, unboxed=form.ticked("unboxed"))
    await gateway.restart_server(desk.caller, name)
    return "allowed"


async def _label(desk: PageContext, name: str, form: Form) -> str:
    wish = Labelling(
        label=Label.parse(form.text("label", most=200)),
        clearance=Label.parse(form.text("clearance", most=200)),
        trusted=form.ticked("trusted"),
    )
    await desk.services.gateway.label_server(desk.caller, name, wish)
    return "labelled"


async def _profile(desk: PageContext, name: str, form: Form) -> str:
    if form.one_of("which", ["own", "default"]) == "default":
        await desk.services.gateway.set_profile(desk.caller, name, None)
        return "profile"
    wanted = profile_from(
        {
            "read": _lines(form, "read"),
            "write": _lines(form, "write"),
            "network": form.text("network", most=20),
            "reach": _lines(form, "reach"),
        }
    )
    await desk.services.gateway.set_profile(desk.caller, name, wanted)
    return "profile"


def _lines(form: Form, field: str) -> list[str]:
    given = form.maybe(field, most=100_000) or ""
    return [line.strip() for line in given.splitlines() if line.strip()]


async def _log_out(desk: PageContext, name: str, _form: Form) -> str:
    await desk.services.gateway.logins.end(desk.caller, name)
    return "logged-out"


async def log_in(request: Request) -> Response:
    """A link, which is followed by whoever asked for it: where it leads is not our page."""
    desk, name = page_context(request), request.path_params["name"]
    await form_of(request)
    try:
        link = await desk.services.gateway.logins.start(desk.caller, name)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return await drawn(request, name, Beside(link=link))


async def remove(request: Request) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    await form_of(request)
    try:
        await desk.services.gateway.remove_server(desk.caller, name)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return done("/servers", "removed")


routes: Final = [
    Route("/servers/{name}", show, methods=["GET"]),
    Route("/servers/{name}/vitals", show_vitals, methods=["GET"]),
    Route("/servers/{name}/switch", _posted(_switch), methods=["POST"]),
    Route("/servers/{name}/restart", _posted(_restart), methods=["POST"]),
    Route("/servers/{name}/allow", _posted(_allow), methods=["POST"]),
    Route("/servers/{name}/label", _posted(_label), methods=["POST"]),
    Route("/servers/{name}/profile", _posted(_profile), methods=["POST"]),
    Route("/servers/{name}/login", log_in, methods=["POST"]),
    Route("/servers/{name}/logout", _posted(_log_out), methods=["POST"]),
    Route("/servers/{name}/remove", ask_to_remove, methods=["GET"]),
    Route("/servers/{name}/remove", remove, methods=["POST"]),
]

_PREFIX: Final = "effect."
_SKIP: Final = "skip"


async def accept(request: Request) -> Response:
    """Every tool that waits: `reads` lowers the effects of those proposed to read, `all` takes
    what is proposed for each."""
    desk, form, name = page_context(request), await form_of(request), request.path_params["name"]
    try:
        which = Proposed(form.one_of("proposed", [*Proposed]))
        pin = form.text("pin", most=200)
        await desk.services.gateway.accept_tools(desk.caller, name, pin, which)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return done(f"/servers/{name}", "accepted")


async def show_review(request: Request) -> Response:
    return await _page(request, None)


async def _page(request: Request, problem: PorticoError | None) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    [found] = await desk.services.gateway.review_servers(desk.caller, name)
    view = review_view(found)
    given = request.query_params.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    following = start + REVIEW
    left = following < len(view.waiting)
    values = {
        "name": name,
        "review": view,
        "shown": view.waiting[start:following],
        "start": start,
        "more": f"/servers/{name}/review?start={following}" if left else None,
        "effects": EFFECTS,
        "problem": problem,
    }
    status = 200 if problem is None else status_of(problem)
    title = f"Tools of {name}"
    return await page(request, "servers/review.html", values, title=title, status=status)


async def choose(request: Request) -> Response:
    """Only those that were given an effect; the others stay as they are."""
    desk, form, name = page_context(request), await form_of(request), request.path_params["name"]
    try:
        chosen = _chosen(form)
        pin = form.text("pin", most=200)
        await desk.services.gateway.accept_tools(desk.caller, name, pin, chosen)
    except PorticoError as problem:
        return await _page(request, problem)
    return done(f"/servers/{name}", "accepted")


def _chosen(form: Form) -> dict[str, Effect]:
    """Raises `InvalidForm`."""
    fields = [field for field in form.fields if field.startswith(_PREFIX)]
    given = {field: form.one_of(field, [_SKIP, *Effect]) for field in fields}
    found = {
        field.removeprefix(_PREFIX): Effect(each) for field, each in given.items() if each != _SKIP
    }
    if not found:
        raise InvalidForm("", "No tool was given an effect")
    return found


approval_routes: Final = [
    Route("/servers/{name}/accept", accept, methods=["POST"]),
    Route("/servers/{name}/review", show_review, methods=["GET"]),
    Route("/servers/{name}/review", choose, methods=["POST"]),
]
