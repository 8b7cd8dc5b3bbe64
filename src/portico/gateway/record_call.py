"""Write down a call: before it is made if it may change something, and what became of it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from portico.gateway.core.call import Call, CallClaim, CallId, CallOutcome
from portico.gateway.core.errors import UpstreamDown, UpstreamTimedOut
from portico.gateway.core.maybe_made import maybe_made
from portico.gateway.core.record import for_the_record
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory
from portico.guard.core.access_request import Act
from portico.guard.core.contexts import context_of
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, join

Answered = TypeVar("Answered")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCall:
    history: CallHistory
    clock: Clock
    entropy: Entropy
    clean: Callable[[JsonValue], JsonValue]
    """Without the secrets that the house knows of."""

    async def begin(
        self,
        act: Act,
        timeout: timedelta,
        *,
        claim: CallClaim | None = None,
        label: Label = PUBLIC,
    ) -> Call:
        """What only reads is not claimed: it may be made again. It is as secret as its server, its
        task and `label` are. Raises `BegunBefore`."""
        now = self.clock.now()
        claim = None if act.aim.effect.reads_only else claim
        call = Call(
            id=CallId.mint(now, self.entropy) if claim is None else claim.id,
            principal=act.caller.id,
            ref=ToolRef.parse(act.aim.tool),
            effect=act.aim.effect,
            pin=act.aim.pin,
            arguments=for_the_record(self.clean(act.arguments)),
            started_at=now,
            due_at=now + timeout,
            label=join([act.aim.label, label]),
            context=context_of(act.caller),
        )
        if call.effect.reads_only:
            return call
        if claim is None:
            await self.history.begin(act.caller, call)
        else:
            await self.history.begin_once(act.caller, call, claim)
        return call

    async def end(
        self,
        act: Act,
        call: Call,
        made: Awaitable[Answered],
        told: Callable[[Answered], tuple[CallOutcome, int]],
    ) -> Answered:
        """`told` says how it went, and how long the answer is. Raises what `made` raises."""
        # Of whatever else takes us away from it, nobody can say that it was not made.
        unknown = CallOutcome.BROKEN if call.effect.reads_only else CallOutcome.UNCERTAIN
        ended = replace(call, outcome=unknown)
        try:
            answer = await made
            outcome, size = told(answer)
            ended = replace(call, outcome=outcome, bytes_out=size)
        except asyncio.CancelledError:
            ended = replace(call, outcome=CallOutcome.CANCELLED)
            raise
        except PorticoError as error:
            ended = replace(call, outcome=_outcome(call, error), error=str(error))
            raise
        finally:
            took = self.clock.now() - call.started_at
            await asyncio.shield(self.history.record(act.caller, replace(ended, took=took)))
        return answer


def maybe_done(call: Call, error: UpstreamDown) -> bool:
    return error.reached and not call.effect.reads_only


def _outcome(call: Call, error: PorticoError) -> CallOutcome:
    if isinstance(error, UpstreamTimedOut):
        return CallOutcome.TIMED_OUT
    return CallOutcome.UNCERTAIN if maybe_made(call.effect, error) else CallOutcome.BROKEN
