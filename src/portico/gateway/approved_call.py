"""The run behind a request: it waits for the answer, and makes the call that was approved, once.

A signal only wakes it; what was answered stands in the request. Between claiming the single use
and noting what came of it, it may die: then nobody knows whether the call was made, and nobody
makes it again but by a person's word.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.call import Called, KeptResult, ResultId
from portico.gateway.core.kept_answer import answer_kept
from portico.gateway.core.maybe_made import maybe_made
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import Results
from portico.guard.approvals import (
    ApprovalNews,
    Approvals,
    Waiters,
    WaitForAnswer,
    about_end,
    sealed_for,
)
from portico.guard.authentication import AsTheyAre
from portico.guard.core.approvals import Approval, Outcome, Status, Ticket
from portico.guard.core.errors import ApprovalUncertain, ArgumentsLost
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Audit, Contexts, KeyRing, Together, Vault
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

APPROVED_CALL: Final = "approved_call"
_PAUSE: Final = 0.2
"""Seconds, while the database is away."""


class Calling(Protocol):
    async def __call__(
        self,
        caller: Principal,
        ref: ToolRef,
        arguments: JsonObject,
        *,
        whole: bool,
        ticket: Ticket,
    ) -> Called: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedCall:
    approvals: Approvals
    key_ring: KeyRing
    vault: Vault
    contexts: Contexts
    results: Results
    call_tool: Calling
    waiters: Waiters
    news: ApprovalNews
    audit: Audit
    together: Together
    clock: Clock
    entropy: Entropy
    keep: timedelta = timedelta(days=1)

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `StepFailed` if nobody knows whether the call was made."""
        seen = await self._waiting(durable, given)
        match seen:
            case {"status": Status.APPROVED, "approval": str(approved)}:
                which = ApprovalId.parse(approved)
                return await durable.step("call", self._step(durable, which, self._call))
            case _:
                return seen

    @property
    def _waiting(self) -> WaitForAnswer:
        return WaitForAnswer(
            approvals=self.approvals,
            news=self.news,
            audit=self.audit,
            together=self.together,
            clock=self.clock,
        )

    def _step(
        self,
        durable: Durable,
        approval: ApprovalId,
        act: Callable[[Durable, Approval], Awaitable[JsonValue]],
    ) -> Callable[[str], Awaitable[JsonValue]]:
        async def action(_key: str) -> JsonValue:
            return await act(durable, await self.approvals.get(durable.caller, approval))

        return action

    async def _call(self, durable: Durable, approval: Approval) -> JsonValue:
        """Raises `ApprovalUncertain`."""
        caller = durable.caller
        if approval.run != durable.run or approval.asker.id != caller.id:
            return {"status": "not its own"}
        if not await self.approvals.claim(caller, approval.id, self.clock.now()):
            return await self._not_claimed(durable, approval.id)
        if approval.waiter is not None and not await self.waiters.wants(caller, approval.waiter):
            why = "the run that asked for it is over, or has asked anew"
            return await self._note(caller, replace(approval, outcome=Outcome.FAILED, error=why))
        try:
            ended = await self._made(caller, approval)
        except PorticoError as error:
            ended = _broken(approval, error)
        except Exception as error:  # noqa: BLE001 # whatever it was, the call may have been made
            ended = replace(approval, outcome=Outcome.UNCERTAIN, error=type(error).__name__)
        return await self._note(caller, ended)

    async def _made(self, caller: Principal, approval: Approval) -> Approval:
        who = approval.asker
        as_they_are = AsTheyAre(key_ring=self.key_ring, clock=self.clock)
        asker = await as_they_are(caller, key=who.key, at=who.at)
        arguments = await self._arguments(caller, approval)
        called = await self.call_tool(
            asker, ToolRef.parse(approval.tool), arguments, whole=True, ticket=approval.ticket
        )
        now = self.clock.now()
        result = ResultId.mint(now, self.entropy)
        task = await self.contexts.get(asker)
        kept = KeptResult(
            content=answer_kept(called.answer, called.call),
            label=task.label,
            untrusted=task.untrusted,
        )
        try:
            await self.results.keep(asker, result, kept, now + self.keep)
        except VaultClosed as closed:  # it was done, whatever became of what it gave
            return replace(approval, outcome=Outcome.DONE, error=str(closed))
        error = "The tool says that it failed." if called.answer.failed else None
        return replace(approval, outcome=Outcome.DONE, result=str(result), error=error)

    async def _not_claimed(self, durable: Durable, which: ApprovalId) -> JsonValue:
        """Its time is over, or it was used: by this run before it died, or by a process that does
        not know yet that the run is not its own any more. Raises `ApprovalUncertain`."""
        approval = await self.approvals.get(durable.caller, which)
        if approval.status_at(self.clock.now()) is Status.EXPIRED:
            return await self._waiting.expire(durable, approval.id)
        if approval.outcome not in {None, Outcome.UNCERTAIN}:
            return _told(approval)
        return await self._note(durable.caller, replace(approval, outcome=Outcome.UNCERTAIN))

    async def _arguments(self, caller: Principal, approval: Approval) -> JsonObject:
        sealed = await self.approvals.sealed(caller, approval.id)
        plain = self.vault.unseal(sealed, sealed_for(approval.id))
        if plain is None:
            raise ArgumentsLost(str(approval.id))
        arguments: JsonObject = json.loads(plain)
        return arguments

    async def _note(self, caller: Principal, ended: Approval) -> JsonValue:
        """Raises `ApprovalUncertain`."""
        ended = replace(ended, ended_at=self.clock.now())
        while not await self._noted(caller, ended):  # noqa: ASYNC110 # it is elsewhere
            await asyncio.sleep(_PAUSE)
        if ended.outcome is Outcome.UNCERTAIN:
            raise ApprovalUncertain(ended.tool, str(ended.id))
        return _told(ended)

    async def _noted(self, caller: Principal, ended: Approval) -> bool:
        """However long the database is away: without it nobody would ever hear what became of it,
        and it is noted once, however often it is tried."""
        try:
            async with self.together(caller):
                if await self.approvals.end(caller, ended):
                    await self.audit.note(caller, about_end("approval.used", ended))
                    await self.news.tell(caller, "used", ended)
        except StoreUnavailable:
            return False
        return True


def _broken(approval: Approval, error: PorticoError) -> Approval:
    outcome = Outcome.UNCERTAIN if maybe_made(approval.effect, error) else Outcome.FAILED
    return replace(approval, outcome=outcome, error=str(error))


def _told(approval: Approval) -> JsonObject:
    return {"status": approval.status, "outcome": approval.outcome, "result": approval.result}
