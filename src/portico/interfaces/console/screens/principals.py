"""Principals: list, invite, change; one's own account and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity, Role, Scope
from portico.guard.invitations import Invitation
from portico.guard.principals import PrincipalChange, PrincipalSpec
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import THEME, PageContext, done, page, page_context
from portico.interfaces.console.screens.settings_form import (
    levels,
    maybe_label,
    name_in,
    names,
    shown_once,
    tabs,
    typed,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

ROLES: Final[Mapping[str, str]] = {
    Role.VIEWER: "looks, and calls what only reads",
    Role.MEMBER: "works: calls tools, runs agents, talks",
    Role.OPERATOR: "looks after servers, runs and keys, and answers requests",
    Role.ADMIN: "everything, with people, policy and secrets",
}
KINDS: Final[Mapping[PrincipalKind, str]] = {
    PrincipalKind.PERSON: "person",
    PrincipalKind.AGENT: "agent",
    PrincipalKind.WORKER: "worker",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLine:
    id: str
    name: str
    kind: str
    roles: tuple[str, ...]
    role: str
    """The first, for the form."""
    clearance: Label
    level: str
    compartments: str
    tools: tuple[str, ...] | None
    since: datetime
    disabled_at: datetime | None
    here: bool
    may_change: bool
    may_invite: bool


def person_line(identity: Identity, caller: Principal) -> PersonLine:
    roles = tuple(str(role) for role in Role if role in identity.roles)
    here = identity.id == caller.id
    may = caller.may(Scope.PRINCIPALS_WRITE) and not here
    person = identity.kind is PrincipalKind.PERSON
    return PersonLine(
        id=str(identity.id),
        name=identity.name,
        kind=KINDS[identity.kind],
        roles=roles,
        role=roles[-1] if roles else str(Role.MEMBER),
        clearance=identity.clearance,
        level=str(identity.clearance.level),
        compartments=", ".join(sorted(identity.clearance.compartments)),
        tools=identity.tools,
        since=identity.created_at,
        disabled_at=identity.disabled_at,
        here=here,
        may_change=may,
        may_invite=may and person and identity.disabled_at is None,
    )


_MOST: Final = 50
_SAID: Final = {
    "changed": "Changed; it holds from their next request on.",
    "disabled": "Disabled: no key of theirs opens anything now.",
    "enabled": "Enabled again.",
}


async def show(request: Request) -> Response:
    return await _drawn(request, page_context(request))


async def invite(request: Request) -> Response:
    """Answered with the page itself: the link is shown in this answer, and in no other."""
    desk, form = page_context(request), await form_of(request)
    use = desk.services.use
    try:
        wish = PrincipalSpec(
            kind=PrincipalKind.PERSON,
            name=name_in(form),
            roles=frozenset({_role(form)}),
            clearance=_clearance(form),
        )

        async def make() -> StoredResponse:
            return _answer(await use.invite_person(desk.caller, wish), use.base_url)

        asked: dict[str, JsonValue] = {name: [*sent] for name, sent in form.fields.items()}
        invited = await shown_once(desk, WriteRequest("web.people.invite", asked, form.once), make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error, sent=form)
    return await _drawn(request, desk, invited=invited)


async def invite_again(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    use, who = desk.services.use, _who(form)

    async def make() -> StoredResponse:
        return _answer(await use.invite_again(desk.caller, who), use.base_url)

    try:
        ask = WriteRequest("web.people.again", str(who), form.once)
        invited = await shown_once(desk, ask, make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return await _drawn(request, desk, invited=invited)


async def change(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        wanted = PrincipalChange(roles=frozenset({_role(form)}), clearance=_clearance(form))
        await desk.services.use.change_principal(desk.caller, _who(form), wanted)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/people", "changed")


async def switch(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    to = form.one_of("to", ("disabled", "enabled"))
    try:
        wanted = PrincipalChange(disabled=to == "disabled")
        await desk.services.use.change_principal(desk.caller, _who(form), wanted)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/people", to)


def _who(form: Form) -> PrincipalId:
    return PrincipalId.parse(form.text("principal", most=40))


def _role(form: Form) -> Role:
    return Role(form.one_of("role", tuple(Role)))


def _clearance(form: Form) -> Label:
    label = maybe_label(form, "clearance")
    if label is None:
        raise InvalidForm("clearance", "must be chosen")
    return label


def _answer(invitation: Invitation, base_url: str) -> StoredResponse:
    """The secret stands behind the #, which browsers keep to themselves."""
    kept: dict[str, JsonValue] = {
        "name": invitation.identity.name,
        "until": invitation.expires_at.isoformat(),
        "link": None,
    }
    return StoredResponse(kept, shown_once={"link": f"{base_url}/join#{invitation.key.reveal()}"})


