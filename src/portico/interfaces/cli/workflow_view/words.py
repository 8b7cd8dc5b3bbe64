"""How a step and a workflow stand, in signs, colours and words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.interfaces.cli.workflow_view.bars import brief
from portico.interfaces.cli.workflow_view.timeline import busy_spans, since
from portico.interfaces.cli.workflow_view.view import State, StepView, WorkflowView

SIGNS: Final[Mapping[State, str]] = {
    State.PENDING: "·",
    State.RUNNING: "▸",
    State.WAITING: "‖",
    State.UNCERTAIN: "?",
    State.DONE: "✓",
    State.FAILED: "✗",
    State.SKIPPED: "-",
    State.NOT_NEEDED: "○",
}
COLOURS: Final[Mapping[State, str]] = {
    State.PENDING: "dim",
    State.RUNNING: "cyan",
    State.WAITING: "yellow",
    State.UNCERTAIN: "bold magenta",
    State.DONE: "green",
    State.FAILED: "bold red",
    State.SKIPPED: "dim",
    State.NOT_NEEDED: "dim",
}
_STATUS: Final[Mapping[str, str]] = {
    "done": "bold green",
    "partial": "bold yellow",
    "failed": "bold red",
    "stuck": "bold red",
    "cancelled": "bold yellow",
    "waiting": "bold yellow",
}
_WHEELS: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_NAMES: Final[Mapping[State, str]] = {State.NOT_NEEDED: "not needed"}
_ORDER: Final = (
    State.DONE,
    State.FAILED,
    State.UNCERTAIN,
    State.WAITING,
    State.RUNNING,
    State.SKIPPED,
    State.PENDING,
    State.NOT_NEEDED,
)
SHORT: Final = 6
"""So many last letters of an id are enough to name it."""


def sign(step: StepView, turn: int | None) -> str:
    """`turn` of None: nothing moves."""
    if step.state is State.RUNNING and turn is not None:
        return _WHEELS[turn % len(_WHEELS)]
    return SIGNS[step.state]


def status_colour(status: str) -> str:
    return _STATUS.get(status, "bold cyan")


def counted(counts: Mapping[State, int]) -> str:
    """`12 done, 3 running`: how the steps stand, what matters most first."""
    return ", ".join(
        f"{counts[state]} {_NAMES.get(state, state)}" for state in _ORDER if state in counts
    )


def label(step: StepView) -> str:
    """Its id, and how far it is, if that is known; and how often it was tried, if not once."""
    again = f" ↻{step.tries}" if step.tries > 1 else ""
    if step.items is not None:
        width = len(str(step.items.all))
        failed = f" ✗{step.items.failed}" if step.items.failed else ""
        return f"{step.id} {step.items.over:>{width}}/{step.items.all}{failed}"
    if step.progress is not None and step.state is State.RUNNING:
        return f"{step.id} {step.progress:.0%}{again}"
    return f"{step.id}{again}"


def took(step: StepView, view: WorkflowView, now: datetime) -> str:
    """How long it ran; of one that waits to be approved, since when."""
    if step.waits_since is not None and step.state is not State.UNCERTAIN:
        return brief((now - step.waits_since).total_seconds())
    spans = busy_spans(step, view, now)
    return brief(sum(stop - start for start, stop in spans)) if spans else ""


def aside(step: StepView) -> str:
    """What there is to say of one that has not run, or was tried more than once."""
    if step.state is State.PENDING:
        return f"← {', '.join(step.needs)}" if len(step.needs) > 1 else ""
    if step.state is State.SKIPPED:
        return f"skipped: {step.why}" if step.why else "skipped"
    return "not needed" if step.state is State.NOT_NEEDED else ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to read, and what to type for it."""

    text: str
    command: str = ""


def notes(step: StepView, run: str) -> Sequence[Note]:
    """What has to be read: why it failed, whom it waits for."""
    if step.state is State.FAILED:
        return [Note(step.why or "failed")]
    some = [*step.asking.items()][:3]
    told = [
        note
        for part, request in some
        for note in _about(_asked(part, request, run, alone=part == step.id), step.given.get(part))
    ]
    more = len(step.asking) - len(some)
    return [*told, *([Note(f"and {more} more")] if more else [])]


def given_to(view: WorkflowView, part: str) -> str:
    """What a part was called with of which nobody knows whether it was done; its tool at least."""
    for step in view.steps.values():
        if part in step.asking:
            return step.given.get(part, step.tool)
    return ""


def at_work(view: WorkflowView, now: datetime) -> str:
    """How long it has taken, on the whole."""
    return "" if view.began is None else brief(since(view, view.ended or now))


def uncertain_parts(view: WorkflowView) -> Sequence[str]:
    """What may have been done or not."""
    steps = view.steps.values()
    return [part for step in steps for part, request in step.asking.items() if request is None]


def keys_for(view: WorkflowView) -> str:
    """Which do something now; none of them ever means anything else."""
    waiting = sum(it is not None for step in view.steps.values() for it in step.asking.values())
    unsure = len(uncertain_parts(view))
    keys = [f"a approvals ({waiting})"] if waiting else []
    keys += [f"u uncertain ({unsure})"] if unsure else []
    return " · ".join([*keys, "q leave it running", "c cancel"])


def _about(note: Note, given: str | None) -> Sequence[Note]:
    return [note] if given is None else [note, Note(given)]


def _asked(part: str, request: str | None, run: str, *, alone: bool) -> Note:
    whose = "" if alone else f"{part} "
    if request is None:
        told = f"{whose}was begun, and nobody knows whether it was done"
        return Note(told, f"portico workflows resolve {run[-SHORT:]} {part}")
    return Note(f"{whose}waits for approval", f"portico approvals show {request[-SHORT:]}")
