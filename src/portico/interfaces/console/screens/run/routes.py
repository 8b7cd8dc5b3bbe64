"""A run: its plan, its times, each step of it, and what can be done about it."""

import json
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page, part, wants_part
from portico.interfaces.console.screens.run import acts
from portico.interfaces.console.screens.run.acts import Refused
from portico.interfaces.console.screens.run.drawing import (
    head_values,
    inspector_values,
    page_values,
    part_values,
    run_of,
    sight_of,
)
from portico.interfaces.console.screens.run.export import exported
from portico.interfaces.console.screens.run.look import PLACE, look, plan_of
from portico.interfaces.console.screens.run.plan_view import plan_view
from portico.interfaces.console.screens.run.step_look import output_page
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.sse import event_json

_EVENTS: Final = 100
SAID: Final = {
    "once": "Approved, once.",
    "run": "Approved for this run.",
    "always": "Approved from now on.",
    "reject": "Rejected.",
    "edited": "Approved with your arguments.",
    "done": "Noted: it was done.",
    "retry": "It is tried again.",
    "skip": "Noted: it was not done and shall not be.",
    "cancelled": "Cancelled. What was done stays done.",
    "resumed": "It goes on.",
    "forked": "This is the new run. What does not depend on that step was kept.",
    "again": "This is the new run.",
}


async def show(request: Request) -> Response:
    return await drawn(request, desk_of(request))


async def show_step(request: Request) -> Response:
    """The inspector; without a script, the page with that step chosen."""
    desk, step = desk_of(request), str(request.path_params["step"])
    if not wants_part(request):
        return await drawn(request, desk, step=step)
    sight = await sight_of(desk, request, step)
    values = await inspector_values(sight, await plan_of(desk, sight.seen))
    return part(request, "run/_inspector.html", {**head_values(sight), **values})


async def drawn(
    request: Request, desk: Desk, *, step: str | None = None, refused: Refused | None = None
) -> Response:
    """`refused`: what was asked for on this page, and went wrong."""
    sight = await sight_of(desk, request, step)
    said = SAID.get(request.query_params.get("done", ""))
    values = {**await page_values(sight), "said": said, "problem": None, "typed": None}
    status = 200
    if refused is not None:
        values |= {"problem": refused.problem, "typed": refused.typed}
        status = status_of(refused.problem)
    return await page(request, "run/page.html", values, title=sight.seen.title, status=status)


async def show_parts(request: Request) -> Response:
    """What has changed, as parts for a page that is there already."""
    sight = await sight_of(desk_of(request), request)
    return part(request, "run/_parts.html", part_values(sight, request.query_params))


async def show_plan(request: Request) -> Response:
    sight = await sight_of(desk_of(request), request)
    task = sight.chosen
    picked = None if task is None else task.name
    view = plan_view(sight.units, sight.desk.now, sight.way, picked)
    return part(request, "run/_plan.html", {**head_values(sight), "plan": view})


async def show_timeline(request: Request) -> Response:
    sight = await sight_of(desk_of(request), request)
    task = sight.chosen
    values = {"timeline": sight.timeline, "picked": None if task is None else task.name}
    return part(request, "run/_timeline.html", {**head_values(sight), **values})


async def show_log(request: Request) -> Response:
    desk, run = desk_of(request), run_of(request)
    after = request.query_params.get("after") or None
    events = await desk.house.use.read_run_events(desk.at(PLACE), run, after, _EVENTS)
    older = f"/runs/{run}/log?after={quote(events.next or '')}"
    values = {
        "id": str(run),
        "events": [(entry, event_json(entry)["facts"]) for entry in events.entries],
        "trimmed": events.trimmed,
        "next": older if events.next and len(events.entries) == _EVENTS else None,
    }
    if wants_part(request):
        return part(request, "run/_log.html", values)
    return await page(request, "run/log.html", values, title="Events")


async def show_output(request: Request) -> Response:
    """All that a step gave, page by page."""
    desk = desk_of(request)
    looked = await look(desk, run_of(request))
    step, number = request.query_params.get("step", ""), request.query_params.get("page", "1")
    found = await output_page(desk, looked, step, int(number) if number.isdigit() else 1)
    values = {"run": looked.seen, "step": step, "found": found}
    return await page(request, "run/output.html", values, title="Output")


async def export(request: Request) -> Response:
    """All of it that whoever asks may see, as a file."""
    desk, run = desk_of(request), run_of(request)
    text = json.dumps(await exported(desk, run), ensure_ascii=False, indent=2)
    headers = {"Content-Disposition": f'attachment; filename="{run}.json"'}
    content = text.encode(errors="backslashreplace")
    return Response(content, headers=headers, media_type="application/json")


routes: Final = [
    Route("/runs/{run}", show, methods=["GET"]),
    Route("/runs/{run}/steps/{step:path}", show_step, methods=["GET"]),
    Route("/runs/{run}/parts", show_parts, methods=["GET"]),
    Route("/runs/{run}/plan", show_plan, methods=["GET"]),
    Route("/runs/{run}/timeline", show_timeline, methods=["GET"]),
    Route("/runs/{run}/log", show_log, methods=["GET"]),
    Route("/runs/{run}/output", show_output, methods=["GET"]),
    Route("/runs/{run}/export", export, methods=["GET"]),
    *acts.routes(drawn),
]
