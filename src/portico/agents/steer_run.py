"""Say something to a run while it is on: its next turn takes it in."""

from dataclasses import dataclass

from portico.agents.core.errors import AgentNotCleared, AgentRunOver
from portico.agents.core.trace import PersonSaid
from portico.agents.own_run import inside, led
from portico.agents.ports import Tasks, Traces
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerRun:
    traces: Traces
    tasks: Tasks
    clock: Clock

    async def __call__(self, caller: Principal, run: RunId, text: str) -> PersonSaid:
        """The run has then read what the speaker's task has. Raises `NotPermitted`,
        `AgentRunNotFound`, `AgentRunOver`, `AgentNotCleared`."""
        trace = (await led(self.traces, caller, run)).run
        if trace.status.over:
            raise AgentRunOver(str(run), trace.status)
        label = await self.tasks.label(caller)
        if not trace.label.covers(label):
            raise AgentNotCleared(trace.agent_name, label, trace.label)
        await self.tasks.take_over(inside(caller, trace), after=caller)
        return await self.traces.say(caller, run, text, self.clock.now())
