"""Tools: list, search, show one, try it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.errors import InvalidCursor
from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.gateway.catalog import ToolDetails
from portico.gateway.core.calls import ResultId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import LoginNeeded
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part, wants_part
from portico.interfaces.console.screens.schema_form import (
    RAW,
    Field,
    arguments,
    fields,
    raw_arguments,
    typed,
)
from portico.interfaces.console.screens.tool_view import (
    CALLS,
    EFFECTS,
    EXAMPLES,
    GROUPS,
    SETTINGS,
    Nearby,
    Policy,
    Result,
    Setting,
    call_rows,
    copies,
    examples,
    groups,
    in_use,
    nearby,
    own_rules,
    plain,
    policy,
    result,
    rows,
    search,
    tool_href,
    tool_view,
    wanted_rule,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

TOOL_WITHIN: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody has filled in, and what came of it."""

    fields: list[Field] | None = None
    """None: as the schema has them, with nothing filled in."""
    raw: str = ""
    as_raw: bool = False
    arguments: JsonObject | None = None
    result: Result | None = None
    problem: PorticoError | None = None
    pending: str | None = None
    """The id of the request for approval that it became."""
    login: str | None = None
    replayed: bool = False


NOTHING: Final = Attempt()


def trying(desk: PageContext, ref: ToolRef) -> Principal:
    """Each tool that is tried is a task of its own: what one of them gave is not held against
    what another is given."""
    return desk.at(f"tool {ref}")


async def whole_page(
    desk: PageContext, ref: ToolRef, attempt: Attempt, *, before: datetime | None = None
) -> dict[str, Any]:
    gateway, caller = desk.services.gateway, desk.caller
    look = await gateway.show_tool(caller, ref)
    calls = await gateway.list_calls(desk.at("tools"), ref=ref, before=before, limit=CALLS)
    figures = await gateway.show_figures(caller, server=ref.server, within=TOOL_WITHIN)
    its = next((each for each in figures if each.name == ref.name), None)
    return {
        **try_values(look, attempt),
        "view": tool_view(look, its),
        "calls": call_rows(calls, caller.id),
        "older": calls[-1].started_at.isoformat() if len(calls) == CALLS else None,
        "examples": examples(look, calls),
        "near": await _near(desk, ref),
        "policy": await _policy(desk, ref),
        "effects": EFFECTS,
        "settings": SETTINGS,
        "may_effect": caller.may(Scope.SERVERS_APPROVE),
        "may_rule": caller.may(Scope.POLICY_WRITE),
    }


def try_values(look: ToolDetails, attempt: Attempt) -> dict[str, Any]:
    made = fields(look.tool.definition.input_schema, attempt.arguments)
    known = attempt.fields if attempt.fields is not None else made
    return {
        "look": look,
        "attempt": replace(attempt, as_raw=attempt.as_raw or known is None),
        "fields": known,
        "copies": copies(look, attempt.arguments or {}),
    }


async def _near(desk: PageContext, ref: ToolRef) -> Nearby | None:
    try:
        return nearby(await desk.services.gateway.graph.neighbours(desk.caller, ref, 6))
    except PorticoError:
        return None  # of a tool that is not offered nothing is told


async def _policy(desk: PageContext, ref: ToolRef) -> Policy | None:
    caller = trying(desk, ref)
    if not caller.may(Scope.POLICY_READ):
        return None
    try:
        return policy(await desk.services.gateway.policy.explain(caller, caller.name, str(ref)))
    except PorticoError:
        return None


_SAID: Final = {
    "effect": "The effect is set, for exactly this definition.",
    "rule": "The rule is in force.",
    "ruled": "The rule is taken away: what holds for its effect counts.",
}


async def show_tool(request: Request) -> Response:
    ref = ToolRef.parse(request.path_params["tool"])
    given = _given(request.query_params.get("with"))
    return await drawn(request, ref, Attempt(arguments=given) if given else NOTHING)


