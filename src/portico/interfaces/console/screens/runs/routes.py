"""Runs: which there are, how far each has come, and ending several at once."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import BadForm, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.run.acts import cancel_one
from portico.interfaces.console.screens.run.seen import KINDS
from portico.interfaces.console.screens.runs.look import listed
from portico.interfaces.console.screens.runs.view import address, kind_of, show_of
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId

_MOST: Final = 50
_SAID: Final = {
    "cancelled": "Cancelled. What was done stays done.",
    "some": "Some were over already, or are not yours to end; the others are cancelled.",
}


async def show(request: Request) -> Response:
    return await _drawn(request)


async def show_list(request: Request) -> Response:
    values = {"listed": await listed(desk_of(request), request)}
    return part(request, "runs/_list.html", values)


async def cancel(request: Request) -> Response:
    """The one whose button it was, or all that are chosen."""
    desk, form = desk_of(request), await form_of(request)
    back = address("/runs", show_of(form.maybe("show")), kind_of(form.maybe("kind")))
    try:
        one = form.maybe("one", most=64)
        chosen = [one] if one else form.many("run", most=_MOST)
        if not chosen:
            raise BadForm("run", "choose at least one")
        failed: list[PorticoError] = []
        for each in dict.fromkeys(chosen):
            try:
                found, _ = await desk.house.use.show_run(desk.caller, RunId.parse(each))
                await cancel_one(desk, found)
            except PorticoError as error:
                failed.append(error)
        if len(failed) == len(set(chosen)):
            raise failed[0]
    except PorticoError as error:
        return await _drawn(request, error)
    return done(back, "some" if failed else "cancelled")


async def _drawn(request: Request, problem: PorticoError | None = None) -> Response:
    values = {
        "listed": await listed(desk_of(request), request),
        "kinds": KINDS,
        "said": _SAID.get(request.query_params.get("done", "")),
        "problem": problem,
        "base_url": desk_of(request).house.use.base_url,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "runs/page.html", values, title="Runs", status=status)


routes: Final = [
    Route("/runs", show, methods=["GET"]),
    Route("/runs/list", show_list, methods=["GET"]),
    Route("/runs/cancel", cancel, methods=["POST"]),
]
