"""`portico run` and `workflows`: run a plan or a program, show, control, save."""

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.errors import (
    ConfirmationRequired,
    Exit,
    InvalidUsage,
    WorkflowNotDone,
    WorkflowWaits,
)
from portico.interfaces.cli.plan_files import (
    NameInput,
    PlanInput,
    PlanSource,
    ProgramInput,
    SuggestionInput,
    arguments_set,
    faults_located,
    given,
    inputs_given,
    with_set,
)
from portico.interfaces.cli.run_text import LATEST, SHORT, find_run, named
from portico.interfaces.cli.run_text import took as run_took
from portico.interfaces.cli.server import ReceivedEvent as ServerTold
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.interfaces.cli.tools import whole_result
from portico.interfaces.cli.workflow_events import Bell, Followed, Notice, Over, heard, listening
from portico.interfaces.cli.workflow_view import (
    SIGNS,
    State,
    StepView,
    WorkflowView,
    label,
    notes,
    took,
)
from portico.kernel.errors import PorticoError


def find_workflow(server: Server, text: str) -> str:
    """The run's whole id; a program's is found among all runs. Raises `RunNotFound`,
    `InvalidUsage`."""
    lines = islice(server.pages("/workflows"), LATEST)
    try:
        return named(text, (str(each["run"]) for each in lines))
    except RunNotFound:
        return find_run(server, text)


Told = Mapping[str, Any]


def ended(followed: Followed, at: Terminal) -> int:
    """Prints what it gave. Raises `WorkflowNotDone`."""
    report = followed.report
    given = report["status"] in {"done", "partial"}
    if at.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        _print(followed, given=given)
    if report["status"] == "partial":
        at.say(_missing(followed.view))
        return Exit.PARTIAL
    if not given:
        raise WorkflowNotDone(followed.run, report["status"], _told(followed))
    return Exit.OK


def left(followed: Followed, at: Terminal, code: Exit) -> int:
    at.say(f"It goes on without you. To come back: portico run --attach {followed.run[-SHORT:]}")
    return code


def still_waits(followed: Followed) -> WorkflowWaits:
    parts = [each for step in followed.view.steps.values() for each in step.asking.items()]
    requests = [request for _, request in parts if request is not None]
    unsure = [part for part, request in parts if request is None]
    return WorkflowWaits(followed.run, requests, unsure)


def _told(followed: Followed) -> Told | None:
    """Of the step that ended it, what it said itself."""
    error: Told | None = followed.report["error"]
    step = followed.view.steps.get(str(error["step"])) if error is not None else None
    if error is None or step is None or step.why is None:
        return error
    return {**error, "message": step.why}


def _print(followed: Followed, *, given: bool) -> None:
    report = followed.report
    if report.get("printed"):
        print(str(report["printed"]).rstrip("\n"))
    if not given:
        return
    if report["output_handle"] is not None and report["output"] is None:
        print(whole_result(followed.server, report["output_handle"]))
    elif report["output"] is not None:
        print(_text(report["output"]))


def _text(output: Any) -> str:  # noqa: ANN401 # JSON of any kind
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)


def _missing(view: WorkflowView) -> str:
    """`Done but for 2 of 7: fetch failed, mail was skipped.`"""
    not_done = [step for step in view.steps.values() if step.state in {State.FAILED, State.SKIPPED}]
    some = ", ".join(_how(step) for step in not_done[:4])
    more = f" and {len(not_done) - 4} more" if len(not_done) > 4 else ""
    return f"Done but for {len(not_done)} of {len(view.steps)}: {some}{more}."


def _how(step: StepView) -> str:
    return f"{step.id} failed" if step.state is State.FAILED else f"{step.id} was skipped"


_TICK: Final = 0.2
_SILENT: Final = frozenset({State.PENDING, State.RUNNING, State.NOT_NEEDED})


