"""Calls that need an approval: ask first, call later, read the outcome."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus, Wakeups
from portico.gateway.core.approved_calls import answer_of, question_of
from portico.gateway.core.calls import (
    Call,
    Called,
    CallId,
    ClientCapability,
    ResultId,
    StoredResult,
    ToolResult,
    may_have_executed,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import InputRefused, InputUnsupported, ResultNotFound
from portico.gateway.core.results import answer_from, answer_kept
from portico.gateway.core.servers import WORKFLOWS
from portico.gateway.ports import CallHistory, ClientChannel, Results
from portico.gateway.results import StoreResult
from portico.guard.approvals import (
    AnswerApproval,
    ApprovalEvents,
    Approvals,
    AskApproval,
    Reply,
    TrustedClients,
    Waiters,
    WaitForAnswer,
    WithdrawApproval,
    about_end,
    sealed_for,
)
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import AccessRequest, Action, ActionTarget, NeedsApproval
from portico.guard.core.approvals import Approval, ApprovalGrant, Outcome, Status, Via, Waiter
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    ApprovalPending,
    ApprovalRejected,
    ApprovalUncertain,
    ApprovedCallFailed,
    ArgumentsLost,
    PrincipalNotFound,
    Refused,
)
from portico.guard.core.principals import Scope
from portico.guard.core.rules import OFF_LIST, on_lists
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Audit, Contexts, KeyRing, Principals, UnitOfWork, Vault
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal

# Ask whoever sits at the program that wants something, if an operator has said who that is.
#
# One way of several: whoever answers first counts, wherever they do.

_log: Final = logging.getLogger("portico.approvals")

StillAsking = Callable[[], bool]
InClient = Callable[
    [Principal, Approval, ClientChannel | None], AbstractAsyncContextManager[StillAsking]
]


@asynccontextmanager
async def nobody_is_asked(
    _caller: Principal, _approval: Approval, _line: ClientChannel | None
) -> AsyncIterator[StillAsking]:
    yield lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskInClient:
    trusted: TrustedClients
    principals: Principals
    answer: AnswerApproval

    @asynccontextmanager
    async def __call__(
        self, caller: Principal, approval: Approval, line: ClientChannel | None
    ) -> AsyncIterator[StillAsking]:
        """Gives whether somebody is being asked; at the end nobody is any more."""
        person = await self._person(caller, approval, line)
        if person is None or line is None:
            yield lambda: False
            return
        asking = asyncio.create_task(self._asked(caller, person, approval, line))
        try:
            yield lambda: not asking.done()
        finally:
            asking.cancel()
            await asyncio.wait([asking])

    async def _person(
        self, caller: Principal, approval: Approval, line: ClientChannel | None
    ) -> Principal | None:
        able = line is not None and ClientCapability.ELICITATION in line.able
        if not able or caller.key is None or approval.status is not Status.WAITING:
            return None
        named = await self.trusted.person(caller, caller.key)
        if named is None:
            return None
        try:
            identity = await self.principals.get(caller, named)
        except PrincipalNotFound:
            return None
        return None if identity.disabled_at is not None else as_principal(identity)

    async def _asked(
        self, caller: Principal, person: Principal, approval: Approval, line: ClientChannel
    ) -> None:
        """What is no answer leaves the request as it was, open to everybody else; so does that of
        somebody whose word has stopped to count while they were asked."""
        try:
            kind = answer_of(await line.ask(question_of(approval)))
            if kind is None:
                return
            now = await self._person(caller, approval, line)
            if now is not None and now.id == person.id:
                await self.answer(now, approval.id, Reply(kind=kind, via=Via.ELICITATION))
            else:
                _log.info("an answer to %s did not count: nobody answers there now", approval.id)
        except (InputUnsupported, InputRefused):
            return
        except PorticoError as error:
            _log.info("an answer to %s did not count: %s", approval.id, error)


# The run behind a request: it waits for the answer, and makes the call that was approved, once.
#
# A signal only wakes it; what was answered stands in the request. Between claiming the single use
# and noting what came of it, it may die: then nobody knows whether the call was made, and nobody
# makes it again but by a person's word.

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
        ticket: ApprovalGrant,
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
    news: ApprovalEvents
    audit: Audit
    unit_of_work: UnitOfWork
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
            unit_of_work=self.unit_of_work,
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
        if approval.run != durable.run or approval.requester.id != caller.id:
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
        who = approval.requester
        as_they_are = RevalidatePrincipal(key_ring=self.key_ring, clock=self.clock)
        asker = await as_they_are(caller, key=who.key, at=who.at)
        arguments = await self._arguments(caller, approval)
        called = await self.call_tool(
            asker, ToolRef.parse(approval.tool), arguments, whole=True, ticket=approval.ticket
        )
        now = self.clock.now()
        result = ResultId.mint(now, self.entropy)
        task = await self.contexts.get(asker)
        kept = StoredResult(
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
        plain = self.vault.decrypt(sealed, sealed_for(approval.id))
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
            async with self.unit_of_work(caller):
                if await self.approvals.end(caller, ended):
                    await self.audit.note(caller, about_end("approval.used", ended))
                    await self.news.publish(caller, "used", ended)
        except StoreUnavailable:
            return False
        return True


def _broken(approval: Approval, error: PorticoError) -> Approval:
    outcome = Outcome.UNCERTAIN if may_have_executed(approval.effect, error) else Outcome.FAILED
    return replace(approval, outcome=outcome, error=str(error))


def _told(approval: Approval) -> JsonObject:
    return {"status": approval.status, "outcome": approval.outcome, "result": approval.result}


class Latest(Protocol):
    async def __call__(self, caller: Principal, answer: ToolResult) -> ToolResult:
        """What a workflow gives by now, if it had not ended when it was answered so."""
        ...


async def as_kept(caller: Principal, answer: ToolResult) -> ToolResult:  # noqa: ARG001 # as the port is
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutcome:
    results: Results
    contexts: Contexts
    clock: Clock
    latest: Latest = as_kept

    async def __call__(self, caller: Principal, approval: Approval) -> Called | None:
        """Whole, as often as it is asked for until it is kept no longer. None if it gave nothing
        yet, if that is gone, and to everybody but the asker with a key that may call this."""
        if not (caller.may(Scope.TOOLS_CALL) and on_lists(caller, approval.tool)):
            return None
        if approval.outcome is not Outcome.DONE or approval.requester.id != caller.id:
            return None
        if approval.result is None:
            return Called(_said_to_be_done(approval), CallId(approval.id.value))
        try:
            kept = await self.results.get(caller, ResultId.parse(approval.result), self.clock.now())
        except ResultNotFound:
            return None
        # Whichever task it is read in takes it in, also one that did not ask for it.
        await self.contexts.raise_taint(caller, kept.label, untrusted=kept.untrusted)
        found = answer_from(kept.content)
        if found is None:
            return None
        answer, call = found
        if ToolRef.parse(approval.tool).server == WORKFLOWS:  # nobody else's server is called so
            answer = await self.latest(caller, answer)
        return Called(_with_note(answer, approval), call)


def _said_to_be_done(approval: Approval) -> ToolResult:
    """Which of the recorded calls it was, if any, nobody knows: it goes by its request's number."""
    if approval.action is Action.DECLASSIFY:
        told = "[This was done.]"
    elif approval.resolved_by is None:
        told = f"[This was done; what it answered could not be kept. {approval.error or ''}]"
    else:
        told = f"[{approval.resolved_by} says that this was done; what it answered is not known.]"
    return ToolResult(content=[{"type": "text", "text": told}])


