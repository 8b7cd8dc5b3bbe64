"""How one call of an agent waits for people: whoever follows the run is told of it."""

from contextlib import suppress
from dataclasses import dataclass, field

from portico.agents.core.errors import AgentRunOver
from portico.agents.core.events import Noted, ToolWaits
from portico.agents.core.tool_calls import Acts, Wanted
from portico.agents.core.traces import AgentRunStatus
from portico.agents.ports import Talk, Traces
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import patiently
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.approvals import Approval, Status
from portico.kernel.durable import Action
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows.run_context import ThroughDurable


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What is told of a call that waits."""

    approvals: Approvals
    withdraw: WithdrawApproval
    traces: Traces
    talk: Talk

    async def for_approval(self, acts: Acts, wanted: Wanted, approval: ApprovalId) -> None:
        """Of a run that somebody has stopped meanwhile nobody is asked any more."""
        found = await self.approvals.get(acts.caller, approval)
        told = ToolWaits(
            turn=wanted.turn,
            call=wanted.call.id,
            tool=wanted.tool,
            approval=approval,
            expires_at=found.expires_at,
        )
        run, caller = acts.durable.run, acts.durable.caller
        await self.traces.mark(caller, run, AgentRunStatus.WAITING, label=acts.label)
        await self.talk.tell(caller, run, told, label=acts.label)
        if await self.traces.stop_asked(caller, run):
            await self._withdrawn(acts.caller, found)

    async def for_word(self, acts: Acts, wanted: Wanted) -> None:
        run = acts.durable.run
        told = Noted(
            code="uncertain",
            message=f"Nobody knows whether {wanted.tool} was done. Say what became of it: "
            f"portico agents resolve {run} {wanted.step} done | retry | skip",
        )
        await self.traces.mark(acts.durable.caller, run, AgentRunStatus.WAITING, label=acts.label)
        await self.talk.tell(acts.durable.caller, run, told, label=acts.label)

    async def over(self, acts: Acts) -> None:
        run = acts.durable.run
        await self.traces.mark(acts.durable.caller, run, AgentRunStatus.RUNNING, label=acts.label)

    async def _withdrawn(self, caller: Principal, asked: Approval) -> None:
        if asked.status is Status.WAITING:
            await self.withdraw.closed(caller, asked, "the run that asked was stopped")


@dataclass(slots=True)
class Asked:
    """What one call has asked people for, if it has."""

    approval: ApprovalId | None = None
    waited: bool = False


@dataclass(frozen=True, slots=True)
class AgentCall(ThroughDurable):
    """`Durable`, in the name of the agent, for one call of it."""

    acts: Acts
    wanted: Wanted
    waits: Waits
    asked: Asked = field(default_factory=Asked)

    @property
    def caller(self) -> Principal:
        return self.acts.caller

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        if self.acts.stopping and name == self.wanted.step:
            action = _not_begun
        return await self.inner.step(name, action, tries=tries)

    async def tell(self, name: str, type_: str, facts: JsonObject) -> None:
        await self.inner.tell(name, type_, facts)
        approval = facts.get("approval")
        if type_ == "workflow.step_waiting" and isinstance(approval, str):
            self.asked.approval = ApprovalId.parse(approval)
            await self._told(name, approval)
        elif type_ == "workflow.step_uncertain":
            await self._told(name, None)

    async def _told(self, name: str, approval: str | None) -> None:
        """In a step of its own, so that it is told once. It is no failure of the call that it
        could not be told."""
        acts, wanted, waits = self.acts, self.wanted, self.waits

        async def action(_key: str) -> JsonValue:
            with suppress(PorticoError):
                if approval is None:
                    await patiently(lambda: waits.for_word(acts, wanted))
                else:
                    asked = ApprovalId.parse(approval)
                    await patiently(lambda: waits.for_approval(acts, wanted, asked))
            return None

        self.asked.waited = True
        await self.inner.step(f"{name}~said", action)

    async def gone_on(self) -> None:
        """Once what it waited for is over."""
        if not self.asked.waited:
            return

        async def action(_key: str) -> JsonValue:
            with suppress(PorticoError):
                await patiently(lambda: self.waits.over(self.acts))
            return None

        await self.inner.step(f"{self.wanted.step}~on", action)


async def _not_begun(_key: str) -> JsonValue:
    """In place of a call that the journal knows nothing of, in a run that is to stop."""
    what = "The run was stopped: this call was not made, or nobody knows here that it was."
    raise Discreet(Failure("Stopped", what, AgentRunOver.code))
