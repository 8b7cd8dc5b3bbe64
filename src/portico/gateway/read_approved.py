"""What came of a call that waited for approval, asked for by the number of its request."""

from dataclasses import dataclass

from portico.gateway.ask_first import AskFirst
from portico.gateway.core.call import Called
from portico.gateway.keep_result import KeepResult
from portico.gateway.ports import Line
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import permit
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadApproved:
    ask_first: AskFirst
    keep_result: KeepResult
    contexts: Contexts

    async def __call__(
        self, caller: Principal, approval: ApprovalId, *, line: Line | None = None
    ) -> Called:
        """Waits a while, as the call itself does; its beginning, if it is long. Raises
        `NotPermitted` and what that raises."""
        permit(caller, Scope.TOOLS_CALL)
        called = await self.ask_first.by_handle(caller, approval, line=line)
        # The task has taken it in by now, and so is at least as secret as it.
        task = await self.contexts.get(caller)
        shown, kept = await self.keep_result(
            caller, called.answer, label=task.label, untrusted=task.untrusted
        )
        return Called(shown, called.call, kept)
