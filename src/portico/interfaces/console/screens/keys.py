"""API keys: issue, show once, rotate, revoke."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import FOR_AGENTS, Scope
from portico.guard.keys import IssuedKey, KeySpec
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context
from portico.interfaces.console.screens.settings_form import (
    levels,
    maybe_label,
    name_in,
    names,
    shown_once,
    tabs,
    typed,
    words_in,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SOON: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLine:
    id: str
    name: str
    who: str
    clearance: Label
    scopes: tuple[str, ...] | None
    """None: all that its principal may."""
    tools: tuple[str, ...] | None
    created_at: datetime
    used_at: datetime | None
    ends_at: datetime | None
    state: str
    tone: str
    may_rotate: bool
    may_revoke: bool


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    name: str
    for_agents: bool


def key_line(
    key: StoredKey, caller: Principal, names: Mapping[PrincipalId, str], now: datetime
) -> KeyLine:
    state, tone = _state(key, now)
    own = key.principal == caller.id
    may = caller.may(Scope.KEYS_OWN) if own else caller.may(Scope.KEYS_WRITE)
    works = not key.ended(now)
    return KeyLine(
        id=key.id,
        name=key.name,
        who="you" if own else names.get(key.principal, str(key.principal)),
        clearance=key.clearance,
        scopes=None if key.scopes is None else tuple(sorted(key.scopes)),
        tools=key.tools,
        created_at=key.created_at,
        used_at=key.last_used_at,
        ends_at=key.expires_at,
        state=state,
        tone=tone,
        may_rotate=may and works,
        may_revoke=may and works,
    )


def _state(key: StoredKey, now: datetime) -> tuple[str, str]:
    if key.revoked_at is not None:
        return "revoked", "bad"
    if key.ended(now):
        return "ended", ""
    if key.expires_at is not None and key.expires_at - now < _SOON:
        return "ends soon", "warn"
    return ("in use", "ok") if key.last_used_at is not None else ("never used", "")


def scope_choices(caller: Principal) -> Sequence[ScopeChoice]:
    """Nobody gives more than they have."""
    return [
        ScopeChoice(str(scope), scope in FOR_AGENTS)
        for scope in Scope
        if caller.may(scope) and scope is not Scope.INVITATION_ACCEPT
    ]


def client_entry(base_url: str, key: str) -> str:
    """What a client that speaks HTTP takes into its configuration."""
    entry = {
        "type": "http",
        "url": f"{base_url}/mcp",
        "headers": {"Authorization": f"Bearer {key}"},
    }
    return json.dumps({"mcpServers": {"portico": entry}}, indent=2, ensure_ascii=False)


_MOST: Final = 25
_OVERLAPS: Final = {
    "0": "at once",
    "1": "in an hour",
    "24": "in a day",
    "168": "in a week",
}
_SAID: Final = {"revoked": "The key does not work any more."}


async def show(request: Request) -> Response:
    return await _drawn(request, page_context(request))


async def create(request: Request) -> Response:
    """Answered with the page itself: the key is shown in this answer, and in no other."""
    desk, form = page_context(request), await form_of(request)
    use = desk.services.use
    try:
        wish, agent = _wish(form)

        async def make() -> StoredResponse:
            issue = use.issue_agent_key if agent else use.issue_key
            return _answer(await issue(desk.caller, wish))

        asked: dict[str, JsonValue] = {name: [*sent] for name, sent in form.fields.items()}
        issued = await shown_once(desk, WriteRequest("web.keys.issue", asked, form.once), make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error, sent=form)
    return await _drawn(request, desk, issued=issued)


async def rotate(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    use, key_id = desk.services.use, form.text("key", most=20)
    overlap = timedelta(hours=int(form.one_of("overlap", tuple(_OVERLAPS))))

    async def make() -> StoredResponse:
        return _answer(await use.rotate_key(desk.caller, key_id, overlap))

    asked: dict[str, JsonValue] = {"key": key_id, "overlap": str(overlap)}
    try:
        issued = await shown_once(desk, WriteRequest("web.keys.rotate", asked, form.once), make)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return await _drawn(request, desk, issued=issued)


async def revoke(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        await desk.services.use.revoke_key(desk.caller, form.text("key", most=20))
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/keys", "revoked")


def _wish(form: Form) -> tuple[KeySpec, bool]:
    """And whether it is for a program. Raises `InvalidForm`."""
    holder = form.text("holder", most=40)
    scopes, days = form.many("scope", most=100), form.whole("days", least=1, most=3650)
    if unknown := [each for each in scopes if each not in set(Scope)]:
        raise InvalidForm("scope", f"there is no {unknown[0][:40]!r}")
    tools = words_in(form, "tools")
    wish = KeySpec(
        name=name_in(form),
        principal=None if holder in {"me", "agent"} else PrincipalId.parse(holder),
        scopes=frozenset(map(Scope, scopes)) or None,
        clearance=maybe_label(form, "clearance"),
        tools=tools or None,
        lifetime=None if days is None else timedelta(days=days),
    )
    return wish, holder == "agent"


def _answer(issued: IssuedKey) -> StoredResponse:
    kept: dict[str, JsonValue] = {"id": issued.stored.id, "name": issued.stored.name}
    return StoredResponse({**kept, "key": None}, shown_once={"key": issued.key.reveal()})


async def _drawn(
    request: Request,
    desk: PageContext,
    *,
    issued: Any = None,  # noqa: ANN401 # a receipt's JSON
    problem: PorticoError | None = None,
    sent: Form | None = None,
) -> Response:
    caller, use = desk.caller, desk.services.use
    after = request.query_params.get("after") if request.method == "GET" else None
    found = await use.list_keys(caller, after=position(after), limit=_MOST)
    known = await names(desk)
    cursor = next_cursor(found, _MOST, found[-1].id if found else "")
    key = None if issued is None else issued.get("key")
    values = {
        "tabs": tabs(caller),
        "keys": [key_line(each, caller, known, desk.now) for each in found],
        "older": None if cursor is None else f"/settings/keys?after={cursor}",
        "holders": _holders(desk, known),
        "levels": levels(caller),
        "scopes": scope_choices(caller),
        "overlaps": _OVERLAPS,
        "issued": issued,
        "entry": client_entry(use.base_url, str(key)) if key else None,
        "problem": problem,
        "typed": _typed(request, sent),
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "settings/keys.html", values, title="Keys", status=status)


def _holders(desk: PageContext, known: Any) -> dict[str, str]:  # noqa: ANN401 # ids and names
    """Whom a key may be made for."""
    caller = desk.caller
    found = {"me": f"me, {caller.name}"} if caller.may(Scope.KEYS_OWN) else {}
    if caller.may(Scope.KEYS_OWN) or caller.may(Scope.KEYS_WRITE):
        found["agent"] = "a program that acts for me, as an agent of its own"
    if caller.may(Scope.KEYS_WRITE):
        found |= {str(id_): name for id_, name in known.items() if id_ != caller.id}
    return found


def _typed(request: Request, form: Form | None) -> dict[str, Any]:
    """What stands in the form: what was typed, or what its link asked for."""
    wanted = "agent" if request.query_params.get("for") == "agent" else "me"
    fields = ("name", "holder", "clearance", "clearance_compartments", "tools", "days")
    found = typed(form, *fields)
    return {
        **found,
        "holder": found["holder"] or wanted,
        "scope": set() if form is None else {*form.fields.get("scope", ())},
        "open": form is not None or "for" in request.query_params,
    }


routes: Final = [
    Route("/settings/keys", show, methods=["GET"]),
    Route("/settings/keys", create, methods=["POST"]),
    Route("/settings/keys/rotate", rotate, methods=["POST"]),
    Route("/settings/keys/revoke", revoke, methods=["POST"]),
]