async def _drawn(
    request: Request,
    desk: PageContext,
    *,
    invited: Any = None,  # noqa: ANN401 # a receipt's JSON
    problem: PorticoError | None = None,
    sent: Form | None = None,
) -> Response:
    after = position(request.query_params.get("after") if request.method == "GET" else None)
    start = None if after is None else PrincipalId.parse(after)
    found = await desk.services.use.list_principals(desk.caller, after=start, limit=_MOST)
    cursor = next_cursor(found, _MOST, str(found[-1].id) if found else "")
    values = {
        "tabs": tabs(desk.caller),
        "people": [person_line(each, desk.caller) for each in found],
        "older": None if cursor is None else f"/settings/people?after={cursor}",
        "roles": ROLES,
        "levels": levels(desk.caller),
        "invited": invited,
        "problem": problem,
        "typed": typed(sent, "name", "role", "clearance", "clearance_compartments"),
        "making": sent is not None,
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "settings/people.html", values, title="People", status=status)


routes: Final = [
    Route("/settings/people", show, methods=["GET"]),
    Route("/settings/people", invite, methods=["POST"]),
    Route("/settings/people/again", invite_again, methods=["POST"]),
    Route("/settings/people/change", change, methods=["POST"]),
    Route("/settings/people/switch", switch, methods=["POST"]),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    id: str
    browser: str
    who: str
    opened_with: str | None
    """The id of the key."""
    opened_at: datetime
    used_at: datetime | None
    ends_at: datetime | None
    here: bool
    """The one that whoever looks is in."""


@dataclass(frozen=True, slots=True)
class Sessions:
    own: Sequence[SessionLine]
    others: Sequence[SessionLine]

    @property
    def elsewhere(self) -> Sequence[SessionLine]:
        """Whoever looks, in other browsers."""
        return [each for each in self.own if not each.here]


def sessions(
    found: Sequence[StoredKey],
    caller: Principal,
    here: str,
    names: Mapping[PrincipalId, str],
) -> Sessions:
    own = [_line(each, here, names) for each in found if each.principal == caller.id]
    others = [_line(each, here, names) for each in found if each.principal != caller.id]
    return Sessions(sorted(own, key=lambda each: not each.here), others)


def _line(key: StoredKey, here: str, names: Mapping[PrincipalId, str]) -> SessionLine:
    return SessionLine(
        id=key.id,
        browser=key.name,
        who=names.get(key.principal, "somebody"),
        opened_with=None if key.opened_with is None else key.opened_with.key,
        opened_at=key.created_at,
        used_at=key.last_used_at,
        ends_at=key.expires_at,
        here=key.id == here,
    )


_YEAR: Final = 365 * 24 * 3600
_ACCOUNT_SAID: Final = {
    "ended": "That session has ended.",
    "others": "You are logged out everywhere else.",
    "theme": "Noted, in this browser.",
}


async def show_account(request: Request) -> Response:
    desk = page_context(request)
    use, caller = desk.services.use, desk.caller
    found = await use.list_sessions(caller)
    values = {
        "tabs": tabs(caller),
        "sessions": sessions(found, caller, desk.entry.key_id, await names(desk)),
        "said": _ACCOUNT_SAID.get(request.query_params.get("done", "")),
    }
    return await page(request, "settings/you.html", values, title="Settings")


async def end(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    await desk.services.use.end_session(desk.caller, form.text("session", most=20))
    return done("/settings", "ended")


async def end_others(request: Request) -> Response:
    """All of one's own but this one."""
    desk = page_context(request)
    use, caller = desk.services.use, desk.caller
    found = sessions(await use.list_sessions(caller), caller, desk.entry.key_id, {})
    for each in found.elsewhere:
        await use.end_session(caller, each.id)
    return done("/settings", "others")


async def choose_theme(request: Request) -> Response:
    form = await form_of(request)
    theme = form.one_of("theme", ("system", "light", "dark"))
    answer = done("/settings", "theme")
    if theme == "system":
        answer.delete_cookie(THEME, samesite="strict")
    else:  # the button in every page sets it too, so it is no secret to scripts
        answer.set_cookie(THEME, theme, max_age=_YEAR, samesite="strict")
    return answer


account_routes: Final = [
    Route("/settings", show_account, methods=["GET"]),
    Route("/settings/sessions/end", end, methods=["POST"]),
    Route("/settings/sessions/end-others", end_others, methods=["POST"]),
    Route("/settings/theme", choose_theme, methods=["POST"]),
]
