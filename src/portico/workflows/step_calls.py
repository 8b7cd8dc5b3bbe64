"""Make the call of one step."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Protocol

from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Failure, Run, Step, StepState
from portico.engine.execution import Lost, retry_while_unavailable
from portico.gateway.approved_calls import ReadOutcome
from portico.gateway.core.calls import (
    CallClaim,
    Called,
    ClientCapability,
    ForRun,
    Question,
    ResultId,
    ToolResult,
    claim_of,
    may_have_executed,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    BegunBefore,
    InputUnsupported,
    ResultNotFound,
    ToolSaidNo,
    UpstreamBusy,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.ports import CallHistory, ClientChannel
from portico.guard.approvals import Approvals
from portico.guard.core.approvals import Approval, Outcome, Resolution, Status, Waiter
from portico.guard.core.errors import (
    ApprovalOver,
    ApprovalPending,
    ApprovalRejected,
    ApprovedCallFailed,
    LimitReached,
)
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows.core.plan_progress import later_topic
from portico.workflows.core.plan_report import StepReport, owner
from portico.workflows.core.saved import ADMITTED
from portico.workflows.run_context import (
    Acting,
    CallResult,
    DependencyUnavailable,
    LeftOut,
    Stopped,
    StoredOutput,
    Succeeded,
    Turns,
    Ungiven,
    WentWrong,
    kept_answer,
    kept_unknown,
    needed,
    noted_of,
)

_WAITS: Final = "signal:~uncertain:"
_MOST: Final = 20
"""Calls of a run that are looked up."""
_LATEST: Final = 200
"""Calls of a tool that are looked through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledWith:
    history: CallHistory

    async def __call__(
        self, caller: Principal, run: Run, journal: Sequence[Step], steps: Sequence[StepReport]
    ) -> Sequence[StepReport]:
        """For the caller of the run alone."""
        unknown = [*_unknown(journal)][:_MOST]
        found = {call: await self._of(caller, run, name, tool) for call, name, tool in unknown}
        told = {call: it for call, it in found.items() if it is not None}
        return [
            replace(step, called_with={call: told[call] for call in told if owner(call) == step.id})
            for step in steps
        ]

    async def _of(self, caller: Principal, run: Run, name: str, tool: ToolRef) -> JsonObject | None:
        claim = claim_of(run.id, name, run.leg)
        ids = {claim.id, *claim.earlier}
        latest = await self.history.page(caller, of=caller.id, ref=tool, before=None, limit=_LATEST)
        call = next((each for each in latest if each.id in ids), None)
        if call is None:
            return None
        at = call.started_at.isoformat()
        return {"tool": str(tool), "arguments": call.arguments, "started_at": at}


