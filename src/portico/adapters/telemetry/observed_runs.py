"""Runs, counted, timed and traced: a span for each leg, and in it one for each of its steps."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from opentelemetry import trace

from portico.adapters.telemetry.metrics import (
    events_appended,
    run_finished,
    run_in_flight,
    run_started,
    step_finished,
)
from portico.adapters.telemetry.spans import OPERATION_NAME, WORKFLOW_NAME, failed, remote, span
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import (
    Activation,
    ClaimedActivation,
    Failure,
    RunStatus,
    Step,
    StepState,
)
from portico.engine.ports import Journal
from portico.kernel.json import JsonValue

# Runs, counted, timed and traced: a span for each leg, and in it one for each of its steps.
#
# A leg is not inside the request that started its run, which may be days ago: it has a link to it.

_ROOM: Final = "portico.engine"
_RUN: Final = "portico.run.id"
_STEP: Final = "portico.step.name"


class ObservedJournal:
    """A journal that tells what it is told to note."""

    def __init__(self, inner: Journal) -> None:
        self._inner = inner

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        taken = await self._inner.claim(leg)
        if taken is not None:
            if taken.run.leg == 1 and taken.run.attempts == 1:
                run_started(taken.run.kind)
            _introduce(taken)
        return taken

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        noted = await self._inner.finish(taken, step, told)
        if noted and step.finished_at is not None:
            seconds = (step.finished_at - step.started_at).total_seconds()
            step_finished(taken.run.kind, step.state, seconds)
            events_appended()
            _trace(step, step.finished_at)
        return noted

    async def announce(self, taken: ClaimedActivation, told: Sequence[NewEntry]) -> bool:
        return await self._inner.announce(taken, told)

    async def answer(
        self, taken: ClaimedActivation, topics: Sequence[str]
    ) -> Mapping[str, JsonValue] | None:
        return await self._inner.answer(taken, topics)

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        return await self._inner.park(taken, topics, wakes_at)

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        settled = await self._inner.settle(taken, status, result, failure)
        if settled:
            run_finished(taken.run.kind, status)
            if failure is not None:
                failed(trace.get_current_span(), failure.type)
        return settled


def observed_leg(
    run_leg: Callable[[Activation], Awaitable[None]],
) -> Callable[[Activation], Awaitable[None]]:
    async def observed(leg: Activation) -> None:
        with run_in_flight(), span("run", {_RUN: str(leg.run)}, room=_ROOM):
            await run_leg(leg)

    return observed


def _introduce(taken: ClaimedActivation) -> None:
    current = trace.get_current_span()
    current.update_name(f"run {taken.run.kind}")
    current.set_attribute(OPERATION_NAME, "invoke_workflow")
    current.set_attribute(WORKFLOW_NAME, taken.run.kind)
    asked = remote(taken.run.trace)
    if asked is not None:
        current.add_link(trace.get_current_span(asked).get_span_context())


def _trace(step: Step, finished: datetime) -> None:
    """Afterwards, with its own times: a step that is cut short leaves none."""
    made = trace.get_tracer(_ROOM).start_span(
        "step", attributes={_STEP: step.name}, start_time=_nanoseconds(step.started_at)
    )
    if step.state is StepState.FAILED and step.failure is not None:
        failed(made, step.failure.type)
    made.end(_nanoseconds(finished))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1e9)