def told(followed: Followed, at: Terminal, *, events: bool, stay: bool) -> bool:
    """Whether it is over; if not, it waits for somebody, and `stay` was not wished.

    `events`: to a program that asked for JSON, each as it comes.
    """
    inbox = listening(followed)
    said: dict[str, State] = {}
    while True:
        news = inbox.within(_TICK)
        match news:
            case Over():
                followed.refresh(at_once=True)
                _say(followed, at, said)
                return True
            case PorticoError():
                raise news
            case Notice(text):
                at.say(text)
            case ServerTold() | Bell():
                followed.take(news)
                _pass_on(news, at, events=events)
            case None:
                followed.refresh()
                _say(followed, at, said)
                if not stay and waits_for_people(followed):
                    return False


def waits_for_people(followed: Followed) -> bool:
    return not followed.stale and followed.report["status"] == "waiting"


def _pass_on(news: ServerTold | Bell, at: Terminal, *, events: bool) -> None:
    if events and at.json and isinstance(news, ServerTold):
        print(json.dumps(news.data, ensure_ascii=False), flush=True)


def _say(followed: Followed, at: Terminal, said: dict[str, State]) -> None:
    view = followed.view
    for branch in followed.tree:
        step = view.steps[branch.step]
        if step.state in _SILENT or said.get(step.id) is step.state:
            continue
        said[step.id] = step.state
        for line in _lines(step, view, followed):
            at.say(line)
    sys.stderr.flush()


def _lines(step: StepView, view: WorkflowView, followed: Followed) -> list[str]:
    """`✓ read  files.read  0.4 s`, and what there is to say about it."""
    head = [f"{SIGNS[step.state]} {label(step)}", step.tool, took(step, view, followed.now())]
    reason = f"({step.why})" if step.state is State.SKIPPED and step.why else ""
    below = [f"  {note.text}: {note.command}".rstrip(": ") for note in notes(step, view.run)]
    return ["  ".join(part for part in [*head, reason] if part), *below]


def followed_to_the_end(
    server: Server, run: str, at: Terminal, *, events: bool = False, stay: bool = False
) -> int:
    """Raises `WorkflowNotDone`, `WorkflowWaits`."""
    from portico.interfaces.cli.workflow_watch import How, can_be_watched, watched

    followed = Followed.of(server, run)
    if can_be_watched(at):
        how = watched(followed, at)
        if how is not How.OVER:
            return left(followed, at, Exit.INTERRUPTED)
        return ended(followed, at)
    try:
        over = told(followed, at, events=events, stay=stay)
    except KeyboardInterrupt:
        return left(followed, at, Exit.INTERRUPTED)
    if not over:
        raise still_waits(followed)
    return ended(followed, at)


def show_workflow(server: Server, run: str, at: Terminal) -> None:
    followed = Followed.of(server, run)
    if at.json:
        at.data(followed.report, "")
        return
    if not followed.inline:
        for event in server.pages(api_path("runs", run, "events")):
            followed.view = heard(followed.view, event)
        followed.refresh(at_once=True)
    _draw(followed, at)
    at.details(_facts(followed.view, followed.report))


def _draw(followed: Followed, at: Terminal) -> None:
    from rich.console import Console

    from portico.interfaces.cli.workflow_watch import Frame, picture

    console = Console(highlight=False)
    frame = Frame(width=at.width or 100)
    for line in picture(followed.view, followed.tree, followed.now(), frame):
        console.print(line, soft_wrap=True)
    print()


