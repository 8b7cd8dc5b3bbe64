"""`portico plan suggest`, `propose`, and `portico feedback`."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from portico.interfaces.cli.errors import FileInTheWay, InvalidUsage
from portico.interfaces.cli.plan_files import PlanInput, faults_located, given, with_references
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, Terminal
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_files import PlanFormat, plan_text

_ALL_SURE: Final = "all-sure"
_COLUMNS: Final = ["edge", "confidence", "sure", "reason"]

Told = Mapping[str, Any]


def propose(
    file: str,
    /,
    *,
    accept: Annotated[list[str] | None, Parameter(name="--accept")] = None,
    write: bool = False,
    at: At,
) -> None:
    """Propose where the arguments that a plan leaves out could come from.

    By names, types, meaning, what tools have returned before, and what was handed on before.
    Nothing is run, and nothing counts as meant that you do not accept. With --accept the plan is
    printed with those edges as references; with --write it is written to its file.

    portico plan propose report.toml --accept all-sure --write

    Parameters
    ----------
    file
        A plan, .json or .toml, or - for one at standard input.
    accept
        An edge as it is proposed, 'read.json.path -> write.path'; may be given several times.
        all-sure: every one that is sure, of what has to be said.
    write
        Into the file itself, instead of to standard output.
    """
    if write and not accept:
        raise InvalidUsage("There is nothing to write.", fix="Say which edges: --accept all-sure")
    what = _plan_in(file, write=write)
    server = Server(at.services)
    with faults_located(what):
        proposed = server.post("/workflows/propose", {"plan": what.document})
        edges = _accepted(proposed["edges"], accept or [])
        if not edges:
            _show(proposed, at)
            if accept:
                at.say("Nothing of this is sure: nothing was accepted.")
            return
        named = {"plan": what.document, "accept": [edge["edge"] for edge in edges]}
        after = server.post("/workflows/propose", named)
    text = with_references(what.text, what.form, edges)
    if write:
        Path(file).write_text(text, encoding="utf-8")
        _show(after, at)
    else:
        at.data(dict(after), text.rstrip("\n"))
    for edge in edges:
        at.say(f"accepted: {edge['edge']}")


def _plan_in(file: str, *, write: bool) -> PlanInput:
    """Raises `InvalidUsage`, `InvalidPlan`."""
    found = given(file)
    if not isinstance(found, PlanInput):
        raise InvalidUsage(f"{file} is no file with a plan.", fix="A plan is .json or .toml.")
    if write and not Path(file).suffix:
        raise InvalidUsage(
            "There is no file to write to.", fix="Leave --write away, or name a file."
        )
    return found


def _accepted(proposed: Sequence[Told], accept: Sequence[str]) -> Sequence[Told]:
    """Those that are named, and if so said all that are sure. Raises `InvalidUsage`."""
    by_name = {edge["edge"]: edge for edge in proposed}
    unknown = [name for name in accept if name not in by_name and name != _ALL_SURE]
    if unknown:
        known = "; ".join(by_name) or "none"
        raise InvalidUsage(f"{unknown[0]!r} is not proposed.", fix=f"Proposed are: {known}")
    sure = [edge["edge"] for edge in proposed if edge["sure"]] if _ALL_SURE in accept else []
    wanted = dict.fromkeys([name for name in accept if name != _ALL_SURE] + sure)
    return [by_name[name] for name in wanted]


def _show(proposed: Told, at: Terminal) -> None:
    rows = [
        {
            **edge,
            "confidence": f"{edge['confidence']:.2f}",
            "sure": "sure" if edge["sure"] else "ambiguous" if edge["ambiguous"] else "unsure",
        }
        for edge in proposed["edges"]
    ]
    at.table(_COLUMNS, rows, dict(proposed), right=["confidence"], fold=["reason"])
    for missing in proposed["missing"]:
        could = ", ".join(missing["could_give"])
        might = f" These might: {could}" if could else ""
        at.say(f"{missing['step']}.{missing['parameter']}: no step seems to give it.{might}")
    left_out = proposed.get("left_out") or []
    if left_out:
        at.say(f"The plan is too long: nothing was looked for for {', '.join(left_out)}.")
    if not proposed["edges"] and not proposed["missing"] and not left_out:
        at.say("Nothing that it has to be told is left out.")


_COMMANDS: Final = ("check", "schema", "convert", "propose")
_FORMS: Final = {f".{form.value}": form for form in PlanFormat}
_SUGGESTED_COLUMNS: Final = ["step", "tool", "effect", "sure", "given"]


def check_intent(intent: str) -> None:
    """One word that is nearly a command was meant as one. Raises `InvalidUsage`."""
    if not intent.strip():
        raise InvalidUsage(
            "It is not said what you want.", fix='portico plan "read notes/todo.md and list src"'
        )
    near = get_close_matches(intent, _COMMANDS, 1)
    if near and " " not in intent.strip():
        fix = f"To be suggested a plan, say what you want in a sentence; or portico plan {near[0]}"
        raise InvalidUsage(f"There is no command {intent!r}. Did you mean {near[0]}?", fix=fix)


def show_suggestion(
    intent: str, at: Terminal, *, why: bool, write: Path | None, replace: bool
) -> None:
    check_intent(intent)
    if write is not None:
        _check_file(write, replace=replace)
    with at.working("Looking for a plan"):
        told = Server(at.services).post("/suggestions", {"intent": intent})
    if told["plan"] is None:
        at.data(told, f"No plan is sure enough ({told['confidence']:.2f}).")
        at.say(told["rationale"])
        at.say("Look for tools with portico search, and write a plan: portico plan schema")
        return
    rows = [_row(told, step) for step in told["steps"]]
    at.table(_SUGGESTED_COLUMNS, rows, told, right=["sure"], fold=["given"])
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
    """Raises `InvalidUsage`, `FileInTheWay`."""
    if file.suffix not in _FORMS:
        raise InvalidUsage(f"{file} is no file for a plan.", fix="A plan is .json or .toml.")
    if file.exists() and not replace:
        raise FileInTheWay(file)


def _write(told: Told, file: Path, at: Terminal) -> None:
    plan = read_plan(told["plan"], at.services.expressions())
    file.write_text(plan_text(plan, _FORMS[file.suffix]), encoding="utf-8")
    at.say(f"{file} is written.")


def feedback(run: str, outcome: Literal["accepted", "rejected", "modified"], /, *, at: At) -> None:
    """Say what a suggestion was worth: it decides how sure the next one has to be.

    To run one is to accept it, unless you say otherwise here.

    portico feedback sug_01jq… rejected

    Parameters
    ----------
    run
        The run (run_…), or the suggestion that it comes from (sug_…).
    outcome
        accepted, rejected, or modified: you ran it otherwise than it was suggested.
    """
    said = Server(at.services).post("/feedback", {"run": run, "outcome": outcome})
    at.data(said, f"{said['suggestion']} is noted as {said['outcome']}.")
