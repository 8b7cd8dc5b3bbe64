"""Calls of tools: check, call, record, list."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeVar

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import (
    Call,
    CallClaim,
    Called,
    CallId,
    CallOutcome,
    CallStats,
    ForRun,
    OnBehalf,
    ToolResult,
    UpstreamTarget,
    Verb,
    aim_at,
    for_the_record,
    may_have_executed,
    verb_for,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    InvalidArguments,
    ToolQuarantined,
    UpstreamDown,
    UpstreamTimedOut,
    WrongVerb,
)
from portico.gateway.core.reserved_metadata import admits, unmarked, without_admission
from portico.gateway.core.servers import Server
from portico.gateway.ports import CallHistory, ClientChannel, SchemaCheck, Servers, Upstreams
from portico.gateway.results import StoreResult
from portico.gateway.tool_usage import ToolUsageRecorder
from portico.guard.core.access_request import AccessRequest, Action, NeedsApproval
from portico.guard.core.approvals import ApprovalGrant, Waiter
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import Refused
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, join, may_read
from portico.kernel.principal import Principal

Answered = TypeVar("Answered")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCall:
    history: CallHistory
    clock: Clock
    entropy: Entropy
    clean: Callable[[JsonValue], JsonValue]
    """Without the secrets that the house knows of."""

    async def record_start(
        self,
        act: AccessRequest,
        timeout: timedelta,
        *,
        claim: CallClaim | None = None,
        label: Label = PUBLIC,
    ) -> Call:
        """What only reads is not claimed: it may be made again. It is as secret as its server, its
        task and `label` are. Raises `BegunBefore`."""
        now = self.clock.now()
        claim = None if act.target.effect.is_read_only else claim
        call = Call(
            id=CallId.mint(now, self.entropy) if claim is None else claim.id,
            principal=act.caller.id,
            ref=ToolRef.parse(act.target.tool),
            effect=act.target.effect,
            pin=act.target.pin,
            arguments=for_the_record(self.clean(act.arguments)),
            started_at=now,
            due_at=now + timeout,
            label=join([act.target.label, label]),
            context=context_of(act.caller),
        )
        if call.effect.is_read_only:
            return call
        if claim is None:
            await self.history.record_start(act.caller, call)
        else:
            await self.history.begin_once(act.caller, call, claim)
        return call

    async def end(
        self,
        act: AccessRequest,
        call: Call,
        made: Awaitable[Answered],
        told: Callable[[Answered], tuple[CallOutcome, int]],
    ) -> Answered:
        """`told` says how it went, and how long the answer is. Raises what `made` raises."""
        # Of whatever else takes us away from it, nobody can say that it was not made.
        unknown = CallOutcome.BROKEN if call.effect.is_read_only else CallOutcome.UNCERTAIN
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
    return error.reached and not call.effect.is_read_only


def _outcome(call: Call, error: PorticoError) -> CallOutcome:
    if isinstance(error, UpstreamTimedOut):
        return CallOutcome.TIMED_OUT
    return CallOutcome.UNCERTAIN if may_have_executed(call.effect, error) else CallOutcome.BROKEN


_FLAWS_TOLD: Final = 8
_OTHER_CALL: Final = "what was approved is another call than this one has become"


class Asking(Protocol):
    """Somebody is asked whether this may be done, and then it is."""

    async def __call__(
        self,
        act: AccessRequest,
        decision: NeedsApproval,
        *,
        line: ClientChannel | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called:
        """With a waiter nothing is waited for here. Raises `ApprovalPending`,
        `ApprovalRejected`."""
        ...

    async def in_place(
        self,
        act: AccessRequest,
        *,
        line: ClientChannel | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called | None:
        """Of what is allowed: it is asked for no more. What came of it if somebody had said yes
        to it already. Raises `ApprovalPending`."""
        ...


class CallObserver(Protocol):
    """Learns from calls that were made. The caller waits while it takes note, so it does no more
    than that, and raises nothing."""

    def note(
        self,
        act: AccessRequest,
        server: Server,
        began: datetime,
        answer: ToolResult,
        *,
        in_run: bool = False,
    ) -> None:
        """A caller has called this and was given that answer. `in_run`: the call was made for a
        run; the order of a plan's calls says nothing of what somebody does next."""
        ...


class Prefetcher(Protocol):
    """Holds answers to reads that were made before anybody asked for them. Asking it costs the
    caller next to nothing."""

    def changing(self, act: AccessRequest) -> AbstractContextManager[None]:
        """While the call is being made: if it may change something, nothing that was read before
        it, or during it, is served after it."""
        ...

    async def claim(
        self, act: AccessRequest, again: Callable[[], Awaitable[Server]], *, timeout: timedelta
    ) -> ToolResult | None:
        """What the tool answered to exactly this a moment ago, if it was prefetched for this
        caller in this task; one that is still under way is waited for, and is then the caller's
        own. `again` looks once more whether it may be called: what it raises is raised. None: the
        call has to be made."""
        ...