def _with_note(answer: ToolResult, approval: Approval) -> ToolResult:
    """Whoever asked must know that what was done is not what they asked for."""
    if approval.replaces is None:
        return answer
    by = "" if approval.answered is None else f" by {approval.answered.by_name}"
    with_these = canonical(approval.arguments).decode()
    note: JsonObject = {
        "type": "text",
        "text": f"[approved{by} with other arguments than asked for: {with_these}]",
    }
    return replace(answer, content=[*answer.content, note])


_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BEFORE: Final = 5
"""Calls of the same task that whoever answers is shown."""
_LOOKED_THROUGH: Final = 50


class UnfinishedRun(Protocol):
    def __call__(self, answer: ToolResult, /) -> RunId | None:
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
    keep_result: StoreResult
    bus: Bus
    clock: Clock
    unfinished: UnfinishedRun
    wait: timedelta
    in_client: InClient = nobody_is_asked

    async def __call__(
        self,
        act: AccessRequest,
        decision: NeedsApproval,
        *,
        line: ClientChannel | None,
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
        return called if whole else await self._shortened(caller, called, act.target)

    async def in_place(
        self,
        act: AccessRequest,
        *,
        line: ClientChannel | None,
        whole: bool,
        waiter: Waiter | None = None,
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
        return called if whole else await self._shortened(caller, called, act.target)

    async def by_handle(
        self, caller: Principal, approval: ApprovalId, *, line: ClientChannel | None = None
    ) -> Called:
        """As the call itself, for its asker alone, and as often as one likes for as long as it is
        kept; whole. Raises `ApprovalNotFound` and `Refused` too."""
        found = await self.approvals.get(caller, approval)
        if found.requester.id != caller.id:
            raise ApprovalNotFound(str(approval))
        if not on_lists(caller, found.tool):
            raise Refused(found.tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)
        return await self._given(caller, await self._ended(caller, approval, line))

    async def _ended(
        self,
        caller: Principal,
        asked: ApprovalId,
        line: ClientChannel | None,
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
            await self.contexts.raise_taint(caller, ended.label, untrusted=True)
            why = ended.error or "what it gave is not kept any longer."
            raise ApprovedCallFailed(ended.tool, str(ended.id), why)
        return called

    async def _shortened(self, caller: Principal, called: Called, aim: ActionTarget) -> Called:
        shown, kept = await self.keep_result(
            caller, called.answer, label=aim.label, untrusted=not aim.trusted
        )
        return Called(shown, called.call, kept)

    async def _before(self, caller: Principal, context: ContextId) -> Sequence[JsonObject]:
        calls = await self.history.page(
            caller, of=caller.id, ref=None, before=None, limit=_LOOKED_THROUGH
        )
        return [_summary_of(call) for call in calls if call.context == context][:_BEFORE]


def _summary_of(call: Call) -> JsonObject:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadApproved:
    ask_first: AskFirst
    keep_result: StoreResult
    contexts: Contexts

    async def __call__(
        self, caller: Principal, approval: ApprovalId, *, line: ClientChannel | None = None
    ) -> Called:
        """Waits a while, as the call itself does; its beginning, if it is long. Raises
        `NotPermitted` and what that raises."""
        require_scope(caller, Scope.TOOLS_CALL)
        called = await self.ask_first.by_handle(caller, approval, line=line)
        # The task has taken it in by now, and so is at least as secret as it.
        task = await self.contexts.get(caller)
        shown, kept = await self.keep_result(
            caller, called.answer, label=task.label, untrusted=task.untrusted
        )
        return Called(shown, called.call, kept)
