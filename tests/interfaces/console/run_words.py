"""Runs, journals and reports in a few words, for tests of what is made of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from portico.engine.core.runs import QueuePlacement, Run, RunStatus, Step, StepState
from portico.interfaces.console.screens.run.run_view import RunView
from portico.interfaces.console.screens.run.tasks import Span, State, Task
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import SeededEntropy
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStatus,
    WorkflowReport,
    WorkflowStatus,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
ENTROPY = SeededEntropy("views")
SPACE = SpaceId.mint(START, ENTROPY)
ANA = PrincipalId.mint(START, ENTROPY)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def row(name: str, start: float, end: float | None = None, **more: Any) -> Step:
    state = StepState.OPEN if end is None else StepState.DONE
    finished = None if end is None else at(end)
    given: dict[str, Any] = {
        "state": state,
        "number": 1,
        "started_at": at(start),
        "finished_at": finished,
        **more,
    }
    return Step(name=name, **given)


def report(*steps: StepReport) -> WorkflowReport:
    return WorkflowReport(
        run="run_1",
        status=WorkflowStatus.RUNNING,
        mode=Mode.DURABLE,
        principal=str(ANA),
        label="public",
        steps=steps,
        created_at=START,
        started_at=START,
    )


def step(name: str, state: StepStatus, *needs: str, **more: Any) -> StepReport:
    return StepReport(id=name, tool=f"box.{name}", state=state, needs=needs, **more)


def a_run(kind: str = "drill", status: RunStatus = RunStatus.RUNNING, **more: Any) -> Run:
    run = Run(
        id=RunId.mint(START, ENTROPY),
        space=SPACE,
        principal=ANA,
        kind=kind,
        label=PUBLIC,
        clearance=PUBLIC,
        placement=QueuePlacement(),
        status=status,
        input={},
        created_at=START,
        started_at=START,
    )
    return replace(run, **more)


def a_principal(*scopes: str, id_: PrincipalId = ANA) -> Principal:
    return Principal(
        id=id_, space=SPACE, kind=PrincipalKind.PERSON, name="ana", scopes=frozenset(scopes)
    )


def a_seen(kind: str, status: str, *tasks: Task, mine: bool = True) -> RunView:
    return RunView(
        id="run_1",
        kind=kind,
        status=status,
        principal=str(ANA),
        mine=mine,
        label="public",
        created_at=START,
        started_at=START,
        tasks=tasks,
    )


def a_task(name: str, state: State, *spans: Span, **more: Any) -> Task:
    return Task(name=name, tool=f"box.{name}", state=state, spans=spans, **more)
