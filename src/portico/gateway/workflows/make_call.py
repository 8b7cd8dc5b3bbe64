"""What the durable step of a call does: it makes the call, and keeps what it answered.

Before it is made, whatever may change something is written down as begun. Whoever finds it begun
already, and no answer kept, says that nobody knows: it is not made again. That is looked at before
anything else, since whatever refuses it by then says nothing of what became of it before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.execution import patiently
from portico.gateway.core.call import Answer, CallClaim, Called, ForRun, claim_of
from portico.gateway.core.errors import (
    BegunBefore,
    ResultNotFound,
    ToolSaidNo,
    UpstreamBusy,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.maybe_made import maybe_made
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory, Line
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Broken, Stopped, Ungiven
from portico.gateway.workflows.keep_answer import kept_answer, noted_of
from portico.gateway.workflows.needed import needed
from portico.gateway.workflows.outputs import Kept
from portico.gateway.workflows.progress_line import ProgressLine
from portico.gateway.workflows.turns import Turns
from portico.guard.core.approvals import Waiter
from portico.guard.core.errors import ApprovalPending, LimitReached
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

_FIRST_PAUSE: Final = 0.5
"""Seconds before a second try; twice as long before each later one."""
_LONGEST_PAUSE: Final = 30.0
_PATIENCE: Final = 5
"""How often a call waits until its caller may make one again."""
_LONGEST_WAIT: Final = 60.0
_AGAIN: Final = (UpstreamDown, UpstreamTimedOut, UpstreamBusy, ToolSaidNo)
"""What may go better the next time."""


Arguments = Callable[[], Awaitable[JsonObject]]
"""Put together when the call is made, and not before: most of them may have to wait for it, and
what was made already needs none. They raise what cannot be put together, and `Broken`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWish:
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
        line: Line | None,
        for_run: ForRun,
    ) -> Called: ...


def approval_topic(step: str, leg: int) -> str:
    """Another one each time that somebody takes the run up again: then it is asked anew."""
    return f"~approval:{step}:{leg}"


@dataclass(frozen=True, slots=True)
class _Attempt:
    acting: Acting
    wish: CallWish
    name: str
    claim: CallClaim
    line: ProgressLine


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
        self, acting: Acting, wish: CallWish, name: str
    ) -> Callable[[str], Awaitable[JsonValue]]:
        """Gives where the answer is kept (`result`, `size`), what was asked (`approval`, `topic`,
        `left`), or why nobody knows what became of it (`uncertain`). Raises what a call raises,
        `ToolSaidNo`, what putting its arguments together raises, `Stopped` and `Broken`."""

        async def action(_key: str) -> JsonValue:
            claim = claim_of(acting.durable.run, name, acting.durable.leg)
            line = ProgressLine(acting.durable, name, acting.clock)
            attempt = _Attempt(acting, wish, name, claim, line)
            if await self._begun(attempt):
                return await self._found(attempt)
            asker = await patiently(acting.asker)
            effect = await patiently(lambda: self.effect_of(asker, wish.tool))
            try:
                if effect.reads_only:
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
            if not maybe_made(effect, error):
                raise
            return {"uncertain": error.code}
        except Exception as error:  # noqa: BLE001 # whatever it was, it may have been made
            return {"uncertain": type(error).__name__}
        if isinstance(called, _Asked):
            return self._noted_asked(called)
        return await self._written(attempt, called.answer)

    async def _written(self, attempt: _Attempt, answer: Answer) -> JsonValue:
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
        return bool(await patiently(lambda: self.history.begun(caller, [attempt.claim])))

    async def _found(self, attempt: _Attempt) -> JsonValue:
        """Whoever died after it was answered has kept the answer first. Raises `ToolSaidNo`, and
        `Broken` if that cannot be looked at."""
        acting, result = attempt.acting, attempt.claim.result
        asker = await needed(acting.asker)
        try:
            document = await patiently(lambda: acting.outputs.get(asker, result))
        except ResultNotFound:
            return {"uncertain": BegunBefore.code}
        except PorticoError as error:
            raise Broken(error) from error
        if isinstance(document, Mapping) and document.get("isError") is True:
            raise ToolSaidNo(str(attempt.wish.tool), str(result))
        return noted_of(Kept.of(result, document))

    async def _called(self, attempt: _Attempt) -> Called | _Asked:
        """Raises `Stopped`, and what calling it raises."""
        for _ in range(_PATIENCE):
            try:
                return await patiently(lambda: self._made(attempt))
            except LimitReached as error:
                await asyncio.sleep(min(error.retry_after.total_seconds(), _LONGEST_WAIT))
        return await patiently(lambda: self._made(attempt))

    async def _made(self, attempt: _Attempt) -> Called | _Asked:
        """Raises `Stopped`, `Ungiven`, `Broken`, and what calling it raises."""
        acting, wish = attempt.acting, attempt.wish
        asker, run = await acting.asker(), acting.durable.run
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


async def _given(wish: CallWish) -> JsonObject:
    """Raises `Ungiven`, `Broken`."""
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
    await attempt.acting.durable.tell(name, "workflow.step_retried", facts)
