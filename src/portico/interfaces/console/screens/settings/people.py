"""People and agents: who there is, inviting somebody, and changing what they may."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.guard.core.principals import Role
from portico.guard.invitations import Invitation
from portico.guard.principals import PrincipalChange, PrincipalWish
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.settings.asking import (
    levels,
    maybe_label,
    name_in,
    shown_once,
    typed,
)
from portico.interfaces.console.screens.settings.people_lines import ROLES, person_line
from portico.interfaces.console.screens.settings.tabs import tabs
from portico.interfaces.http.paging import next_cursor, position
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind

_MOST: Final = 50
_SAID: Final = {
    "changed": "Changed; it holds from their next request on.",
    "disabled": "Disabled: no key of theirs opens anything now.",
    "enabled": "Enabled again.",
}


async def show(request: Request) -> Response:
    return await _drawn(request, desk_of(request))


async def invite(request: Request) -> Response:
    """Answered with the page itself: the link is shown in this answer, and in no other."""
    desk, form = desk_of(request), await form_of(request)
    use = desk.house.use
    try:
        wish = PrincipalWish(
            kind=PrincipalKind.PERSON,
            name=name_in(form),
            roles=frozenset({_role(form)}),
            clearance=_clearance(form),
        )

        async def make() -> Answer:
            return _answer(await use.invite_person(desk.caller, wish), use.base_url)

        asked: dict[str, JsonValue] = {name: [*sent] for name, sent in form.fields.items()}
        invited = await shown_once(desk, Ask("web.people.invite", asked, form.once), make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error, sent=form)
    return await _drawn(request, desk, invited=invited)


async def invite_again(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    use, who = desk.house.use, _who(form)

    async def make() -> Answer:
        return _answer(await use.invite_again(desk.caller, who), use.base_url)

    try:
        ask = Ask("web.people.again", str(who), form.once)
        invited = await shown_once(desk, ask, make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return await _drawn(request, desk, invited=invited)


async def change(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    try:
        wanted = PrincipalChange(roles=frozenset({_role(form)}), clearance=_clearance(form))
        await desk.house.use.change_principal(desk.caller, _who(form), wanted)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/people", "changed")


async def switch(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    to = form.one_of("to", ("disabled", "enabled"))
    try:
        wanted = PrincipalChange(disabled=to == "disabled")
        await desk.house.use.change_principal(desk.caller, _who(form), wanted)
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
        raise BadForm("clearance", "must be chosen")
    return label


def _answer(invitation: Invitation, base_url: str) -> Answer:
    """The secret stands behind the #, which browsers keep to themselves."""
    kept: dict[str, JsonValue] = {
        "name": invitation.identity.name,
        "until": invitation.expires_at.isoformat(),
        "link": None,
    }
    return Answer(kept, shown_once={"link": f"{base_url}/join#{invitation.key.reveal()}"})


async def _drawn(
    request: Request,
    desk: Desk,
    *,
    invited: Any = None,  # noqa: ANN401 # a receipt's JSON
    problem: PorticoError | None = None,
    sent: Form | None = None,
) -> Response:
    after = position(request.query_params.get("after") if request.method == "GET" else None)
    start = None if after is None else PrincipalId.parse(after)
    found = await desk.house.use.list_principals(desk.caller, after=start, limit=_MOST)
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
