"""Run one tool for one caller: find it, check what it is given, call it, remember it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.call import Answer, Call, CallId, CallOutcome, ResultId, Verb, verb_for
from portico.gateway.core.errors import (
    BadArguments,
    ToolQuarantined,
    UpstreamDown,
    UpstreamTimedOut,
    WrongVerb,
)
from portico.gateway.core.record import for_the_record
from portico.gateway.core.tool import ToolRef
from portico.gateway.core.upstream import Target
from portico.gateway.habits import Habits
from portico.gateway.keep_result import KeepResult
from portico.gateway.ports import CallHistory, Line, SchemaCheck, Upstreams
from portico.gateway.shelf import LiveTool
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

_FLAWS_TOLD = 8


@dataclass(frozen=True, slots=True)
class Called:
    answer: Answer
    call: CallId
    kept: ResultId | None = None
    """Where the whole of it is, if what is answered is only its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool:
    catalogues: Catalogues
    schemas: SchemaCheck
    upstreams: Upstreams
    history: CallHistory
    habits: Habits
    keep_result: KeepResult
    clock: Clock
    entropy: Entropy
    clean: Callable[[JsonValue], JsonValue]
    """Without the secrets that the house knows of."""
    timeout: timedelta
    retries: int = 2
    """Of a call that can change nothing, when its server broke off."""

    async def __call__(
        self,
        caller: Principal,
        ref: ToolRef,
        arguments: JsonObject,
        *,
        verb: Verb | None = None,
        line: Line | None = None,
        whole: bool = False,
    ) -> Called:
        """`whole`: as long as it is, never only its beginning. Raises what the catalogue, the
        check and the server raise."""
        permit(caller, Scope.TOOLS_CALL)
        shelf = await self.catalogues.current(caller)
        tool = shelf.find(ref)
        self._check(tool, arguments, verb)

        server = shelf.server(ref.server)
        timeout = timedelta(seconds=server.timeout) if server.timeout else self.timeout
        call = self._begun(caller, tool, arguments, timeout)
        if not tool.effect.reads_only:
            await self.history.begin(caller, call)
        answer = await self._recorded(caller, _Journey(call, arguments, timeout, line))
        self.habits.note(caller, ref)
        if whole:
            return Called(answer, call.id)
        shown, kept = await self.keep_result(caller, answer)
        return Called(shown, call.id, kept)

    def _check(self, tool: LiveTool, arguments: JsonObject, verb: Verb | None) -> None:
        right = verb_for(tool.effect)
        if verb is not None and verb is not right:
            raise WrongVerb(str(tool.ref), tool.effect, right)
        flaws = self.schemas.flaws(tool.definition.input_schema, arguments)
        if flaws:
            more = max(0, len(flaws) - _FLAWS_TOLD)
            raise BadArguments(str(tool.ref), flaws[:_FLAWS_TOLD], more=more)

    def _begun(
        self, caller: Principal, tool: LiveTool, arguments: JsonObject, timeout: timedelta
    ) -> Call:
        now = self.clock.now()
        return Call(
            id=CallId.mint(now, self.entropy),
            principal=caller.id,
            ref=tool.ref,
            effect=tool.effect,
            pin=tool.pin,
            arguments=for_the_record(self.clean(arguments)),
            started_at=now,
            due_at=now + timeout,
        )

    async def _recorded(self, caller: Principal, journey: "_Journey") -> Answer:
        call = journey.call
        ended = replace(call, outcome=CallOutcome.BROKEN)
        try:
            answer = await self._made(caller, journey)
            outcome = CallOutcome.FAILED if answer.failed else CallOutcome.DONE
            ended = replace(call, outcome=outcome, bytes_out=answer.size)
        except asyncio.CancelledError:
            ended = replace(call, outcome=CallOutcome.CANCELLED)
            raise
        except UpstreamTimedOut as error:
            ended = replace(call, outcome=CallOutcome.TIMED_OUT, error=str(error))
            raise
        except UpstreamDown as error:
            outcome = CallOutcome.UNCERTAIN if _maybe_done(call, error) else CallOutcome.BROKEN
            ended = replace(call, outcome=outcome, error=str(error))
            raise
        except PorticoError as error:
            ended = replace(call, outcome=CallOutcome.BROKEN, error=str(error))
            raise
        finally:
            took = self.clock.now() - call.started_at
            await asyncio.shield(self.history.record(caller, replace(ended, took=took)))
        return answer

    async def _made(self, caller: Principal, journey: "_Journey") -> Answer:
        """A read is tried again where its server broke off, anything else only if it never got
        there. Each time it must still be what may be called, at the server that it is by then."""
        left = self.retries
        while True:
            target = await self._target(caller, journey.call)
            try:
                return await self.upstreams.call(
                    target,
                    journey.call.ref.name,
                    journey.arguments,
                    timeout=journey.timeout,
                    line=journey.line,
                )
            except UpstreamDown as error:
                if not left or _maybe_done(journey.call, error):
                    raise
                left -= 1

    async def _target(self, caller: Principal, call: Call) -> Target:
        shelf = await self.catalogues.current(caller)
        if shelf.find(call.ref).pin != call.pin:
            raise ToolQuarantined(str(call.ref), call.ref.server)
        return Target.of(caller.space, shelf.server(call.ref.server), caller.id)


def _maybe_done(call: Call, error: UpstreamDown) -> bool:
    return error.reached and not call.effect.reads_only


@dataclass(frozen=True, slots=True)
class _Journey:
    """One call on its way: what, with what, for how long, and the way back."""

    call: Call
    arguments: JsonObject
    timeout: timedelta
    line: Line | None
