"""Workflows, from the command line: those that run, and those that are kept for later."""

import json
from itertools import islice
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.interfaces.cli.errors import BadUsage, NeedsYes
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.plan_file import PlanGiven, arguments_set, faults_located, given
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.run_words import took
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At
from portico.interfaces.cli.workflow_follow import followed_to_the_end
from portico.interfaces.cli.workflow_names import find_workflow
from portico.interfaces.cli.workflow_words import show_workflow

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
        raise BadUsage("--limit must be at least 1.")
    pages = Server(at.house).pages("/workflows", limit=min(limit, 200), status=status)
    found = list(islice(pages, limit))
    rows = [
        each
        | {
            "name": each["name"] or ("(a program)" if each["kind"] == "program" else None),
            "started": each["started_at"],
            "took": took(each["started_at"], each["finished_at"]),
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
    server = Server(at.house)
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
    server = Server(at.house)
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
        raise BadUsage("Say from which step, or what to set.", fix="Such as: --from read")
    server = Server(at.house)
    body: dict[str, Any] = {"arguments": arguments_set(set_ or [])}
    if from_ is not None:
        body["step"] = from_
    made = server.post(path_to("workflows", find_workflow(server, run), "fork"), body)
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
    server = Server(at.house)
    body = {"step": step, "outcome": outcome}
    found = server.post(path_to("workflows", find_workflow(server, run), "resolve"), body)
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
    if not isinstance(what, PlanGiven):
        raise BadUsage("Only a plan can be saved.", fix="It is a file that ends in .toml or .json.")
    body: dict[str, Any] = {"plan": what.document}
    if description is not None:
        body["description"] = description
    with faults_located(what):
        made = Server(at.house).put(path_to("saved-workflows", name), body)
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
    server = Server(at.house)
    if name is not None:
        _show_saved(server.get(path_to("saved-workflows", name)), at)
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
        raise NeedsYes(question)
    Server(at.house).delete(path_to("saved-workflows", name))
    at.data({"name": name}, f"{name} is gone.")


def _show_saved(found: dict[str, Any], at: At) -> None:
    if at.json:
        at.data(found, "")
        return
    at.facts({key: value for key, value in found.items() if key not in _LONG})
    if found["plan"] is None:
        at.say("Its plan is not shown to you: of what it calls, your key may not use everything.")
    else:
        print(json.dumps(found["plan"], ensure_ascii=False, indent=2))


def _step_in(at: At, run: str, verb: str) -> None:
    server = Server(at.house)
    found = server.post(path_to("workflows", find_workflow(server, run), verb))
    at.data(found, f"{found['run']} is {found['status']}.")
