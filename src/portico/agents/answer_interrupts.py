"""Answer what a run waits for, as whoever started it, and say what is left unanswered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.ports import Traces
from portico.guard.approvals import AnswerApproval, Reply
from portico.guard.core.errors import ApprovalOver
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInterrupts:
    answer_approval: AnswerApproval
    traces: Traces

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        agent: str,
        replies: Sequence[tuple[ApprovalId, Reply]],
    ) -> Mapping[ApprovalId, PorticoError]:
        """Those that the caller may not answer, each with why: they wait for somebody else. What
        somebody has answered before is answered. Raises `AgentRunNotFound`, also for another's
        run and for one of another agent, and what is wrong with an answer."""
        found = (await self.traces.read(caller, run)).run
        if found.started_by != caller.id or agent not in {found.agent_name, str(found.agent)}:
            raise AgentRunNotFound(str(run))
        left: dict[ApprovalId, PorticoError] = {}
        for approval, reply in replies:
            try:
                await self.answer_approval(caller, approval, reply)
            except ApprovalOver:
                continue
            except PorticoError as error:
                if error.kind not in {Kind.DENIED, Kind.NOT_FOUND}:
                    raise
                left[approval] = error
        return left