class _NoPrefetch:
    def changing(self, act: AccessRequest) -> AbstractContextManager[None]:  # noqa: ARG002 # of no matter
        return nullcontext()

    async def claim(
        self,
        act: AccessRequest,  # noqa: ARG002 # nothing was prefetched for it
        again: Callable[[], Awaitable[Server]],  # noqa: ARG002 # so nothing is looked at again
        *,
        timeout: timedelta,  # noqa: ARG002 # nor waited for
    ) -> ToolResult | None:
        return None


NO_PREFETCH: Final[Prefetcher] = _NoPrefetch()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool:
    catalogues: Catalogs
    schemas: SchemaCheck
    gate: Gate
    ask_first: Asking
    upstreams: Upstreams
    record: RecordCall
    tool_usage: ToolUsageRecorder
    keep_result: StoreResult
    timeout: timedelta
    retries: int = 2
    """Of a call that can change nothing, when its server broke off."""
    prefetcher: Prefetcher = NO_PREFETCH
    observers: Sequence[CallObserver] = ()

    async def __call__(  # noqa: PLR0913 # how it is wanted, one by one
        self,
        caller: Principal,
        ref: ToolRef,
        arguments: JsonObject,
        *,
        verb: Verb | None = None,
        line: ClientChannel | None = None,
        whole: bool = False,
        ticket: ApprovalGrant | None = None,
        for_run: ForRun | None = None,
    ) -> Called:
        """`whole`: as long as it is, never only its beginning. `ticket`: somebody has approved
        exactly this. `for_run`: once, also if whoever makes it dies in between; raises
        `BegunBefore`. Raises what the catalogue, the check, the guard and the server raise."""
        waiter = None if for_run is None else for_run.waiter
        with self.gate.in_front(caller, Action.CALL, str(ref)):
            require_scope(caller, Scope.TOOLS_CALL)
            shelf = await self.catalogues.current(caller)
            self._check(shelf.find(ref), arguments, verb)
        act = act_on(caller, shelf, ref, arguments)
        decision = await self.gate(act, ticket=ticket)
        if isinstance(decision, NeedsApproval):
            if ticket is not None:
                raise Refused(str(ref), decision.rule, _OTHER_CALL, who=caller.name, key=caller.key)
            return await self.ask_first(act, decision, line=line, whole=whole, waiter=waiter)
        if ticket is None and not act.target.effect.is_read_only:
            done = await self.ask_first.in_place(act, line=line, whole=whole, waiter=waiter)
            if done is not None:
                return done

        server = shelf.server(ref.server)
        timeout = self._timeout(server, for_run)
        # Before it is made: its progress and its complaints are the server's words too.
        await self.gate.taint_context(caller, act.target)
        claim = None if for_run is None else for_run.claim
        label = _label_of(for_run, ticket)
        call = await self.record.record_start(act, timeout, claim=claim, label=label)
        in_run = for_run is not None or (ticket is not None and ticket.for_run)
        with self.prefetcher.changing(act):
            made = self._made(act, call, timeout, line, in_run=in_run)
            answer = await self.record.end(act, call, made, _told)
        if admits(answer) and not server.holds_workflows:
            answer = without_admission(answer)
        self.tool_usage.note(caller, ref)
        if not admits(answer):
            self._observed(act, server, call, answer, in_run=in_run)
        if whole:
            return Called(answer, call.id)
        shown, kept = await self.keep_result(
            caller, answer, label=act.target.label, untrusted=not act.target.trusted
        )
        return Called(shown, call.id, kept)

    def _observed(
        self, act: AccessRequest, server: Server, call: Call, answer: ToolResult, *, in_run: bool
    ) -> None:
        for observer in self.observers:
            observer.note(act, server, call.started_at, answer, in_run=in_run)

    def _timeout(self, server: Server, for_run: ForRun | None) -> timedelta:
        """Whoever wants to wait longer than for others' calls would hold up the others'."""
        own = timedelta(seconds=server.timeout) if server.timeout else self.timeout
        wished = None if for_run is None else for_run.timeout
        return own if wished is None else min(own, wished)

    def _check(self, tool: CallableTool, arguments: JsonObject, verb: Verb | None) -> None:
        right = verb_for(tool.effect)
        if verb is not None and verb is not right:
            raise WrongVerb(str(tool.ref), tool.effect, right)
        flaws = self.schemas.field_errors(tool.definition.input_schema, arguments)
        if flaws:
            more = max(0, len(flaws) - _FLAWS_TOLD)
            raise InvalidArguments(str(tool.ref), flaws[:_FLAWS_TOLD], more=more)

    async def _made(
        self,
        act: AccessRequest,
        call: Call,
        timeout: timedelta,
        line: ClientChannel | None,
        *,
        in_run: bool,
    ) -> ToolResult:
        """A read is tried again where its server broke off, anything else only if it never got
        there. Each time it must still be what may be called, at the server that it is by then."""
        left = self.retries
        now = partial(self._server, act, call.ref)
        while True:
            there = await self.prefetcher.claim(act, now, timeout=timeout)
            if there is not None:
                return there
            target = _target(act, await now(), call, in_run=in_run)
            try:
                return unmarked(
                    await self.upstreams.call(
                        target, call.ref.name, act.arguments, timeout=timeout, line=line
                    )
                )
            except UpstreamDown as error:
                if not left or maybe_done(call, error):
                    raise
                left -= 1

    async def _server(self, act: AccessRequest, ref: ToolRef) -> Server:
        """It is still exactly what was decided about: its definition, its effect, its labels."""
        shelf = await self.catalogues.current(act.caller)
        if act_on(act.caller, shelf, ref, act.arguments).target != act.target:
            raise ToolQuarantined(str(ref), ref.server)
        return shelf.server(ref.server)


