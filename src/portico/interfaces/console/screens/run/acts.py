"""What is done about a run from its page: answer, resolve, cancel, take up, fork, run again."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.debate.core.debates import DebateId
from portico.engine.core.idempotency import Answer
from portico.engine.core.runs import Run
from portico.engine.idempotency import Ask
from portico.engine.runs import RunWish
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via, answer_kind, resolution
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done
from portico.interfaces.console.screens.run.drawing import run_of
from portico.interfaces.console.screens.run.look import PLACE, look
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue

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
        desk: Desk,
        *,
        step: str | None = None,
        refused: Refused | None = None,
    ) -> Response:
        """The page again, with what was wrong."""
        ...


Act = Callable[[Desk, RunId, Form], Awaitable[str]]
"""Does it, and says where to look then."""


async def _answer(desk: Desk, run: RunId, form: Form) -> str:
    kind = answer_kind(form.maybe("answer", most=20) or "")
    reply = Reply(kind=kind, via=Via.WEB, reason=form.maybe("reason", most=500))
    await _answered(desk, form, reply)
    return _back(run, form, str(kind))


async def _edit(desk: Desk, run: RunId, form: Form) -> str:
    """Yes, but with other arguments."""
    reply = Reply(kind=AnswerKind.ONCE, via=Via.WEB, arguments=_arguments(form))
    await _answered(desk, form, reply)
    return _back(run, form, "edited")


async def _answered(desk: Desk, form: Form, reply: Reply) -> None:
    which = ApprovalId.parse(form.text("approval", most=64))
    given: JsonObject = {
        "approval": str(which),
        "answer": str(reply.kind),
        "reason": reply.reason,
        "arguments": reply.arguments,
    }

    async def action() -> Answer:
        use = desk.house.gateway.approvals
        told = await use.answer_approval(desk.caller, which, reply)
        return Answer({"approval": str(told.id)})

    ask = Ask("console.runs.answer", given, form.once)
    await desk.house.use.do_once(desk.caller, ask, action)


def _arguments(form: Form) -> JsonObject:
    """Raises `BadForm`."""
    try:
        found: JsonValue = json.loads(form.text("arguments", most=_MOST_JSON))
    except (ValueError, RecursionError) as error:
        raise BadForm("arguments", "must be JSON: an object with all of them") from error
    if not isinstance(found, Mapping):
        raise BadForm("arguments", "must be an object: { … }")
    return found


async def _resolve(desk: Desk, run: RunId, form: Form) -> str:
    outcome = resolution(form.maybe("outcome", most=20) or "")
    call = form.text("call", most=_STEP)
    await desk.house.gateway.workflows.resolve_step(desk.caller, run, call, outcome)
    return _back(run, form, str(outcome))


async def _cancel(desk: Desk, run: RunId, _form: Form) -> str:
    found, _ = await desk.house.use.show_run(desk.caller, run)
    await cancel_one(desk, found)
    return _to(run, "cancelled")


async def cancel_one(desk: Desk, run: Run) -> None:
    """As its own room ends it. Raises what that raises."""
    house, caller = desk.house, desk.caller
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


async def _resume(desk: Desk, run: RunId, _form: Form) -> str:
    found, _ = await desk.house.use.show_run(desk.caller, run)
    house, caller = desk.house, desk.caller
    match found.kind:
        case "workflow" | "program":
            await house.gateway.workflows.resume_workflow(caller, run)
        case "agent":
            await house.agent_runs.resume_agent_run(caller, run)
        case _:
            await house.use.resume_run(caller, run)
    return _to(run, "resumed")


async def _fork(desk: Desk, run: RunId, form: Form) -> str:
    found, _ = await desk.house.use.show_run(desk.caller, run)
    step = form.text("step", most=_STEP)
    if found.kind == "workflow":
        fork = desk.house.gateway.workflows.fork_workflow
        started = await fork(desk.caller, run, step=step, key=form.once)
    else:
        started = await desk.house.use.fork_run(desk.caller, run, step=step, key=form.once)
    return _to(started.run.id, "forked")


async def _rerun(desk: Desk, run: RunId, form: Form) -> str:
    """Of a plan, a fork from all the steps that it begins with: all of it is done anew."""
    looked = await look(desk, run)
    if looked.seen.kind == "workflow":
        roots: dict[str, JsonObject] = {
            task.name: {} for task in looked.seen.tasks if not task.needs
        }
        fork = desk.house.gateway.workflows.fork_workflow
        started = await fork(desk.caller, run, arguments=roots, key=form.once)
    else:
        found, _ = await desk.house.use.show_run(desk.at(PLACE), run)
        wish = RunWish(kind=found.kind, input=found.input, key=form.once, label=found.label)
        started = await desk.house.use.start_run(desk.caller, wish)
    return _to(started.run.id, "again")


def _to(run: RunId, said: str) -> str:
    return f"/runs/{run}?done={said}"


def _back(run: RunId, form: Form, said: str) -> str:
    step = form.maybe("step", most=_STEP)
    chosen = f"&step={quote(step, safe='')}" if step else ""
    return f"{_to(run, said)}{chosen}"


def routes(drawn: Drawing) -> list[Route]:
    """Whatever goes wrong is told on the page that it was asked from."""

    def endpoint(act: Act) -> Callable[[Request], Awaitable[Response]]:
        async def acted(request: Request) -> Response:
            desk, run, form = desk_of(request), run_of(request), await form_of(request)
            try:
                return done(await act(desk, run, form))
            except PorticoError as error:
                typed = form.fields.get("arguments", [None])[0]
                step = form.fields.get("step", [None])[0]
                return await drawn(request, desk, step=step, refused=Refused(error, typed))

        return acted

    acts: Mapping[str, Act] = {
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
