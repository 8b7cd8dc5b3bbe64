"""A call that needs somebody's yes: ask, wait a while for what comes of it, or say who to ask."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.ports import Bus, Wakeups
from portico.gateway.ask_in_client import InClient, StillAsking, nobody_is_asked
from portico.gateway.core.call import Answer, Call, Called
from portico.gateway.keep_result import KeepResult
from portico.gateway.ports import CallHistory, Line
from portico.gateway.read_outcome import ReadOutcome
from portico.guard.approvals import Approvals, AskApproval, WithdrawApproval
from portico.guard.core.access_request import Act, Aim, NeedsApproval
from portico.guard.core.approvals import Approval, Outcome, Status, Waiter
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    ApprovalPending,
    ApprovalRejected,
    ApprovalUncertain,
    ApprovedCallFailed,
    Refused,
)
from portico.guard.core.rules import OFF_LIST, on_lists
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BEFORE: Final = 5
"""Calls of the same task that whoever answers is shown."""
_LOOKED_THROUGH: Final = 50


class UnfinishedRun(Protocol):
    def __call__(self, answer: Answer, /) -> RunId | None:
        """The run that had not ended when this was its answer; None of any other answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFirst:
    ask: AskApproval
    withdraw: WithdrawApproval
    approvals: Approvals
    contexts: Contexts
    history: CallHistory
    read_outcome: ReadOutcome
    keep_result: KeepResult
    bus: Bus
    clock: Clock
    unfinished: UnfinishedRun
    wait: timedelta
    in_client: InClient = nobody_is_asked

    async def __call__(
        self,
        act: Act,
        decision: NeedsApproval,
        *,
        line: Line | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called:
        """Made again, the same call is the same request: it gives what that gave, once. A waiter
        is told when it is over, and reads then what came of it.

        Raises `ApprovalPending`, `ApprovalRejected`, `ApprovalOver`, `ApprovalUncertain`,
        `ApprovedCallFailed`.
        """
        caller = act.caller
        context = await self.contexts.get(caller)
        before = await self._before(caller, context.id)
        asked = await self.ask(act, context, decision, before=before, waiter=waiter)
        if waiter is not None:
            raise ApprovalPending(asked.tool, str(asked.id), asked.expires_at)
        try:
            async with self.in_client(caller, asked, line) as asking:
                ended = await self._ended(caller, asked.id, line, asking)
        except ApprovalOver:
            await self._collect(caller, asked.id)
            raise
        called = await self._taken(caller, asked.id, ended)
        return called if whole else await self._shortened(caller, called, act.aim)

    async def in_place(
        self, act: Act, *, line: Line | None, whole: bool, waiter: Waiter | None = None
    ) -> Called | None:
        """For an act that is allowed by now: what waits for the same is closed first. What
        somebody has approved already is not done twice: its result, once. None: do it.

        Raises `ApprovalPending`, `ApprovalUncertain`, `ApprovedCallFailed`.
        """
        caller = act.caller
        if waiter is not None:
            theirs = await self.withdraw.settled_of(caller, waiter)
            if theirs is not None:
                raise ApprovalPending(theirs.tool, str(theirs.id), theirs.expires_at)
            return None
        asked = await self.withdraw.settled(act)
        if asked is None:
            return None
        try:
            ended = await self._ended(caller, asked.id, line)
        except ApprovalOver:  # it was not made, and will not be
            await self._collect(caller, asked.id)
            return None
        called = await self._taken(caller, asked.id, ended)
        return called if whole else await self._shortened(caller, called, act.aim)

    async def by_handle(
        self, caller: Principal, approval: ApprovalId, *, line: Line | None = None
    ) -> Called:
        """As the call itself, for its asker alone, and as often as one likes for as long as it is
        kept; whole. Raises `ApprovalNotFound` and `Refused` too."""
        found = await self.approvals.get(caller, approval)
        if found.asker.id != caller.id:
            raise ApprovalNotFound(str(approval))
        if not on_lists(caller, found.tool):
            raise Refused(found.tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)
        return await self._given(caller, await self._ended(caller, approval, line))

    async def _ended(
        self,
        caller: Principal,
        asked: ApprovalId,
        line: Line | None,
        asking: StillAsking = lambda: False,
    ) -> Approval:
        """For as long as somebody is being asked at the caller's own program it waits on. Raises
        `ApprovalPending`, `ApprovalRejected`, `ApprovalOver`, `ApprovalUncertain`."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        patience = self.wait.total_seconds()
        with self.bus.listen(caller.space, str(asked)) as wakeups:
            while True:
                found = await self._followed(caller, asked)
                if self._over(found):
                    return found
                waited = loop.time() - began
                if waited >= patience and not asking():
                    raise ApprovalPending(found.tool, str(asked), found.expires_at)
                if line is not None:
                    told = f"waiting for somebody to approve {found.tool} ({asked})"
                    await line.progress(waited, patience if waited < patience else None, told)
                left = patience - waited if waited < patience else _LOOK
                await _within(min(_LOOK, left), wakeups)

    async def _taken(self, caller: Principal, asked: ApprovalId, ended: Approval) -> Called:
        """A workflow that goes on is asked for with the same call until it has ended: asking anew
        would do it once more. Raises `ApprovedCallFailed`."""
        try:
            called = await self._given(caller, ended)
        except ApprovedCallFailed:
            await self._collect(caller, asked, ended.id)
            raise
        if self.unfinished(called.answer) is None:
            await self._collect(caller, asked, ended.id)
        return called

    async def _collect(self, caller: Principal, *approvals: ApprovalId) -> None:
        """From here on the same call asks anew."""
        for each in dict.fromkeys(approvals):
            await self.approvals.collect(caller, each, self.clock.now())

    async def _followed(self, caller: Principal, approval: ApprovalId) -> Approval:
        """The one that was approved in its place, if it was edited."""
        found = await self.approvals.get(caller, approval)
        if found.replaced_by is None:
            return found
        return await self._followed(caller, found.replaced_by)

    def _over(self, approval: Approval) -> bool:
        """Raises what it ended in if it was not made."""
        status = approval.status_at(self.clock.now())
        if status is Status.REJECTED:
            reason = None if approval.answered is None else approval.answered.reason
            raise ApprovalRejected(approval.tool, str(approval.id), reason)
        over = status in {Status.EXPIRED, Status.WITHDRAWN}
        if over or approval.outcome is Outcome.SKIPPED:
            raise ApprovalOver(str(approval.id), approval.outcome or status, None)
        if approval.outcome is Outcome.UNCERTAIN:
            raise ApprovalUncertain(approval.tool, str(approval.id))
        return approval.outcome is not None

    async def _given(self, caller: Principal, ended: Approval) -> Called:
        called = await self.read_outcome(caller, ended)
        if called is None:
            await self.contexts.rise(caller, ended.label, untrusted=True)
            why = ended.error or "what it gave is not kept any longer."
            raise ApprovedCallFailed(ended.tool, str(ended.id), why)
        return called

    async def _shortened(self, caller: Principal, called: Called, aim: Aim) -> Called:
        shown, kept = await self.keep_result(
            caller, called.answer, label=aim.label, untrusted=not aim.trusted
        )
        return Called(shown, called.call, kept)

    async def _before(self, caller: Principal, context: ContextId) -> Sequence[JsonObject]:
        calls = await self.history.page(
            caller, of=caller.id, ref=None, before=None, limit=_LOOKED_THROUGH
        )
        return [_told(call) for call in calls if call.context == context][:_BEFORE]


def _told(call: Call) -> JsonObject:
    return {
        "tool": str(call.ref),
        "effect": str(call.effect),
        "at": call.started_at.isoformat(),
        "outcome": None if call.outcome is None else str(call.outcome),
    }


async def _within(seconds: float, wakeups: Wakeups) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wakeups.wait()