def _target(act: AccessRequest, server: Server, call: Call, *, in_run: bool) -> UpstreamTarget:
    caller = act.caller
    links = caller.may(Scope.TOOLS_WRITE)
    acting = OnBehalf(caller, in_run=in_run, call=str(call.id))
    return UpstreamTarget.of(caller.space, server, caller.id, links=links, acting=acting)


def act_on(
    caller: Principal, shelf: CatalogSnapshot, ref: ToolRef, arguments: JsonObject
) -> AccessRequest:
    tool, server = shelf.find(ref), shelf.server(ref.server)
    return AccessRequest(
        caller=caller, target=aim_at(server, ref, tool.effect, tool.pin), arguments=arguments
    )


def _told(answer: ToolResult) -> tuple[CallOutcome, int]:
    return CallOutcome.FAILED if answer.failed else CallOutcome.DONE, answer.size


def _label_of(for_run: ForRun | None, ticket: ApprovalGrant | None) -> Label:
    """Of the run that makes it, or that it was approved for."""
    if for_run is not None:
        return for_run.label
    return PUBLIC if ticket is None else ticket.label


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments:
    """The guard's `ArgumentCheck`."""

    catalogues: Catalogs
    schemas: SchemaCheck

    async def __call__(self, caller: Principal, tool: str, arguments: JsonObject) -> None:
        """Raises `InvalidArguments`, and what finding the tool raises."""
        found = (await self.catalogues.current(caller)).find(ToolRef.parse(tool))
        flaws = self.schemas.field_errors(found.definition.input_schema, arguments)
        if flaws:
            raise InvalidArguments(tool, flaws)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCalls:
    history: CallHistory
    servers: Servers
    """All of them, whoever may know of which."""
    contexts: Contexts

    async def __call__(
        self,
        caller: Principal,
        *,
        ref: ToolRef | None = None,
        before: datetime | None = None,
        limit: int = 50,
    ) -> Sequence[Call]:
        """Newest first: everybody's, or for whoever may not see those, their own."""
        require_scope(caller, Scope.TOOLS_READ)
        of = None if caller.may(Scope.CALLS_READ) else caller.id
        beyond = await _beyond(caller, self.servers)
        found = await self.history.page(
            caller, of=of, ref=ref, before=before, limit=limit, beyond=beyond
        )
        if found:  # what was called with, and what servers complained of, has been read then
            await self.contexts.raise_taint(
                caller, join(its.label for its in found), untrusted=True
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCallStats:
    history: CallHistory
    servers: Servers
    clock: Clock

    async def __call__(
        self, caller: Principal, *, server: str | None = None, within: timedelta
    ) -> Sequence[CallStats]:
        """One a server; with a server, one a tool of it."""
        require_scope(caller, Scope.SERVERS_READ)
        since = self.clock.now() - within
        beyond = await _beyond(caller, self.servers)
        return await self.history.stats(caller, since=since, server=server, beyond=beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOwnCallStats:
    """How the caller's own calls went, for which nobody needs a right to look at others'."""

    history: CallHistory
    servers: Servers
    clock: Clock

    async def __call__(
        self, caller: Principal, *, server: str | None = None, within: timedelta
    ) -> Sequence[CallStats]:
        """One a server; with a server, one a tool of it."""
        require_scope(caller, Scope.TOOLS_READ)
        since = self.clock.now() - within
        beyond = await _beyond(caller, self.servers)
        task = caller.context if caller.shared else None
        return await self.history.stats(
            caller, since=since, server=server, of=caller.id, task=task, beyond=beyond
        )


async def _beyond(caller: Principal, servers: Servers) -> Collection[str]:
    """What has been labelled above the caller since it was called."""
    every = await servers.all(caller)
    return [its.name for its in every if not may_read(caller.clearance, its.label)]
