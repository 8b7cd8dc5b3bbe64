"""The page of one tool: what it takes, what became of it, and what is decided of it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.errors import BadCursor
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.tools.policy_view import (
    SETTINGS,
    Setting,
    own_rules,
    wanted_rule,
)
from portico.interfaces.console.screens.tools.tool_page import NOTHING, Attempt, whole_page
from portico.interfaces.console.screens.tools.tool_view import plain
from portico.interfaces.console.screens.tools.view import tool_href
from portico.interfaces.http.problems import status_of
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_SAID: Final = {
    "effect": "The effect is set, for exactly this definition.",
    "rule": "The rule is in force.",
    "ruled": "The rule is taken away: what holds for its effect counts.",
}


async def show(request: Request) -> Response:
    ref = ToolRef.parse(request.path_params["tool"])
    given = _given(request.query_params.get("with"))
    return await drawn(request, ref, Attempt(arguments=given) if given else NOTHING)


async def drawn(
    request: Request, ref: ToolRef, attempt: Attempt, *, problem: PorticoError | None = None
) -> Response:
    """The whole page. `problem`: of a form beside the one for trying."""
    asked = request.query_params
    values = await whole_page(desk_of(request), ref, attempt, before=_moment(asked.get("before")))
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
    """Raises `BadCursor`."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadCursor from error
    if moment.tzinfo is None:
        raise BadCursor
    return moment


async def set_effect(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    ref = _one_tool(form)
    try:
        effect = Effect(form.one_of("effect", [*Effect]))
        await desk.house.gateway.set_effects(desk.caller, str(ref), effect)
    except PorticoError as problem:
        return await drawn(request, ref, NOTHING, problem=problem)
    return done(tool_href(ref), "effect")


async def set_rule(request: Request) -> Response:
    """In the place of what was said of this tool alone; other rules stay as they are."""
    desk, form = desk_of(request), await form_of(request)
    rules, caller, ref = desk.house.gateway.policy, desk.caller, _one_tool(form)
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
    """Raises `BadForm` of a name that would be read as a pattern."""
    ref = ToolRef.parse(form.text("tool", most=300))
    if not plain(ref):
        raise BadForm("tool", "has a wildcard in its name, and would stand for others too")
    return ref


routes: Final = [
    Route("/tools/effect", set_effect, methods=["POST"]),
    Route("/tools/rule", set_rule, methods=["POST"]),
    Route("/tools/{tool:path}", show, methods=["GET"]),
]
