"""A run of an agent, for whoever may know what is said in it: its starter, and those who may read
the traces of others."""

from dataclasses import replace

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.happening import RunEnded
from portico.agents.core.trace import RunTrace, WholeTrace
from portico.agents.ports import Traces
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal


async def seen(traces: Traces, caller: Principal, run: RunId) -> WholeTrace:
    """Raises `AgentRunNotFound`: nobody is told that there is one which is not theirs."""
    trace = await traces.read(caller, run)
    if trace.run.started_by != caller.id and not caller.may(Scope.TRACES_READ):
        raise AgentRunNotFound(str(run))
    return trace


async def led(traces: Traces, caller: Principal, run: RunId) -> WholeTrace:
    """For whoever steps in: one's own, or with the right to speak for others. Raises
    `NotPermitted`, `AgentRunNotFound`."""
    permit(caller, Scope.AGENTS_RUN)
    trace = await seen(traces, caller, run)
    if trace.run.started_by != caller.id:
        permit(caller, Scope.RUNS_CONTROL)
    return trace


def inside(caller: Principal, run: RunTrace) -> Principal:
    """Whoever asks, at the task of a run: to look at what was read in it, and to add to it."""
    return replace(caller, id=run.acts_as, key=None, context=run.context)


def ended_of(run: RunTrace) -> RunEnded:
    return RunEnded(
        run=run.run,
        status=run.status,
        answer=run.answer,
        error_code=run.error_code,
        error=run.error,
        usage=run.usage,
        money=run.money,
    )
