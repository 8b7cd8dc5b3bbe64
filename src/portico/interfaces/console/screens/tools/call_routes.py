"""Try it: a tool called from its page, through the same door as over REST."""

from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.gateway.catalog import ToolLook
from portico.gateway.core.calls import ResultId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import LoginNeeded
from portico.guard.core.errors import ApprovalPending
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import page, part, wants_part
from portico.interfaces.console.screens.tools.result_view import result
from portico.interfaces.console.screens.tools.schema_form import (
    RAW,
    arguments,
    fields,
    raw_arguments,
    typed,
)
from portico.interfaces.console.screens.tools.tool_page import Attempt, try_values, trying
from portico.interfaces.console.screens.tools.tool_routes import drawn
from portico.interfaces.console.screens.tools.tool_view import tool_view
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_LETTERS: Final = 200_000


async def call(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    ref = ToolRef.parse(form.text("tool", most=300))
    look = await desk.house.gateway.show_tool(desk.caller, ref)
    attempt = await _attempted(desk, form, look)
    if not wants_part(request):
        return await drawn(request, ref, attempt)
    status = 200 if attempt.problem is None else status_of(attempt.problem)
    values = {**try_values(look, attempt), "view": tool_view(look, None)}
    return part(request, "tools/_try.html", values, status=status)


async def _attempted(desk: Desk, form: Form, look: ToolLook) -> Attempt:
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
    desk: Desk, form: Form, look: ToolLook, attempt: Attempt, given: JsonObject
) -> Attempt:
    caller, ref = trying(desk, look.tool.ref), look.tool.ref
    if not await _first(desk, form, ref, given):
        return replace(attempt, replayed=True)
    began = desk.house.clock.now()
    called = await desk.house.gateway.call_tool(caller, ref, given)
    took = desk.house.clock.now() - began
    return replace(attempt, result=result(called, took))


async def _first(desk: Desk, form: Form, ref: ToolRef, given: JsonObject) -> bool:
    """Whether this very form is sent for the first time. It is noted before the call is made: a
    call may wait for somebody, and what is written meanwhile has to be seen by them."""
    ask = Ask("console.try", {"tool": str(ref), "arguments": given}, form.once)
    receipt = await desk.house.use.do_once(desk.caller, ask, _noted)
    return not receipt.replayed


async def _noted() -> Answer:
    return Answer({})


async def read_on(request: Request) -> Response:
    """A page of an answer that was too long to be shown at once."""
    desk, asked = desk_of(request), request.query_params
    number = asked.get("page", "1")
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    which = ResultId.parse(asked.get("id", ""))
    found = await desk.house.gateway.read_result(desk.at("tools"), which, page=max(1, wanted))
    values = {"result": str(which), "found": found}
    return await page(request, "tools/result.html", values, title="A long answer")


routes: Final = [
    Route("/tools/call", call, methods=["POST"]),
    Route("/tools/result", read_on, methods=["GET"]),
]
