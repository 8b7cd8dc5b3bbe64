"""`portico plan "INTENT"`: say what you want, and see a plan for it."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from portico.interfaces.cli.errors import BadUsage, FileInTheWay
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_files import PlanFormat, plan_text

_COMMANDS: Final = ("check", "schema", "convert", "propose")
_FORMS: Final = {f".{form.value}": form for form in PlanFormat}
_COLUMNS: Final = ["step", "tool", "effect", "sure", "given"]

Told = Mapping[str, Any]


def check_intent(intent: str) -> None:
    """One word that is nearly a command was meant as one. Raises `BadUsage`."""
    if not intent.strip():
        raise BadUsage(
            "It is not said what you want.", fix='portico plan "read notes/todo.md and list src"'
        )
    near = get_close_matches(intent, _COMMANDS, 1)
    if near and " " not in intent.strip():
        fix = f"To be suggested a plan, say what you want in a sentence; or portico plan {near[0]}"
        raise BadUsage(f"There is no command {intent!r}. Did you mean {near[0]}?", fix=fix)


def show_suggestion(
    intent: str, at: Terminal, *, why: bool, write: Path | None, replace: bool
) -> None:
    check_intent(intent)
    if write is not None:
        _check_file(write, replace=replace)
    with at.working("Looking for a plan"):
        told = Server(at.house).post("/suggestions", {"intent": intent})
    if told["plan"] is None:
        at.data(told, f"No plan is sure enough ({told['confidence']:.2f}).")
        at.say(told["rationale"])
        at.say("Look for tools with portico search, and write a plan: portico plan schema")
        return
    rows = [_row(told, step) for step in told["steps"]]
    at.table(_COLUMNS, rows, told, right=["sure"], fold=["given"])
    if why and not at.json:
        for line in _why(told):
            at.line(line)
    for line in _afterwards(told):
        at.say(line)
    if write is not None:
        _write(told, write, at)


def _row(told: Told, step: Told) -> dict[str, Any]:
    missing = {
        each["parameter"]: each["input"] for each in told["missing"] if each["step"] == step["id"]
    }
    given = [f"{name} from {_origin(origin)}" for name, origin in step["arguments"].items()]
    given += [f"{parameter} is missing: --input {name}=…" for parameter, name in missing.items()]
    return {
        "step": step["id"],
        "tool": step["tool"],
        "effect": step["effect"],
        "sure": f"{step['confidence']:.2f}",
        "given": "; ".join(given),
    }


def _origin(origin: Told) -> str:
    return origin["what"] if origin["from"] == "step" else f"{origin['from']}: {origin['what']}"


def _why(told: Told) -> Iterator[str]:
    yield f"Why: {told['rationale']}"
    yield from (f"  {step['id']}: {step['why']}" for step in told["steps"])
    yield from (f"  {path['words']}" for path in told["paths"])
    for each in told["alternatives"]:
        yield f"  instead of {each['step']}: {each['tool']} ({each['why']})"
    sure = f"It is {told['confidence']:.2f} sure; from {told['threshold']:.2f} on"
    if told["confidence"] >= told["threshold"] and not told["ran_ahead"]:
        yield f"{sure} its first reads could be made ahead, but none may be: portico ahead show"
    else:
        yield f"{sure} its first reads are made ahead."


def _afterwards(told: Told) -> Iterator[str]:
    if told["ran_ahead"]:
        yield f"Being read already: {', '.join(told['ran_ahead'])}."
    if told["staged"]:
        yield f"Done only when you run it: {', '.join(told['staged'])}."
    for each in told["missing"]:
        if each["could_give"]:
            yield f"{each['input']} could come from {', '.join(each['could_give'])}."
    if told["suggestion"] is not None:
        needs = "".join(f" --input {each['input']}=…" for each in told["missing"])
        yield f"To run it: portico run --suggestion {told['suggestion']}{needs}"


def _check_file(file: Path, *, replace: bool) -> None:
    """Raises `BadUsage`, `FileInTheWay`."""
    if file.suffix not in _FORMS:
        raise BadUsage(f"{file} is no file for a plan.", fix="A plan is .json or .toml.")
    if file.exists() and not replace:
        raise FileInTheWay(file)


def _write(told: Told, file: Path, at: Terminal) -> None:
    plan = read_plan(told["plan"], at.house.expressions())
    file.write_text(plan_text(plan, _FORMS[file.suffix]), encoding="utf-8")
    at.say(f"{file} is written.")