def _unknown(journal: Sequence[Step]) -> Iterator[tuple[str, str, ToolRef]]:
    """Each call that waits for somebody's word, with the name that it was last made under."""
    told = {step.name: step.output for step in journal}
    for step in journal:
        if step.state is StepState.OPEN and step.name.startswith(_WAITS):
            call, _, number = step.name.removeprefix(_WAITS).rpartition(":")
            facts = told.get(f"{call}:uncertain:{number}")
            tool = facts.get("tool") if isinstance(facts, Mapping) else None
            if isinstance(tool, str):
                yield call, call if number == "1" else f"{call}~{number}", ToolRef.parse(tool)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEnd:
    approvals: Approvals
    read_outcome: ReadOutcome
    clock: Clock

    def action(self, acting: Acting, approval: ApprovalId) -> Callable[[str], Awaitable[JsonValue]]:
        """Of a durable step: where what it gave is kept, that it was left out, or None if it is not
        over yet. It raises what the request ended in otherwise, and `DependencyUnavailable` if that
        cannot be read: what was made has not failed for that."""

        async def action(_key: str) -> JsonValue:
            asker = await needed(acting.requester)
            found = await needed(lambda: self._followed(asker, approval))
            if not found.over_at(self.clock.now()):
                return None
            if found.outcome is Outcome.SKIPPED:
                by = found.resolved_by or "somebody"
                return {"left_out": f"{by} says that it was not done, and shall not be"}
            answer = await self._answer(asker, self._made(found))
            if answer is None:
                return noted_of(await needed(lambda: kept_unknown(acting)))
            return noted_of(await needed(lambda: kept_answer(acting, found.tool, answer, None)))

        return action

    async def _answer(self, requester: Principal, approval: Approval) -> ToolResult | None:
        """None if it was done, and nobody knows what it answered. Raises
        `ApprovedCallFailed`, `DependencyUnavailable`."""
        if approval.outcome is Outcome.DONE and approval.result is None:
            return None
        called = await needed(lambda: self.read_outcome(requester, approval))
        if called is not None:
            return called.answer
        said_no = approval.result is not None and approval.error is not None
        if approval.outcome is Outcome.DONE and not said_no:
            return None
        why = approval.error or "it is not said why."
        raise ApprovedCallFailed(approval.tool, str(approval.id), why)

    def _made(self, approval: Approval) -> Approval:
        """Raises `ApprovalRejected`, `ApprovalOver`."""
        status = approval.status_at(self.clock.now())
        if status is Status.REJECTED:
            reason = None if approval.answered is None else approval.answered.reason
            raise ApprovalRejected(approval.tool, str(approval.id), reason)
        if approval.outcome is None:
            raise ApprovalOver(str(approval.id), status, None)
        return approval

    async def _followed(self, requester: Principal, approval: ApprovalId) -> Approval:
        """The one that was approved in its place, if it was edited."""
        found = await self.approvals.get(requester, approval)
        if found.replaced_by is None:
            return found
        return await self._followed(requester, found.replaced_by)


_PAUSE: Final = timedelta(seconds=1)
_PATIENCE: Final = 1.0
"""Seconds."""
_MOST_PROGRESS: Final = 100
"""Of one call; each is a row of its run's journal."""


