"""`portico plan`: check, describe, dry-run, convert, complete."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from cyclopts import App

from portico.interfaces.cli.errors import FileInTheWay, InvalidUsage
from portico.interfaces.cli.plan_files import PlanInput, faults_located, given
from portico.interfaces.cli.server import NoAnswer, NoKey, NotReached, NotRunning, Server
from portico.interfaces.cli.suggestions import propose
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, shown
from portico.interfaces.cli.workflow_view import laid_out, ordered
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.workflows.core.plan import InvalidPlan, Plan, PlanDiagnostic
from portico.workflows.core.plan_documents import plan_schema, read_plan
from portico.workflows.core.plan_files import PlanFormat, plan_text

Told = Mapping[str, Any]


def show_dry(checked: Told, at: Terminal) -> None:
    """Raises `InvalidPlan`."""
    if not checked["ok"]:
        raise refused(checked["flaws"])
    rows = dry_rows(checked["steps"], drawn=at.for_a_person)
    at.table(["step", "tool", "effect", "asks"], rows, dict(checked), fold=["asks"])
    if at.for_a_person:
        print()
    if not at.json:
        for line in summary(checked):
            at.say(line)


def dry_rows(steps: Sequence[Told], *, drawn: bool) -> Sequence[dict[str, Any]]:
    """In the order of the tree, and in its form if it is `drawn`."""
    by_id = {step["id"]: step for step in steps}
    tree = laid_out({step["id"]: step["needs"] for step in steps})
    return [
        {
            "step": ("".join(branch.guides) if drawn else "") + branch.step,
            "tool": by_id[branch.step]["tool"],
            "effect": by_id[branch.step]["effect"],
            "asks": _asks(by_id[branch.step]["approval"]),
        }
        for branch in tree
    ]


def summary(checked: Told) -> Sequence[str]:
    steps = checked["steps"]
    asking = [step["id"] for step in steps if step["approval"]]
    widest = max(Counter(_levels(steps).values()).values(), default=0)
    path = " → ".join(checked["critical_path"])
    return [
        f"{len(steps)} steps, up to {widest} at once; nothing was done.",
        f"One after the other at least: {shown(path)}",
        f"At worst: {checked['effect']}",
        f"Would ask somebody: {', '.join(asking) or 'none'}",
    ]


def refused(flaws: Sequence[Told]) -> InvalidPlan:
    return InvalidPlan(
        PlanDiagnostic(
            flaw["place"], flaw["what"], flaw["fix"], flaw.get("line"), flaw.get("column")
        )
        for flaw in flaws
    )


def _asks(approval: Told | None) -> str:
    return f"{approval['reason']} ({approval['rule']})" if approval else "-"


def _levels(steps: Sequence[Told]) -> Mapping[str, int]:
    """How many steps must be over before each, at least."""
    needs = {step["id"]: step["needs"] for step in steps}
    levels: dict[str, int] = {}
    for step in ordered(needs):
        levels[step] = 1 + max((levels[each] for each in needs[step] if each in levels), default=-1)
    return levels


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
    from portico.interfaces.cli.suggestions import show_suggestion

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
        plan = read_plan(what.document, at.services.expressions())
        try:
            checked = Server(at.services).post("/workflows/check", {"plan": what.document})
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
        plan = read_plan(what.document, at.services.expressions())
    other = PlanFormat.JSON if what.form is PlanFormat.TOML else PlanFormat.TOML
    text = plan_text(plan, other if to is None else PlanFormat(to))
    if output is None:
        print(text, end="")
        return
    if output.exists() and not replace:
        raise FileInTheWay(output)
    output.write_text(text, encoding="utf-8")
    at.say(f"{output} is written.")


def _plan_in(file: str) -> PlanInput:
    """Raises `InvalidUsage`, `InvalidPlan`."""
    found = given(file)
    if not isinstance(found, PlanInput):
        raise InvalidUsage(f"{file} is no file with a plan.", fix="A plan is .json or .toml.")
    return found


def _checked_alone(plan: Plan, error: PorticoError, at: Terminal) -> None:
    found: JsonObject = {
        "ok": True,
        "checked_tools": False,
        "steps": [step.id for step in plan.steps],
    }
    at.data(found, f"The form of its {len(plan.steps)} steps is right.")
    at.say(f"{_ALONE}{error} {error.fix}")


def _refused(checked: dict[str, Any]) -> InvalidPlan:
    return InvalidPlan(
        PlanDiagnostic(each["place"], each["what"], each["fix"]) for each in checked["flaws"]
    )
