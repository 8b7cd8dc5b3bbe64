"""A workflow that somebody asks for, in words: the picture of it, and a few facts."""

from typing import Any

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_news import Followed
from portico.interfaces.cli.workflow_view.reading import heard
from portico.interfaces.cli.workflow_view.view import WorkflowView


def show_workflow(server: Server, run: str, at: Terminal) -> None:
    followed = Followed.of(server, run)
    if at.json:
        at.data(followed.report, "")
        return
    if not followed.inline:
        for event in server.pages(path_to("runs", run, "events")):
            followed.view = heard(followed.view, event)
        followed.refresh(at_once=True)
    _draw(followed, at)
    at.facts(_facts(followed.view, followed.report))


def _draw(followed: Followed, at: Terminal) -> None:
    from rich.console import Console

    from portico.interfaces.cli.workflow_view.screen import Frame, picture

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
