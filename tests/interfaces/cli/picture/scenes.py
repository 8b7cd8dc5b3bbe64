"""Workflows to look at."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from portico.interfaces.cli.workflow_view import State, StepView, WorkflowView, laid_out
from portico.interfaces.cli.workflow_watch import Frame, picture

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = "run_01m7fh87g0e0080000000aaaaa"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def a_step(
    name: str, *needs: str, ran: tuple[float, float | None] | None = None, **known: Any
) -> StepView:
    """`ran` from, and to if it is over: both in seconds after noon."""
    began, ended = ran or (None, None)
    state = State.PENDING if began is None else State.RUNNING if ended is None else State.DONE
    facts: dict[str, Any] = {
        "tool": f"server.{name}",
        "needs": needs,
        "state": state,
        "started": None if began is None else at(began),
        "ended": None if ended is None else at(ended),
    }
    return StepView(id=name, **facts | known)


def a_view(*steps: StepView, **known: Any) -> WorkflowView:
    facts: dict[str, Any] = {"name": "morning", "status": "running", "started": NOON}
    return WorkflowView(run=RUN, steps={step.id: step for step in steps}, **facts | known)


def lines(
    view: WorkflowView, now: float, *, width: int = 80, height: int | None = None
) -> Sequence[str]:
    tree = laid_out({step.id: step.needs for step in view.steps.values()})
    frame = Frame(width=width, height=height)
    return [line.plain for line in picture(view, tree, at(now), frame)]
