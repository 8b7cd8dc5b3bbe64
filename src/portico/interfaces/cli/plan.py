"""Plans: have one suggested, check those in files, describe them to an editor, write them in the
other language."""

import json
from pathlib import Path
from typing import Any, Final, Literal

from cyclopts import App

from portico.interfaces.cli.dry_run import dry_rows, summary
from portico.interfaces.cli.errors import BadUsage, FileInTheWay
from portico.interfaces.cli.plan_file import PlanGiven, faults_located, given
from portico.interfaces.cli.propose import propose
from portico.interfaces.cli.server import NoAnswer, NoKey, NotReached, NotRunning, Server
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.workflows.core.plan import BadPlan, Plan, PlanFault
from portico.workflows.core.plan_documents import plan_schema, read_plan
from portico.workflows.core.plan_files import PlanFormat, plan_text

app = App(
    name="plan",
    usage='Usage: portico plan "INTENT" [OPTIONS]\n       portico plan COMMAND [OPTIONS]',
    help="Have plans suggested; check, describe, convert, complete them.",
    help_format="plaintext",
    default_parameter=PLAIN,
)
app.command(propose, name="propose", sort_key=4)

_ALONE: Final = "Only its form was checked, not its tools and what they take: "


@app.default
def suggest(
    intent: str | None = None,
    /,
    *,
    why: bool = False,
    write: Path | None = None,
    replace: bool = False,
    at: At,
) -> None:
    """Say what you want, and see a plan for it; nothing of it is run that changes anything.

    From plans that went well before for the like, from the tools that there are, and from what
    became what. Its arguments are what you say and what its steps give; what is missing is said.

    portico plan "read notes/todo.md and list the files of src" --why

    Parameters
    ----------
    intent
        In a sentence or two, with the values that it needs.
    why
        Also say where everything in it comes from, what leads to what, and what could be instead.
    write
        Into this file, .toml or .json, to be changed and run.
    replace
        Also if there is such a file already.
    """
    from portico.interfaces.cli.suggest import show_suggestion

    if intent is None:
        app.help_print()
        return
    show_suggestion(intent, at, why=why, write=write, replace=replace)


@app.command(name="check", sort_key=1)
def check(file: str, /, *, at: At) -> None:
    """Say everything that is wrong with a plan, each with its line; nothing is run.

    Tools, what they take and what would need approval are looked up at the running server. Without
    one only the form is checked, which is said.

    Parameters
    ----------
    file
        plan.toml or plan.json, or - for one at standard input.
    """
    what = _plan_in(file)
    with faults_located(what):
        plan = read_plan(what.document, at.house.expressions())
        try:
            checked = Server(at.house).post("/workflows/check", {"plan": what.document})
        except (NotRunning, NotReached, NoAnswer, NoKey) as error:
            _checked_alone(plan, error, at)
            return
        if not checked["ok"]:
            raise _refused(checked)
    rows = dry_rows(checked["steps"], drawn=at.for_a_person)
    found = {**checked, "checked_tools": True}
    at.table(["step", "tool", "effect", "asks"], rows, found, fold=["asks"])
    for line in summary(checked):
        at.say(line)


@app.command(name="schema", sort_key=2)
def schema(*, at: At) -> None:
    """The JSON Schema of a plan, for an editor: portico plan schema > plan.schema.json"""
    found = plan_schema()
    at.data(found, json.dumps(found, ensure_ascii=False, indent=2))


@app.command(name="convert", sort_key=3)
def convert(
    file: str,
    /,
    *,
    to: Literal["json", "toml"] | None = None,
    output: Path | None = None,
    replace: bool = False,
    at: At,
) -> None:
    """Write a plan in the other language: JSON as TOML, TOML as JSON. Comments are not kept.

    portico plan convert digest.json --output digest.toml

    Parameters
    ----------
    file
        plan.toml or plan.json, or - for one at standard input.
    to
        Which one it shall be; without this the one that it is not.
    output
        Into this file, instead of to standard output.
    replace
        Also if there is such a file already.
    """
    what = _plan_in(file)
    with faults_located(what):
        plan = read_plan(what.document, at.house.expressions())
    other = PlanFormat.JSON if what.form is PlanFormat.TOML else PlanFormat.TOML
    text = plan_text(plan, other if to is None else PlanFormat(to))
    if output is None:
        print(text, end="")
        return
    if output.exists() and not replace:
        raise FileInTheWay(output)
    output.write_text(text, encoding="utf-8")
    at.say(f"{output} is written.")


def _plan_in(file: str) -> PlanGiven:
    """Raises `BadUsage`, `BadPlan`."""
    found = given(file)
    if not isinstance(found, PlanGiven):
        raise BadUsage(f"{file} is no file with a plan.", fix="A plan is .json or .toml.")
    return found


def _checked_alone(plan: Plan, error: PorticoError, at: Terminal) -> None:
    found: JsonObject = {
        "ok": True,
        "checked_tools": False,
        "steps": [step.id for step in plan.steps],
    }
    at.data(found, f"The form of its {len(plan.steps)} steps is right.")
    at.say(f"{_ALONE}{error} {error.fix}")


def _refused(checked: dict[str, Any]) -> BadPlan:
    return BadPlan(PlanFault(each["place"], each["what"], each["fix"]) for each in checked["flaws"])