def _facts(view: WorkflowView, report: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "run": view.run,
        "kind": view.kind,
        "mode": report["mode"],
        "label": report["label"],
        "created": report["created_at"],
        "forked_from": report["forked_from"],
        "error": None if _is_drawn(report["error"], view) else view.error,
        "printed": view.printed,
        "output": view.output,
        "output_handle": view.output_handle if view.output is None else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _is_drawn(error: dict[str, Any] | None, view: WorkflowView) -> bool:
    """Whether the picture says it already, with the step that it is about."""
    return error is not None and error["step"] in view.steps


app = App(
    name="workflows",
    help="Look at, control and save workflows.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

Status = Literal["queued", "running", "waiting", "done", "failed", "cancelled", "stuck"]
_COLUMNS: Final = ["run", "name", "status", "started", "took", "steps"]

_LONG: Final = frozenset({"plan", "input_schema"})


@app.command(name="list", sort_key=1)
def list_(*, status: list[Status] | None = None, limit: int = 20, at: At) -> None:
    """The latest workflows and programs, newest first.

    Parameters
    ----------
    status
        Only those; may be given several times.
    limit
        How many at most.
    """
    if limit < 1:
        raise InvalidUsage("--limit must be at least 1.")
    pages = Server(at.services).pages("/workflows", limit=min(limit, 200), status=status)
    found = list(islice(pages, limit))
    rows = [
        each
        | {
            "name": each["name"] or ("(a program)" if each["kind"] == "program" else None),
            "started": each["started_at"],
            "took": run_took(each["started_at"], each["finished_at"]),
            "steps": f"{each['steps_done']} of {each['steps']}" if each["steps"] else "-",
        }
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found}, right=["took", "steps"])
    if not found:
        at.say("There are none. To run one: portico run plan.toml")


@app.command(name="show", sort_key=2)
def show(run: str, /, *, at: At) -> None:
    """One workflow: its steps as a tree, when each ran, and what it gave.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.services)
    show_workflow(server, find_workflow(server, run), at)


@app.command(name="watch", sort_key=3)
def watch(run: str, /, *, wait: bool = False, at: At) -> int:
    """Look on at RUN until it is over, as `portico run` does.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    wait
        Also where nobody looks on: if it waits for somebody, until they have answered.
    """
    server = Server(at.services)
    return followed_to_the_end(server, find_workflow(server, run), at, events=True, stay=wait)


@app.command(name="cancel", sort_key=4)
def cancel(run: str, /, *, at: At) -> None:
    """End RUN; what it has done stays done, and what it asked for is withdrawn.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    _step_in(at, run, "cancel")


@app.command(name="resume", sort_key=5)
def resume(run: str, /, *, at: At) -> None:
    """Take up RUN again, which failed or was cancelled: what was done is not done again.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    _step_in(at, run, "resume")


@app.command(name="fork", sort_key=6)
def fork(
    run: str,
    /,
    *,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set")] = None,
    at: At,
) -> None:
    """Start another run that keeps what RUN has done, but for some steps; print its id.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    from_
        This step, and whatever depends on it, is done anew.
    set_
        STEP.ARGUMENT=VALUE: another value for an argument; the step and whatever depends on it is
        done anew. May be given several times.
    """
    if from_ is None and not set_:
        raise InvalidUsage("Say from which step, or what to set.", fix="Such as: --from read")
    server = Server(at.services)
    body: dict[str, Any] = {"arguments": arguments_set(set_ or [])}
    if from_ is not None:
        body["step"] = from_
    made = server.post(api_path("workflows", find_workflow(server, run), "fork"), body)
    at.say(f"To look on: portico run --attach {made['run'][-SHORT:]}")
    at.data(made, made["run"])


@app.command(name="resolve", sort_key=7)
def resolve(run: str, step: str, outcome: Literal["done", "retry", "skip"], /, *, at: At) -> None:
    """Say what became of a step that was begun and of which nobody knows whether it was done.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    step
        As `portico workflows show` names it: pay, or pay[3].
    outcome
        done: it was; retry: it was not, do it; skip: it was not, leave it.
    """
    server = Server(at.services)
    body = {"step": step, "outcome": outcome}
    found = server.post(api_path("workflows", find_workflow(server, run), "resolve"), body)
    at.data(found, f"{found['run']} is {found['status']}.")


@app.command(name="save", sort_key=8)
def save(name: str, file: str, /, *, description: str | None = None, at: At) -> None:
    """Keep a plan under a name: a tool workflows.NAME from then on.

    Parameters
    ----------
    name
        What it is called.
    file
        plan.toml or plan.json, or - for one at standard input.
    description
        What it does, for whoever looks for a tool; that of the plan if left away.
    """
    what = given(file)
    if not isinstance(what, PlanInput):
        raise InvalidUsage(
            "Only a plan can be saved.", fix="It is a file that ends in .toml or .json."
        )
    body: dict[str, Any] = {"plan": what.document}
    if description is not None:
        body["description"] = description
    with faults_located(what):
        made = Server(at.services).put(api_path("saved-workflows", name), body)
    at.data(made, made["tool"])
    at.say(f"To run it: portico run {name}; agents find it as a tool.")


@app.command(name="saved", sort_key=9)
def saved(name: str | None = None, /, *, at: At) -> None:
    """The plans that are kept, or all of one of them.

    Parameters
    ----------
    name
        Which one; all of them, in a line each, if left away.
    """
    server = Server(at.services)
    if name is not None:
        _show_saved(server.get(api_path("saved-workflows", name)), at)
        return
    lines = server.get("/saved-workflows")["data"]
    columns = ["name", "effect", "standing", "steps", "saved_at", "description"]
    at.table(columns, lines, {"data": lines}, fold=["description"])
    if not lines:
        at.say("There are none. To keep one: portico workflows save NAME plan.toml")


@app.command(name="remove", sort_key=10)
def remove(name: str, /, *, yes: bool = False, at: At) -> None:
    """Forget a plan that is kept; its tool goes with it, runs of it stay.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask.
    """
    question = f"Forget {name}? Whoever uses workflows.{name} will miss it."
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    Server(at.services).delete(api_path("saved-workflows", name))
    at.data({"name": name}, f"{name} is gone.")


def _show_saved(found: dict[str, Any], at: At) -> None:
    if at.json:
        at.data(found, "")
        return
    at.details({key: value for key, value in found.items() if key not in _LONG})
    if found["plan"] is None:
        at.say("Its plan is not shown to you: of what it calls, your key may not use everything.")
    else:
        print(json.dumps(found["plan"], ensure_ascii=False, indent=2))


def _step_in(at: At, run: str, verb: str) -> None:
    server = Server(at.services)
    found = server.post(api_path("workflows", find_workflow(server, run), verb))
    at.data(found, f"{found['run']} is {found['status']}.")


_OTHERS: Final = 2
"""Of a file, a run and a suggestion, that are not named."""


def run(  # noqa: PLR0913 # one for each flag
    file: str | None = None,
    /,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set")] = None,
    input_: Annotated[list[str] | None, Parameter(name="--input")] = None,
    accept: list[str] | None = None,
    dry_run: bool = False,
    mode: Literal["durable", "inline"] | None = None,
    watch: bool = False,
    wait: bool = False,
    detach: bool = False,
    attach: str | None = None,
    suggestion: str | None = None,
    intent: str | None = None,
    label: str | None = None,
    key: str | None = None,
    context: str | None = None,
    at: At,
) -> int | None:
    """Carry out a plan or a program, look on, and print what it gives.

    In a terminal its steps are drawn as a tree, with a line for when each ran; q leaves it running,
    c twice cancels it. Exits with 0 if all was done, 8 if not all of it, 1 if it failed, 6 if it
    waits for somebody. What was printed goes to standard output, everything else to standard error.

    Parameters
    ----------
    file
        plan.toml or plan.json, program.py, the name of a saved workflow, or - for a plan at
        standard input.
    set_
        STEP.ARGUMENT=VALUE: another value for an argument of a step, in JSON or as a text; may be
        given several times.
    input_
        NAME=VALUE, a JSON object, or @FILE with one: what it is given; may be given several times.
    accept
        A proposed edge that is meant, 'read.json.path -> write.path': for arguments that the plan
        leaves out; may be given several times. `portico plan propose` shows them.
    dry_run
        Only say what it would do: in which order, what at once, what it could change at worst, and
        which steps would ask somebody.
    mode
        inline is faster, and does not survive a restart: for plans that only read.
    watch
        Where nothing can be drawn: with --json also print every event, one object a line.
    wait
        Also where nobody looks on: if it waits for somebody, until they have answered.
    detach
        Only start it, and print its id.
    attach
        Start nothing: look on at this run, by its id or six letters of it.
    suggestion
        Instead of a file: what `portico plan` has suggested, by its id, within the hour.
    intent
        What a plan is for, in your own words and with its values: if it goes well, it is suggested
        for the like of them.
    label
        How secret it and what it gives is: public, team, confidential+finance …
    key
        Of your choice: starting twice under the same key starts one run.
    context
        The task that it is part of, as `portico contexts open` gives it.
    """
    server = Server(at.services, context=context)
    if [file, attach, suggestion].count(None) != _OTHERS:
        raise InvalidUsage(
            "Say one thing to run: a file or a name, --suggestion, or --attach.",
            fix="portico run plan.toml",
        )
    if attach is not None:
        found = find_workflow(server, attach)
        return followed_to_the_end(server, found, at, events=watch, stay=wait)
    what = SuggestionInput(suggestion) if suggestion is not None else given(str(file))
    what = _changed(server, what, set_ or [])
    inputs = inputs_given(input_ or [])
    if dry_run:
        _try_dry(server, what, at)
        return None
    if accept and isinstance(what, ProgramInput):
        raise InvalidUsage("A program has no edges to accept.")
    if intent is not None and not isinstance(what, PlanInput):
        raise InvalidUsage("Only of a plan in a file it is said what it is for.")
    body = {"inputs": inputs, "mode": mode, "label": label, "accept": accept, "intent": intent}
    made = _started(server, what, {k: v for k, v in body.items() if v is not None}, key)
    name = str(made["run"])
    if detach:
        at.say(f"To look on: portico run --attach {name[-SHORT:]}")
        at.data(made, name)
        return None
    return followed_to_the_end(server, name, at, events=watch, stay=wait)


def _changed(server: Server, what: PlanSource, pairs: list[str]) -> PlanSource:
    """A saved workflow with other arguments is a plan of its own."""
    match what:
        case _ if not pairs:
            return what
        case PlanInput():
            return with_set(what, pairs)
        case NameInput(name):
            return with_set(PlanInput(_saved(server, name)), pairs)
        case ProgramInput():
            raise InvalidUsage("A program has no steps to set.", fix="Give it --input NAME=VALUE.")
        case SuggestionInput():
            fix = 'Write it down, change it and run that: portico plan "…" --write plan.toml'
            raise InvalidUsage("A suggestion is run as it is.", fix=fix)


def _started(server: Server, what: PlanSource, body: dict[str, Any], key: str | None) -> Any:  # noqa: ANN401 # JSON, as it is
    match what:
        case PlanInput():
            with faults_located(what):
                return server.post("/workflows", {**body, "plan": what.document}, key=key)
        case NameInput(name):
            return server.post("/workflows", {**body, "name": name}, key=key)
        case ProgramInput(code):
            return server.post("/programs", {**body, "code": code}, key=key)
        case SuggestionInput(suggestion):
            return server.post("/workflows", {**body, "suggestion": suggestion}, key=key)


def _try_dry(server: Server, what: PlanSource, at: At) -> None:
    from portico.interfaces.cli.plans import show_dry

    match what:
        case PlanInput():
            plan = what
        case NameInput(name):
            plan = PlanInput(_saved(server, name))
        case ProgramInput():
            raise InvalidUsage("What a program would do shows only when it runs.")
        case SuggestionInput():
            raise InvalidUsage(
                "What it would do stands where it was suggested.",
                fix='Write it down first: portico plan "…" --write plan.toml',
            )
    with faults_located(plan):
        show_dry(server.post("/workflows/check", {"plan": plan.document}), at)


def _saved(server: Server, name: str) -> dict[str, Any]:
    plan: dict[str, Any] | None = server.get(api_path("saved-workflows", name))["plan"]
    if plan is None:
        fix = "Run it as it is; of what it calls, your key may not use everything."
        raise InvalidUsage(f"The plan of {name} is not shown to you.", fix=fix)
    return plan
