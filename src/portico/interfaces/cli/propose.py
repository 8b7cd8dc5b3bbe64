"""`portico plan propose`: where arguments that a plan leaves out could come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.plan_edit import with_references
from portico.interfaces.cli.plan_file import PlanGiven, faults_located, given
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, Terminal

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
        raise BadUsage("There is nothing to write.", fix="Say which edges: --accept all-sure")
    what = _plan_in(file, write=write)
    server = Server(at.house)
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


def _plan_in(file: str, *, write: bool) -> PlanGiven:
    """Raises `BadUsage`, `BadPlan`."""
    found = given(file)
    if not isinstance(found, PlanGiven):
        raise BadUsage(f"{file} is no file with a plan.", fix="A plan is .json or .toml.")
    if write and not Path(file).suffix:
        raise BadUsage("There is no file to write to.", fix="Leave --write away, or name a file.")
    return found


def _accepted(proposed: Sequence[Told], accept: Sequence[str]) -> Sequence[Told]:
    """Those that are named, and if so said all that are sure. Raises `BadUsage`."""
    by_name = {edge["edge"]: edge for edge in proposed}
    unknown = [name for name in accept if name not in by_name and name != _ALL_SURE]
    if unknown:
        known = "; ".join(by_name) or "none"
        raise BadUsage(f"{unknown[0]!r} is not proposed.", fix=f"Proposed are: {known}")
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