@dataclass(slots=True)
class ProgressChannel:
    """The gateway's `ClientChannel` of a call that nobody listens to: its server can ask nobody,
    and its words stay unsaid, since others read the events of a run than those who may read its
    values."""

    durable: Durable
    step: str
    clock: Clock
    _told: int = field(default=0, init=False)
    _last: datetime | None = field(default=None, init=False)

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        return frozenset()

    @property
    def log_level(self) -> str | None:
        return None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 # a server's words
        now = self.clock.now()
        if self._told >= _MOST_PROGRESS or (self._last is not None and now - self._last < _PAUSE):
            return
        self._told, self._last = self._told + 1, now
        facts: JsonObject = {"step": self.step, "done": done, "total": total}
        name = f"{self.step}:progress:{self._told}"
        # The run may have become somebody else's, or the store may be away. Whoever carries it out
        # finds that by itself, and the server's own line, on which this is called, is not ours to
        # cut or to hold up: its answer comes by it.
        with suppress(Lost, PorticoError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self.durable.publish(name, "workflow.step_progress", facts)

    async def log(self, params: JsonObject) -> None:
        """Nobody asked for it."""

    async def ask(self, question: Question) -> JsonObject:
        raise InputUnsupported(self.step, str(question.wanted))


# What the durable step of a call does: it makes the call, and keeps what it answered.
#
# Before it is made, whatever may change something is written down as begun. Whoever finds it begun
# already, and no answer kept, says that nobody knows: it is not made again. That is looked at
# before anything else, since whatever refuses it by then says nothing of what became of it before.

_FIRST_PAUSE: Final = 0.5
"""Seconds before a second try; twice as long before each later one."""
_LONGEST_PAUSE: Final = 30.0
_MOST_WAITS: Final = 5
"""How often a call waits until its caller may make one again."""
_LONGEST_WAIT: Final = 60.0
_AGAIN: Final = (UpstreamDown, UpstreamTimedOut, UpstreamBusy, ToolSaidNo)
"""What may go better the next time."""


Arguments = Callable[[], Awaitable[JsonObject]]
"""Put together when the call is made, and not before: most of them may have to wait for it, and
what was made already needs none. They raise what cannot be put together, and
`DependencyUnavailable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSpec:
    step: str
    """The name of its durable step; no two calls of a run have the same."""
    tool: ToolRef
    arguments: Arguments
    timeout: timedelta | None = None
    tries: int = 1
    """Of what only reads."""


class Calling(Protocol):
    async def __call__(
        self,
        caller: Principal,
        ref: ToolRef,
        arguments: JsonObject,
        *,
        whole: bool,
        line: ClientChannel | None,
        for_run: ForRun,
    ) -> Called: ...


def approval_topic(step: str, leg: int) -> str:
    """Another one each time that somebody takes the run up again: then it is asked anew."""
    return f"~approval:{step}:{leg}"


@dataclass(frozen=True, slots=True)
class _Attempt:
    acting: Acting
    wish: CallSpec
    name: str
    claim: CallClaim
    line: ProgressChannel


@dataclass(frozen=True, slots=True)
class _Asked:
    pending: ApprovalPending
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeCall:
    call_tool: Calling
    effect_of: Callable[[Principal, ToolRef], Awaitable[Effect]]
    history: CallHistory
    servers: Turns
    """By space and server."""
    runs: Turns
    clock: Clock

    def action(
        self, acting: Acting, wish: CallSpec, name: str
    ) -> Callable[[str], Awaitable[JsonValue]]:
        """Gives where the answer is kept (`result`, `size`), what was asked (`approval`, `topic`,
        `left`), or why nobody knows what became of it (`uncertain`). Raises what a call raises,
        `ToolSaidNo`, what putting its arguments together raises, `Stopped` and
        `DependencyUnavailable`."""

        async def action(_key: str) -> JsonValue:
            claim = claim_of(acting.durable.run, name, acting.durable.leg)
            line = ProgressChannel(acting.durable, name, acting.clock)
            attempt = _Attempt(acting, wish, name, claim, line)
            if await self._begun(attempt):
                return await self._found(attempt)
            asker = await retry_while_unavailable(acting.requester)
            effect = await retry_while_unavailable(lambda: self.effect_of(asker, wish.tool))
            try:
                if effect.is_read_only:
                    return await self._read(attempt)
                return await self._write(attempt, effect)
            except Ungiven as ungiven:
                raise ungiven.error from ungiven

        return action

    async def _read(self, attempt: _Attempt) -> JsonValue:
        for number in range(1, attempt.wish.tries):
            try:
                return await self._answered(attempt)
            except _AGAIN as error:
                pause = min(_FIRST_PAUSE * 2 ** (number - 1), _LONGEST_PAUSE)
                await _tell_retried(attempt, number, error.code, pause)
                await asyncio.sleep(pause)
        return await self._answered(attempt)

    async def _answered(self, attempt: _Attempt) -> JsonValue:
        called = await self._called(attempt)
        if isinstance(called, _Asked):
            return self._noted_asked(called)
        acting, tool = attempt.acting, str(attempt.wish.tool)
        return noted_of(await needed(lambda: kept_answer(acting, tool, called.answer, None)))

    async def _write(self, attempt: _Attempt, effect: Effect) -> JsonValue:
        """Once: what may have been made nobody makes again but by a person's word."""
        try:
            called = await self._called(attempt)
        except BegunBefore:
            return await self._found(attempt)
        except PorticoError as error:
            if not may_have_executed(effect, error):
                raise
            return {"uncertain": error.code}
        except Exception as error:  # noqa: BLE001 # whatever it was, it may have been made
            return {"uncertain": type(error).__name__}
        if isinstance(called, _Asked):
            return self._noted_asked(called)
        return await self._written(attempt, called.answer)

    async def _written(self, attempt: _Attempt, answer: ToolResult) -> JsonValue:
        tool, keep_as = str(attempt.wish.tool), attempt.claim.result
        try:
            return noted_of(await kept_answer(attempt.acting, tool, answer, keep_as))
        except ToolSaidNo:
            raise
        except PorticoError as error:  # it was made, and what it answered is lost
            return {"uncertain": error.code}
        except Exception as error:  # noqa: BLE001 # the same
            return {"uncertain": type(error).__name__}

    async def _begun(self, attempt: _Attempt) -> bool:
        """In whose name that is asked does not matter: whoever may call nothing any more may have
        made this all the same."""
        acting = attempt.acting
        if not (acting.waits and acting.durable.again):
            return False
        caller = acting.durable.caller
        return bool(
            await retry_while_unavailable(
                lambda: self.history.find_started(caller, [attempt.claim])
            )
        )

    async def _found(self, attempt: _Attempt) -> JsonValue:
        """Whoever died after it was answered has kept the answer first. Raises `ToolSaidNo`, and
        `DependencyUnavailable` if that cannot be looked at."""
        acting, result = attempt.acting, attempt.claim.result
        asker = await needed(acting.requester)
        try:
            document = await retry_while_unavailable(lambda: acting.outputs.get(asker, result))
        except ResultNotFound:
            return {"uncertain": BegunBefore.code}
        except PorticoError as error:
            raise DependencyUnavailable(error) from error
        if isinstance(document, Mapping) and document.get("isError") is True:
            raise ToolSaidNo(str(attempt.wish.tool), str(result))
        return noted_of(StoredOutput.of(result, document))

    async def _called(self, attempt: _Attempt) -> Called | _Asked:
        """Raises `Stopped`, and what calling it raises."""
        for _ in range(_MOST_WAITS):
            try:
                return await retry_while_unavailable(lambda: self._made(attempt))
            except LimitReached as error:
                await asyncio.sleep(min(error.retry_after.total_seconds(), _LONGEST_WAIT))
        return await retry_while_unavailable(lambda: self._made(attempt))

    async def _made(self, attempt: _Attempt) -> Called | _Asked:
        """Raises `Stopped`, `Ungiven`, `DependencyUnavailable`, and what calling it raises."""
        acting, wish = attempt.acting, attempt.wish
        asker, run = await acting.requester(), acting.durable.run
        topic = approval_topic(attempt.name, acting.durable.leg)
        waiter = Waiter(run, topic, acting.label) if acting.waits else None
        async with self.runs(run), self.servers((asker.space, wish.tool.server)):
            if (by := acting.stopped()) is not None:
                raise Stopped(by)
            arguments = await _given(wish)
            try:
                return await self.call_tool(
                    asker,
                    wish.tool,
                    arguments,
                    whole=True,
                    line=attempt.line,
                    for_run=ForRun(
                        claim=attempt.claim,
                        waiter=waiter,
                        timeout=wish.timeout,
                        label=acting.label,
                    ),
                )
            except ApprovalPending as pending:
                if waiter is None:
                    raise
                return _Asked(pending, topic)

    def _noted_asked(self, asked: _Asked) -> JsonObject:
        left = (asked.pending.expires_at - self.clock.now()).total_seconds()
        return {
            "approval": asked.pending.approval,
            "topic": asked.topic,
            "left": max(left, 0.0),
        }


async def _given(wish: CallSpec) -> JsonObject:
    """Raises `Ungiven`, `DependencyUnavailable`."""
    try:
        return await wish.arguments()
    except PorticoError as error:
        raise Ungiven(error) from error


async def _tell_retried(attempt: _Attempt, number: int, code: str, pause: float) -> None:
    facts: JsonObject = {
        "step": attempt.name,
        "attempt": number,
        "code": code,
        "seconds": pause,
    }
    name = f"{attempt.name}:retried:{number}"
    await attempt.acting.durable.publish(name, "workflow.step_retried", facts)


# One call of a run, through the guard, once.
#
# Its durable step gives where the answer is kept, or that somebody has to be asked first, or that
# nobody knows whether it was made. Then the run waits, and holds nothing meanwhile: for the end of
# the request, or for a person's word.

_LATER: Final = timedelta(minutes=1)
"""It is told of the end of a request; should that be lost, it looks this much after it."""
_SELDOM: Final = timedelta(minutes=10)
"""What was approved may take long to be made: it looks twice as late each time, up to this."""


@dataclass(frozen=True, slots=True)
class _AwaitedApproval:
    approval: ApprovalId
    topic: str
    left: timedelta


def uncertain_topic(step: str, number: int) -> str:
    return f"~uncertain:{step}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    make: MakeCall
    read_end: ReadEnd

    async def __call__(self, acting: Acting, wish: CallSpec) -> CallResult:
        """What it came to; it raises nothing of that."""
        number = 1
        while True:
            name = wish.step if number == 1 else f"{wish.step}~{number}"
            try:
                noted = await acting.durable.step(name, self.make.action(acting, wish, name))
                came = await self._followed(acting, wish, number, noted)
            except StepFailed as failed:
                return WentWrong(failed.failure)
            except Stopped as stopped:
                return LeftOut(
                    f"the plan was stopped by {stopped.by!r}, which failed", stopped=True
                )
            if came is not None:
                return came
            number += 1

    async def _followed(
        self, acting: Acting, wish: CallSpec, number: int, noted: JsonValue
    ) -> CallResult | None:
        """None if somebody wants it to be tried again. Raises `StepFailed`."""
        match noted:
            case {"approval": str(approval), "topic": str(topic), "left": int() | float() as left}:
                asked = _AwaitedApproval(ApprovalId.parse(approval), topic, timedelta(seconds=left))
                return await self._approved(acting, wish, number, asked)
            case {"uncertain": str(why)}:
                return await self._uncertain(acting, wish, number, why)
            case _:
                return gave(noted)

    async def _approved(
        self, acting: Acting, wish: CallSpec, number: int, asked: _AwaitedApproval
    ) -> CallResult:
        """Raises `StepFailed`."""
        name = wish.step if number == 1 else f"{wish.step}~{number}"
        durable, approval = acting.durable, asked.approval
        facts: JsonObject = {
            "step": wish.step,
            "tool": str(wish.tool),
            "approval": str(approval),
        }
        await durable.publish(f"{name}:waiting", "workflow.step_waiting", facts)
        patience: timedelta | None = asked.left + _LATER
        for look in count(1):
            topic = later_topic(asked.topic, look)
            told = await durable.wait_for_signal(topic, patience=patience)
            step = f"{name}~approved" if look == 1 else f"{name}~approved-{look}"
            noted = await durable.step(step, self.read_end.action(acting, approval))
            if noted is not None:
                return _left_out(noted) or gave(noted)
            patience = min(_LATER * 2**look, _SELDOM)
            if isinstance(told, Mapping) and told.get("uncertain") is True:
                unknown = {**facts, "attempt": number, "why": "approved_call_uncertain"}
                await durable.publish(
                    f"{name}:uncertain:{look}+", "workflow.step_uncertain", unknown
                )
                patience = None
        raise AssertionError  # counting has no end

    async def _uncertain(
        self, acting: Acting, wish: CallSpec, number: int, why: str
    ) -> CallResult | None:
        """Raises `StepFailed`."""
        durable = acting.durable
        topic = uncertain_topic(wish.step, number)
        facts: JsonObject = {
            "step": wish.step,
            "tool": str(wish.tool),
            "attempt": number,
            "why": why,
        }
        await durable.publish(f"{wish.step}:uncertain:{number}", "workflow.step_uncertain", facts)
        told = await durable.wait_for_signal(topic)
        by = told.get("by") if isinstance(told, Mapping) else None
        match told:
            case {"resolution": Resolution.DONE}:
                return await self._said_done(acting, wish, number)
            case {"resolution": Resolution.RETRY}:
                return None
            case _:
                return LeftOut(f"{by} says that it was not done, and shall not be")

    async def _said_done(self, acting: Acting, wish: CallSpec, number: int) -> CallResult:
        async def action(_key: str) -> JsonValue:
            return noted_of(await needed(lambda: kept_unknown(acting)))

        return gave(await acting.durable.step(f"{wish.step}~said-{number}", action))


def gave(noted: JsonValue) -> CallResult:
    match noted:
        case {"result": str(result), "size": int(size), **more}:
            return Succeeded(ResultId.parse(result), size, more.get(ADMITTED) is True)
        case _:
            return WentWrong(Failure("BadJournal", "The journal does not say what it gave."))


def _left_out(noted: JsonValue) -> LeftOut | None:
    match noted:
        case {"left_out": str(why)}:
            return LeftOut(why)
        case _:
            return None


class OneCall(Protocol):
    async def __call__(self, acting: Acting, wish: CallSpec) -> CallResult:
        """What it came to; it raises nothing of that."""
        ...
