"""What is said, printed and returned when a workflow is over, or is left."""

import json
from collections.abc import Mapping
from typing import Any

from portico.interfaces.cli.errors import WorkflowNotDone, WorkflowWaits
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.results import whole_result
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_news import Followed
from portico.interfaces.cli.workflow_view.view import State, StepView, WorkflowView

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
