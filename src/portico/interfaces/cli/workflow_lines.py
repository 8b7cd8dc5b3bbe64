"""A workflow told line by line, where nothing can be drawn."""

import json
import sys
from typing import Final

from portico.interfaces.cli.following import Told
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_news import Bell, Followed, Notice, Over, listening
from portico.interfaces.cli.workflow_view.view import State, StepView, WorkflowView
from portico.interfaces.cli.workflow_view.words import SIGNS, label, notes, took
from portico.kernel.errors import PorticoError

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
            case Told() | Bell():
                followed.take(news)
                _pass_on(news, at, events=events)
            case None:
                followed.refresh()
                _say(followed, at, said)
                if not stay and waits_for_people(followed):
                    return False


def waits_for_people(followed: Followed) -> bool:
    return not followed.stale and followed.report["status"] == "waiting"


def _pass_on(news: Told | Bell, at: Terminal, *, events: bool) -> None:
    if events and at.json and isinstance(news, Told):
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
