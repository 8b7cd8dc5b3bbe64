"""The page of a run: its parts, actions, export, routes."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.activation import shown
from portico.debate.core.debates import DebateId
from portico.engine.core.errors import RunNotFound
from portico.engine.core.idempotency import StoredResponse
from portico.engine.core.runs import Run, Step
from portico.engine.idempotency import WriteRequest
from portico.engine.runs import RunSpec
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via, answer_kind, resolution
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part, wants_part
from portico.interfaces.console.screens.run.graph import Way, nodes_at, plan_view
from portico.interfaces.console.screens.run.run_view import (
    PLACE,
    RunDetails,
    RunView,
    asks,
    chosen,
    figures_of,
    look,
    name_of_principal,
    plan_of,
    powers_of,
    question_of,
    status_badge,
)
from portico.interfaces.console.screens.run.steps import mark_of, output_page, step_view
from portico.interfaces.console.screens.run.tasks import Task, owner_of
from portico.interfaces.console.screens.run.timeline import (
    Timeline,
    Units,
    timeline_of,
    units_of,
    zoom_of,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.streaming import event_json
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, InvalidId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import PrincipalKind

MOST_PARTS: Final = 24
"""Units that are told at once: so a part stays small, however large the run is."""
_MOST_ASKED: Final = 200


@dataclass(frozen=True, slots=True)
class Sight:
    """Which of it somebody looks at."""

    page: PageContext
    looked: RunDetails
    way: Way
    units: Units
    wanted: str | None

    @property
    def seen(self) -> RunView:
        return self.looked.seen

    @property
    def chosen(self) -> Task | None:
        return chosen(self.seen, self.wanted)

    @property
    def timeline(self) -> Timeline:
        seen = self.seen
        return timeline_of(
            self.units.units, seen.tasks, self.page.now, over=seen.over, critical=seen.critical
        )


def run_of(request: Request) -> RunId:
    """Raises `RunNotFound`."""
    text = str(request.path_params["run"])
    try:
        return RunId.parse(text)
    except InvalidId as error:
        raise RunNotFound(text) from error


async def sight_of(desk: PageContext, request: Request, step: str | None = None) -> Sight:
    """Raises `NotPermitted`, `RunNotFound`."""
    run, asked = run_of(request), request.query_params
    looked = await look(desk, run)
    find = asked.get("find", "").strip()[:200]
    units = units_of(looked.seen.tasks, zoom_of(asked.get("zoom", "")), find)
    way = Way(f"/runs/{run}", ".".join(map(str, units.zoom)), find)
    return Sight(desk, looked, way, units, step or asked.get("step") or None)


async def page_values(sight: Sight) -> dict[str, Any]:
    desk, looked = sight.page, sight.looked
    plan = await plan_of(desk, looked.seen)
    intent = plan.get("intent")
    return {
        **head_values(sight),
        **await inspector_values(sight, plan),
        "plan": plan_view(sight.units, desk.now, sight.way, _name(sight.chosen)),
        "timeline": sight.timeline,
        "who": await name_of_principal(desk, looked.seen.principal),
        "wish": intent
        if isinstance(intent, str)
        else _asked(looked.seen) or await question_of(desk, looked.seen),
        "source": plan.get("code") if looked.seen.kind == "program" else None,
    }


def head_values(sight: Sight) -> dict[str, Any]:
    desk, seen = sight.page, sight.seen
    waits = asks(seen.tasks)
    person = desk.caller.kind is PrincipalKind.PERSON
    return {
        "run": seen,
        "way": sight.way,
        "units": sight.units,
        "badge_of": status_badge(seen, None if waits is None else waits.state),
        "figures": figures_of(seen, desk.now),
        "may": powers_of(seen, desk.caller, person=person),
    }


async def inspector_values(sight: Sight, plan: Mapping[str, Any]) -> dict[str, Any]:
    task = sight.chosen
    if task is None:
        return {"step": None, "problem": None, "typed": None}
    view = await step_view(sight.page, sight.looked, task, plan)
    return {"step": view, "problem": None, "typed": None}


def part_values(sight: Sight, asked: Mapping[str, str]) -> dict[str, Any]:
    """Of the steps that something happened to, and of those that could begin because of it."""
    units, now, timeline = sight.units, sight.page.now, sight.timeline
    told, more = _changed(sight, asked.get("steps", ""))
    anew = []
    if asked.get("shape") != units.shape:
        anew, told, more = ["plan", "timeline"], [], []
    elif asked.get("scale") != timeline.scale:
        anew = ["timeline"]
    task = sight.chosen
    mark = None if task is None else f"{task.name} {mark_of(task)}"
    if mark != asked.get("mark") and mark is not None:
        anew.append("inspector")
    return {
        **head_values(sight),
        "nodes": nodes_at(units, told, now, sight.way, _name(task)),
        "rows": [] if "timeline" in anew else [(at, timeline.rows[at]) for at in told],
        "timeline": timeline,
        "anew": anew,
        "more": more,
        "picked": _name(task),
    }


def _changed(sight: Sight, text: str) -> tuple[Sequence[int], Sequence[str]]:
    """The numbers of the units, and the names that have to be asked for again."""
    units = sight.units.units
    if text == "*":
        names = [unit.first.name for unit in units]
    else:
        names = [owner_of(name, sight.seen.kind) for name in text.split(",") if name]
    place = {task.name: at for at, unit in enumerate(units) for task in unit.tasks}
    after: dict[str, list[int]] = {}
    for at, unit in enumerate(units):
        for need in unit.needs:
            after.setdefault(need, []).append(at)
    found: dict[int, None] = {}
    for name in names[:_MOST_ASKED]:
        here = place.get(name)
        if here is not None:
            found |= {here: None} | dict.fromkeys(after.get(units[here].key, ()))
    numbers = list(found)
    rest = [units[at].first.name for at in numbers[MOST_PARTS:]]
    return numbers[:MOST_PARTS], [*rest, *names[_MOST_ASKED:]]


def _name(task: Task | None) -> str | None:
    return None if task is None else task.name


def _asked(seen: RunView) -> str | None:
    """What an agent was asked."""
    said = () if seen.trace is None else seen.trace.said
    return said[0].text if said else None


_EVENTS = 200
_MOST = 10_000


async def exported(desk: PageContext, run: RunId) -> JsonObject:
    """Raises `NotPermitted`, `RunNotFound`."""
    looked = await look(desk, run)
    seen = looked.seen
    whole: dict[str, JsonValue] = {
        "run": {
            "id": seen.id,
            "kind": seen.kind,
            "name": seen.name,
            "status": seen.status,
            "principal": seen.principal,
            "label": seen.label,
            "created_at": seen.created_at.isoformat(),
            "started_at": None if seen.started_at is None else seen.started_at.isoformat(),
            "finished_at": None if seen.finished_at is None else seen.finished_at.isoformat(),
            "forked_from": seen.forked_from,
        },
        "output": seen.output,
        "journal": [_row(row) for row in looked.journal],
    }
    if looked.run is not None:
        whole["run"] = {**_object(whole["run"]), **_more(looked.run)}
        whole["events"] = await _events(desk, run)
    if seen.kind == "workflow":
        report = await desk.services.gateway.workflows.show_workflow(desk.at(PLACE), run)
        whole["workflow"] = report.as_json()
    return whole


async def _events(desk: PageContext, run: RunId) -> list[JsonValue]:
    read, found = desk.services.use.read_run_events, list[JsonValue]()
    after: str | None = None
    while len(found) < _MOST:
        page = await read(desk.at(PLACE), run, after, _EVENTS)
        found += [event_json(entry) for entry in page.entries]
        if page.next is None or len(page.entries) < _EVENTS:
            break
        after = page.next
    return found


def _more(run: Run) -> JsonObject:
    failure = None if run.failure is None else run.failure.as_json()
    return {"input": shown(run.kind, run.input), "result": run.result, "error": failure}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _row(row: Step) -> JsonObject:
    return {
        "name": row.name,
        "state": str(row.state),
        "started_at": row.started_at.isoformat(),
        "finished_at": None if row.finished_at is None else row.finished_at.isoformat(),
        "output": row.output,
        "error": None if row.failure is None else row.failure.as_json(),
    }


_MOST_JSON: Final = 500_000
_STEP: Final = 300


@dataclass(frozen=True, slots=True)
class Refused:
    problem: PorticoError
    typed: str | None = None
    """What was written, and cannot be read."""


class Drawing(Protocol):
    async def __call__(
        self,
        request: Request,
        desk: PageContext,
        *,
        step: str | None = None,
        refused: Refused | None = None,
    ) -> Response:
        """The page again, with what was wrong."""
        ...


RunAction = Callable[[PageContext, RunId, Form], Awaitable[str]]
"""Does it, and says where to look then."""


async def _answer(desk: PageContext, run: RunId, form: Form) -> str:
    kind = answer_kind(form.maybe("answer", most=20) or "")
    reply = Reply(kind=kind, via=Via.WEB, reason=form.maybe("reason", most=500))
    await _answered(desk, form, reply)
    return _back(run, form, str(kind))


async def _edit(desk: PageContext, run: RunId, form: Form) -> str:
    """Yes, but with other arguments."""
    reply = Reply(kind=AnswerKind.ONCE, via=Via.WEB, arguments=_arguments(form))
    await _answered(desk, form, reply)
    return _back(run, form, "edited")


async def _answered(desk: PageContext, form: Form, reply: Reply) -> None:
    which = ApprovalId.parse(form.text("approval", most=64))
    given: JsonObject = {
        "approval": str(which),
        "answer": str(reply.kind),
        "reason": reply.reason,
        "arguments": reply.arguments,
    }

    async def action() -> StoredResponse:
        use = desk.services.gateway.approvals
        told = await use.answer_approval(desk.caller, which, reply)
        return StoredResponse({"approval": str(told.id)})

    ask = WriteRequest("console.runs.answer", given, form.once)
    await desk.services.use.do_once(desk.caller, ask, action)


def _arguments(form: Form) -> JsonObject:
    """Raises `InvalidForm`."""
    try:
        found: JsonValue = json.loads(form.text("arguments", most=_MOST_JSON))
    except (ValueError, RecursionError) as error:
        raise InvalidForm("arguments", "must be JSON: an object with all of them") from error
    if not isinstance(found, Mapping):
        raise InvalidForm("arguments", "must be an object: { … }")
    return found


async def _resolve(desk: PageContext, run: RunId, form: Form) -> str:
    outcome = resolution(form.maybe("outcome", most=20) or "")
    call = form.text("call", most=_STEP)
    await desk.services.gateway.workflows.resolve_step(desk.caller, run, call, outcome)
    return _back(run, form, str(outcome))


async def _cancel(desk: PageContext, run: RunId, _form: Form) -> str:
    found, _ = await desk.services.use.show_run(desk.caller, run)
    await cancel_one(desk, found)
    return _to(run, "cancelled")


async def cancel_one(desk: PageContext, run: Run) -> None:
    """As its own room ends it. Raises what that raises."""
    house, caller = desk.services, desk.caller
    match run.kind:
        case "workflow" | "program":
            await house.gateway.workflows.cancel_workflow(caller, run.id)
        case "agent":
            await house.agent_runs.stop_run(caller, run.id)
        case "debate" | "analysis":
            which = DebateId.parse(str(run.input.get("debate")))
            await house.debates.stop_debate(caller, which)
        case _:
            await house.use.cancel_run(caller, run.id)


async def _resume(desk: PageContext, run: RunId, _form: Form) -> str:
    found, _ = await desk.services.use.show_run(desk.caller, run)
    house, caller = desk.services, desk.caller
    match found.kind:
        case "workflow" | "program":
            await house.gateway.workflows.resume_workflow(caller, run)
        case "agent":
            await house.agent_runs.resume_agent_run(caller, run)
        case _:
            await house.use.resume_run(caller, run)
    return _to(run, "resumed")


async def _fork(desk: PageContext, run: RunId, form: Form) -> str:
    found, _ = await desk.services.use.show_run(desk.caller, run)
    step = form.text("step", most=_STEP)
    if found.kind == "workflow":
        fork = desk.services.gateway.workflows.fork_workflow
        started = await fork(desk.caller, run, step=step, key=form.once)
    else:
        started = await desk.services.use.fork_run(desk.caller, run, step=step, key=form.once)
    return _to(started.run.id, "forked")


async def _rerun(desk: PageContext, run: RunId, form: Form) -> str:
    """Of a plan, a fork from all the steps that it begins with: all of it is done anew."""
    looked = await look(desk, run)
    if looked.seen.kind == "workflow":
        roots: dict[str, JsonObject] = {
            task.name: {} for task in looked.seen.tasks if not task.needs
        }
        fork = desk.services.gateway.workflows.fork_workflow
        started = await fork(desk.caller, run, arguments=roots, key=form.once)
    else:
        found, _ = await desk.services.use.show_run(desk.at(PLACE), run)
        wish = RunSpec(kind=found.kind, input=found.input, key=form.once, label=found.label)
        started = await desk.services.use.start_run(desk.caller, wish)
    return _to(started.run.id, "again")


def _to(run: RunId, said: str) -> str:
    return f"/runs/{run}?done={said}"


def _back(run: RunId, form: Form, said: str) -> str:
    step = form.maybe("step", most=_STEP)
    chosen = f"&step={quote(step, safe='')}" if step else ""
    return f"{_to(run, said)}{chosen}"


def action_routes(drawn: Drawing) -> list[Route]:
    """Whatever goes wrong is told on the page that it was asked from."""

    def endpoint(act: RunAction) -> Callable[[Request], Awaitable[Response]]:
        async def acted(request: Request) -> Response:
            desk, run, form = page_context(request), run_of(request), await form_of(request)
            try:
                return done(await act(desk, run, form))
            except PorticoError as error:
                typed = form.fields.get("arguments", [None])[0]
                step = form.fields.get("step", [None])[0]
                return await drawn(request, desk, step=step, refused=Refused(error, typed))

        return acted

    acts: Mapping[str, RunAction] = {
        "answer": _answer,
        "edit": _edit,
        "resolve": _resolve,
        "cancel": _cancel,
        "resume": _resume,
        "fork": _fork,
        "rerun": _rerun,
    }
    return [
        Route(f"/runs/{{run}}/{name}", endpoint(act), methods=["POST"])
        for name, act in acts.items()
    ]


_EVENTS_SHOWN: Final = 100
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
    return await drawn(request, page_context(request))


async def show_step(request: Request) -> Response:
    """The inspector; without a script, the page with that step chosen."""
    desk, step = page_context(request), str(request.path_params["step"])
    if not wants_part(request):
        return await drawn(request, desk, step=step)
    sight = await sight_of(desk, request, step)
    values = await inspector_values(sight, await plan_of(desk, sight.seen))
    return part(request, "run/_inspector.html", {**head_values(sight), **values})


async def drawn(
    request: Request, desk: PageContext, *, step: str | None = None, refused: Refused | None = None
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
    sight = await sight_of(page_context(request), request)
    return part(request, "run/_parts.html", part_values(sight, request.query_params))


async def show_plan(request: Request) -> Response:
    sight = await sight_of(page_context(request), request)
    task = sight.chosen
    picked = None if task is None else task.name
    view = plan_view(sight.units, sight.page.now, sight.way, picked)
    return part(request, "run/_plan.html", {**head_values(sight), "plan": view})


async def show_timeline(request: Request) -> Response:
    sight = await sight_of(page_context(request), request)
    task = sight.chosen
    values = {"timeline": sight.timeline, "picked": None if task is None else task.name}
    return part(request, "run/_timeline.html", {**head_values(sight), **values})


async def show_log(request: Request) -> Response:
    desk, run = page_context(request), run_of(request)
    after = request.query_params.get("after") or None
    events = await desk.services.use.read_run_events(desk.at(PLACE), run, after, _EVENTS_SHOWN)
    older = f"/runs/{run}/log?after={quote(events.next or '')}"
    values = {
        "id": str(run),
        "events": [(entry, event_json(entry)["facts"]) for entry in events.entries],
        "trimmed": events.trimmed,
        "next": older if events.next and len(events.entries) == _EVENTS_SHOWN else None,
    }
    if wants_part(request):
        return part(request, "run/_log.html", values)
    return await page(request, "run/log.html", values, title="Events")


async def show_output(request: Request) -> Response:
    """All that a step gave, page by page."""
    desk = page_context(request)
    looked = await look(desk, run_of(request))
    step, number = request.query_params.get("step", ""), request.query_params.get("page", "1")
    found = await output_page(desk, looked, step, int(number) if number.isdigit() else 1)
    values = {"run": looked.seen, "step": step, "found": found}
    return await page(request, "run/output.html", values, title="Output")


async def export(request: Request) -> Response:
    """All of it that whoever asks may see, as a file."""
    desk, run = page_context(request), run_of(request)
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
    *action_routes(drawn),
]