async def drawn(
    request: Request, ref: ToolRef, attempt: Attempt, *, problem: PorticoError | None = None
) -> Response:
    """The whole page. `problem`: of a form beside the one for trying."""
    asked = request.query_params
    values = await whole_page(
        page_context(request), ref, attempt, before=_moment(asked.get("before"))
    )
    said = {"said": _SAID.get(asked.get("done", "")), "problem": problem}
    wrong = problem or attempt.problem
    status = 200 if wrong is None else status_of(wrong)
    return await page(request, "tools/tool.html", values | said, title=str(ref), status=status)


def _given(text: str | None) -> JsonObject | None:
    """Of a link that fills the form in; what is none of ours fills in nothing."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _moment(text: str | None) -> datetime | None:
    """Raises `InvalidCursor`."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidCursor from error
    if moment.tzinfo is None:
        raise InvalidCursor
    return moment


async def set_effect(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    ref = _one_tool(form)
    try:
        effect = Effect(form.one_of("effect", [*Effect]))
        await desk.services.gateway.set_effects(desk.caller, str(ref), effect)
    except PorticoError as problem:
        return await drawn(request, ref, NOTHING, problem=problem)
    return done(tool_href(ref), "effect")


async def set_rule(request: Request) -> Response:
    """In the place of what was said of this tool alone; other rules stay as they are."""
    desk, form = page_context(request), await form_of(request)
    rules, caller, ref = desk.services.gateway.policy, desk.caller, _one_tool(form)
    try:
        setting = Setting(form.one_of("setting", [str(each) for each, _ in SETTINGS]))
        wanted = wanted_rule(str(ref), setting)
        own = own_rules(await rules.list_rules(caller), str(ref))
        if wanted is not None:
            await rules.add_rule(caller, wanted)
        for rule in own:  # after the new one is there: between the two, both are in force
            await rules.remove_rule(caller, rule.name)
    except PorticoError as problem:
        return await drawn(request, ref, NOTHING, problem=problem)
    return done(tool_href(ref), "ruled" if wanted is None else "rule")


def _one_tool(form: Form) -> ToolRef:
    """Raises `InvalidForm` of a name that would be read as a pattern."""
    ref = ToolRef.parse(form.text("tool", most=300))
    if not plain(ref):
        raise InvalidForm("tool", "has a wildcard in its name, and would stand for others too")
    return ref


detail_routes: Final = [
    Route("/tools/effect", set_effect, methods=["POST"]),
    Route("/tools/rule", set_rule, methods=["POST"]),
    Route("/tools/{tool:path}", show_tool, methods=["GET"]),
]

_LETTERS: Final = 200_000


async def call(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    ref = ToolRef.parse(form.text("tool", most=300))
    look = await desk.services.gateway.show_tool(desk.caller, ref)
    attempt = await _attempted(desk, form, look)
    if not wants_part(request):
        return await drawn(request, ref, attempt)
    status = 200 if attempt.problem is None else status_of(attempt.problem)
    values = {**try_values(look, attempt), "view": tool_view(look, None)}
    return part(request, "tools/_try.html", values, status=status)


async def _attempted(desk: PageContext, form: Form, look: ToolDetails) -> Attempt:
    known = fields(look.tool.definition.input_schema)
    as_raw = form.ticked("as_raw") or known is None
    raw = form.maybe(RAW, most=_LETTERS) or ""
    attempt = Attempt(raw=raw, as_raw=as_raw)
    try:
        if as_raw:
            given = raw_arguments(raw or None)
        else:
            filled = [*typed(form, known or ())]
            attempt = replace(attempt, fields=filled)
            given = arguments(filled)
        return await _called(desk, form, look, replace(attempt, arguments=given), given)
    except ApprovalPending as pending:
        return replace(attempt, pending=pending.approval)
    except LoginNeeded as needed:
        return replace(attempt, problem=needed, login=needed.login_url)
    except PorticoError as problem:
        return replace(attempt, problem=problem)


async def _called(
    desk: PageContext, form: Form, look: ToolDetails, attempt: Attempt, given: JsonObject
) -> Attempt:
    caller, ref = trying(desk, look.tool.ref), look.tool.ref
    if not await _first(desk, form, ref, given):
        return replace(attempt, replayed=True)
    began = desk.services.clock.now()
    called = await desk.services.gateway.call_tool(caller, ref, given)
    took = desk.services.clock.now() - began
    return replace(attempt, result=result(called, took))


async def _first(desk: PageContext, form: Form, ref: ToolRef, given: JsonObject) -> bool:
    """Whether this very form is sent for the first time. It is noted before the call is made: a
    call may wait for somebody, and what is written meanwhile has to be seen by them."""
    ask = WriteRequest("console.try", {"tool": str(ref), "arguments": given}, form.once)
    receipt = await desk.services.use.do_once(desk.caller, ask, _noted)
    return not receipt.replayed


async def _noted() -> StoredResponse:
    return StoredResponse({})


async def read_on(request: Request) -> Response:
    """A page of an answer that was too long to be shown at once."""
    desk, asked = page_context(request), request.query_params
    number = asked.get("page", "1")
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    which = ResultId.parse(asked.get("id", ""))
    found = await desk.services.gateway.read_result(desk.at("tools"), which, page=max(1, wanted))
    values = {"result": str(which), "found": found}
    return await page(request, "tools/result.html", values, title="A long answer")


try_routes: Final = [
    Route("/tools/call", call, methods=["POST"]),
    Route("/tools/result", read_on, methods=["GET"]),
]

WITHIN: Final = timedelta(days=1)
"""What uses and times are of."""
_LONGEST: Final = 500
SAID: Final = {
    "on": "Switched on. Its tools can be found again.",
    "off": "Switched off. Its tools are not found any more, and its process is ended.",
}


async def show(request: Request) -> Response:
    values = await _body(request)
    return await page(request, "tools/page.html", values, title="Tools")


async def show_body(request: Request) -> Response:
    """What is below the search field, while somebody types into it."""
    return part(request, "tools/_body.html", await _body(request))


async def _body(request: Request) -> dict[str, Any]:
    desk, asked = page_context(request), request.query_params
    looks = await desk.services.gateway.list_servers(desk.caller)
    query = asked.get("q", "").strip()[:_LONGEST]
    common = {
        "query": query,
        "servers": len(looks),
        "in_use": in_use(looks),
        "examples": EXAMPLES,
        "said": SAID.get(asked.get("done", "")),
        "may_switch": desk.caller.may(Scope.SERVERS_WRITE),
    }
    if query:
        began = desk.services.clock.now()
        found = await desk.services.gateway.find_tools(desk.caller, [query])
        took = desk.services.clock.now() - began
        return {**common, "search": search(query, found, in_use(looks), took)}
    start = whole(asked.get("start"))
    figures = await desk.services.gateway.show_figures(desk.caller, within=WITHIN)
    shown = groups(looks[start : start + GROUPS], figures)
    following = start + GROUPS
    opened = asked.get("open", "")
    known = opened in {group.server for group in shown}
    return {
        **common,
        "search": None,
        "groups": shown,
        "more": f"/tools?start={following}" if following < len(looks) else None,
        "opened": await _rows(desk, opened, 0) if known else None,
    }


async def show_group(request: Request) -> Response:
    """The tools of one server, once somebody opens it."""
    asked = request.query_params
    found = await _rows(page_context(request), asked.get("server", ""), whole(asked.get("start")))
    return part(request, "tools/_rows.html", {"opened": found})


async def _rows(desk: PageContext, server: str, start: int) -> Any:  # noqa: ANN401 # drawn, not read
    gateway, caller = desk.services.gateway, desk.caller
    looks = await gateway.list_tools(caller, server=server)
    figures = await gateway.show_figures(caller, server=server, within=WITHIN)
    return rows(server, looks, figures, start=start)


async def switch(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    to = form.one_of("to", ["on", "off"])
    name = form.text("server", most=80)
    await desk.services.gateway.switch_server(desk.caller, name, enabled=to == "on")
    return done("/tools", to)


def whole(text: str | None) -> int:
    """Where in a list somebody is; from its beginning if that is no number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else 0


routes: Final = [
    Route("/tools", show, methods=["GET"]),
    Route("/tools/body", show_body, methods=["GET"]),
    Route("/tools/group", show_group, methods=["GET"]),
    Route("/tools/switch", switch, methods=["POST"]),
    *try_routes,
    *detail_routes,
]
