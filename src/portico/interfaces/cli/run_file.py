"""`portico run`: carry out a plan, a program or a saved workflow, and look on."""

from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.plan_file import (
    Given,
    NameGiven,
    PlanGiven,
    ProgramGiven,
    SuggestionGiven,
    faults_located,
    given,
    inputs_given,
    with_set,
)
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At
from portico.interfaces.cli.workflow_follow import followed_to_the_end
from portico.interfaces.cli.workflow_names import find_workflow

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
    server = Server(at.house, context=context)
    if [file, attach, suggestion].count(None) != _OTHERS:
        raise BadUsage(
            "Say one thing to run: a file or a name, --suggestion, or --attach.",
            fix="portico run plan.toml",
        )
    if attach is not None:
        found = find_workflow(server, attach)
        return followed_to_the_end(server, found, at, events=watch, stay=wait)
    what = SuggestionGiven(suggestion) if suggestion is not None else given(str(file))
    what = _changed(server, what, set_ or [])
    inputs = inputs_given(input_ or [])
    if dry_run:
        _try_dry(server, what, at)
        return None
    if accept and isinstance(what, ProgramGiven):
        raise BadUsage("A program has no edges to accept.")
    if intent is not None and not isinstance(what, PlanGiven):
        raise BadUsage("Only of a plan in a file it is said what it is for.")
    body = {"inputs": inputs, "mode": mode, "label": label, "accept": accept, "intent": intent}
    made = _started(server, what, {k: v for k, v in body.items() if v is not None}, key)
    name = str(made["run"])
    if detach:
        at.say(f"To look on: portico run --attach {name[-SHORT:]}")
        at.data(made, name)
        return None
    return followed_to_the_end(server, name, at, events=watch, stay=wait)


def _changed(server: Server, what: Given, pairs: list[str]) -> Given:
    """A saved workflow with other arguments is a plan of its own."""
    match what:
        case _ if not pairs:
            return what
        case PlanGiven():
            return with_set(what, pairs)
        case NameGiven(name):
            return with_set(PlanGiven(_saved(server, name)), pairs)
        case ProgramGiven():
            raise BadUsage("A program has no steps to set.", fix="Give it --input NAME=VALUE.")
        case SuggestionGiven():
            fix = 'Write it down, change it and run that: portico plan "…" --write plan.toml'
            raise BadUsage("A suggestion is run as it is.", fix=fix)


def _started(server: Server, what: Given, body: dict[str, Any], key: str | None) -> Any:  # noqa: ANN401 # JSON, as it is
    match what:
        case PlanGiven():
            with faults_located(what):
                return server.post("/workflows", {**body, "plan": what.document}, key=key)
        case NameGiven(name):
            return server.post("/workflows", {**body, "name": name}, key=key)
        case ProgramGiven(code):
            return server.post("/programs", {**body, "code": code}, key=key)
        case SuggestionGiven(suggestion):
            return server.post("/workflows", {**body, "suggestion": suggestion}, key=key)


def _try_dry(server: Server, what: Given, at: At) -> None:
    from portico.interfaces.cli.dry_run import show_dry

    match what:
        case PlanGiven():
            plan = what
        case NameGiven(name):
            plan = PlanGiven(_saved(server, name))
        case ProgramGiven():
            raise BadUsage("What a program would do shows only when it runs.")
        case SuggestionGiven():
            raise BadUsage(
                "What it would do stands where it was suggested.",
                fix='Write it down first: portico plan "…" --write plan.toml',
            )
    with faults_located(plan):
        show_dry(server.post("/workflows/check", {"plan": plan.document}), at)


def _saved(server: Server, name: str) -> dict[str, Any]:
    plan: dict[str, Any] | None = server.get(path_to("saved-workflows", name))["plan"]
    if plan is None:
        fix = "Run it as it is; of what it calls, your key may not use everything."
        raise BadUsage(f"The plan of {name} is not shown to you.", fix=fix)
    return plan
