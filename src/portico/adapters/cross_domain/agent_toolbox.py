"""The gateway's tools in the hands of an agent: shown, called, and waited for."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from portico.adapters.cross_domain.agent_tool_exposure import (
    READ,
    Offers,
    first_page,
    page_of,
    words_of_answer,
    words_of_document,
    words_of_error,
    words_of_refusal,
)
from portico.agents.core.activation import RunInput
from portico.agents.core.agents import Agent
from portico.agents.core.errors import AgentRunOver, ToolNotAllowed
from portico.agents.core.events import RunNotice, ToolCallAwaitingApproval
from portico.agents.core.tool_calls import (
    SEARCH,
    Early,
    Offer,
    RenderedToolResult,
    RequestedToolCall,
    RunIdentity,
)
from portico.agents.core.traces import AgentRunStatus
from portico.agents.ports import AgentEventSink, Identities, Traces
from portico.agents.runs import ended_of, still_wanted
from portico.engine.core.errors import RunNotFound, StepFailed
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import RunQueries
from portico.gateway.calls import CallTool
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import Called, ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef, vendor_names
from portico.gateway.core.errors import (
    InvalidArguments,
    InvalidToolRef,
    ResultNotFound,
    ToolNotFound,
)
from portico.gateway.core.servers import Inside
from portico.gateway.core.surface import signature
from portico.gateway.core.untrusted_text import cut
from portico.gateway.ports import ClientChannel, Results
from portico.gateway.search import FindTools, SearchResult
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import AccessRequest, NeedsApproval
from portico.guard.core.approvals import Approval, Status, Waiter
from portico.guard.core.errors import Refused
from portico.guard.core.rules import fits
from portico.guard.core.vault import VaultClosed
from portico.kernel.clock import Clock
from portico.kernel.durable import Action, Durable, Work
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, meet
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import kept_words
from portico.workflows.run_context import (
    Acting,
    CallResult,
    DependencyUnavailable,
    LeftOut,
    Outputs,
    PrivateSteps,
    Succeeded,
    ThroughDurable,
    WentWrong,
)
from portico.workflows.step_calls import CallSpec, OneCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What is told of a call that waits."""

    approvals: Approvals
    withdraw: WithdrawApproval
    traces: Traces
    event_sink: AgentEventSink

    async def for_approval(
        self, acts: RunIdentity, wanted: RequestedToolCall, approval: ApprovalId
    ) -> None:
        """Of a run that somebody has stopped meanwhile nobody is asked any more."""
        found = await self.approvals.get(acts.caller, approval)
        told = ToolCallAwaitingApproval(
            turn=wanted.turn,
            call=wanted.call.id,
            tool=wanted.tool,
            approval=approval,
            expires_at=found.expires_at,
        )
        run, caller = acts.durable.run, acts.durable.caller
        await self.traces.mark(caller, run, AgentRunStatus.WAITING, label=acts.label)
        await self.event_sink.publish(caller, run, told, label=acts.label)
        if await self.traces.stop_asked(caller, run):
            await self._withdrawn(acts.caller, found)

    async def for_word(self, acts: RunIdentity, wanted: RequestedToolCall) -> None:
        run = acts.durable.run
        told = RunNotice(
            code="uncertain",
            message=f"Nobody knows whether {wanted.tool} was done. Say what became of it: "
            f"portico agents resolve {run} {wanted.step} done | retry | skip",
        )
        await self.traces.mark(acts.durable.caller, run, AgentRunStatus.WAITING, label=acts.label)
        await self.event_sink.publish(acts.durable.caller, run, told, label=acts.label)

    async def over(self, acts: RunIdentity) -> None:
        run = acts.durable.run
        await self.traces.mark(acts.durable.caller, run, AgentRunStatus.RUNNING, label=acts.label)

    async def _withdrawn(self, caller: Principal, asked: Approval) -> None:
        if asked.status is Status.WAITING:
            await self.withdraw.closed(caller, asked, "the run that asked was stopped")


@dataclass(slots=True)
class PendingApproval:
    """What one call has asked people for, if it has."""

    approval: ApprovalId | None = None
    waited: bool = False


@dataclass(frozen=True, slots=True)
class AgentCall(ThroughDurable):
    """`Durable`, in the name of the agent, for one call of it."""

    acts: RunIdentity
    wanted: RequestedToolCall
    waits: Waits
    asked: PendingApproval = field(default_factory=PendingApproval)

    @property
    def caller(self) -> Principal:
        return self.acts.caller

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        if self.acts.stopping and name == self.wanted.step:
            action = _not_begun
        return await self.inner.step(name, action, tries=tries)

    async def publish(self, name: str, type_: str, facts: JsonObject) -> None:
        await self.inner.publish(name, type_, facts)
        approval = facts.get("approval")
        if type_ == "workflow.step_waiting" and isinstance(approval, str):
            self.asked.approval = ApprovalId.parse(approval)
            await self._told(name, approval)
        elif type_ == "workflow.step_uncertain":
            await self._told(name, None)

    async def _told(self, name: str, approval: str | None) -> None:
        """In a step of its own, so that it is told once. It is no failure of the call that it
        could not be told."""
        acts, wanted, waits = self.acts, self.wanted, self.waits

        async def action(_key: str) -> JsonValue:
            with suppress(PorticoError):
                if approval is None:
                    await retry_while_unavailable(lambda: waits.for_word(acts, wanted))
                else:
                    asked = ApprovalId.parse(approval)
                    await retry_while_unavailable(lambda: waits.for_approval(acts, wanted, asked))
            return None

        self.asked.waited = True
        await self.inner.step(f"{name}~said", action)

    async def gone_on(self) -> None:
        """Once what it waited for is over."""
        if not self.asked.waited:
            return

        async def action(_key: str) -> JsonValue:
            with suppress(PorticoError):
                await retry_while_unavailable(lambda: self.waits.over(self.acts))
            return None

        await self.inner.step(f"{self.wanted.step}~on", action)


async def _not_begun(_key: str) -> JsonValue:
    """In place of a call that the journal knows nothing of, in a run that is to stop."""
    what = "The run was stopped: this call was not made, or nobody knows here that it was."
    raise Discreet(Failure("Stopped", what, AgentRunOver.code))


_FRESH: Final = timedelta(seconds=1)
"""So long it is not looked up again who somebody is."""


@dataclass(slots=True)
class _Seen:
    acting: Principal | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ForInitiator(ThroughDurable):
    """`Durable`, which knows its starter by the key and the lists that they came with."""

    initiator: Principal
    requester: JsonObject
    dependencies: "AgentWork"
    seen: _Seen = field(default_factory=_Seen)

    @property
    def caller(self) -> Principal:
        return self.initiator

    async def acting(self, agent: Agent) -> Principal:
        """The agent, with what its starter may now: a key that was revoked, and an agent that was
        removed, call nothing more. Raises `KeyEnded`, `PrincipalDisabled`."""
        now = self.dependencies.clock.now()
        if self.seen.acting is None or self.seen.at is None or now - self.seen.at > _FRESH:
            starter = await self.dependencies.initiator(self.inner, self.requester)
            less = replace(starter, clearance=_clearance(starter, self.requester))
            self.seen.acting = await self.dependencies.identities.acting(less, agent)
            self.seen.at = now
        return self.seen.acting


async def acting_in(durable: Durable, given: RunInput) -> Principal:
    """The agent, in the task of its run. Raises `KeyEnded`, `PrincipalDisabled`."""
    if not isinstance(durable, ForInitiator):
        raise TypeError("A run of an agent is carried out through `AgentWork`.")
    return replace(await durable.acting(given.agent), context=given.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    work: Work
    as_they_are: RevalidatePrincipal
    book: RunQueries
    identities: Identities
    traces: Traces
    event_sink: AgentEventSink
    clock: Clock

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `KeyEnded`, and what the work raises."""
        asker = given.get("asker")
        who = asker if isinstance(asker, Mapping) else {}
        try:
            starter = await retry_while_unavailable(lambda: self.initiator(durable, who))
        except PorticoError as error:
            await self._failed(durable, error)
            raise
        return await self.work(ForInitiator(durable, starter, who, self), given)

    async def initiator(self, durable: Durable, requester: JsonObject) -> Principal:
        """Raises `KeyEnded`, and `AgentRunOver` if the run in which an agent has started this one
        is wanted no more."""
        outer = requester.get("outer")
        if isinstance(outer, Mapping):
            await self._check_outer(durable, outer)
        key = requester.get("key")
        whose = key if isinstance(key, str) else None
        now = await self.as_they_are.no_more(durable.caller, key=whose, at=None)
        return replace(now, tools=tuple(dict.fromkeys([*now.tools, *_lists(requester)])))

    async def _check_outer(self, durable: Durable, outer: JsonObject) -> None:
        """Raises `KeyEnded`, `AgentRunOver`."""
        key, run = outer.get("key"), RunId.parse(str(outer.get("run")))
        if isinstance(key, str):
            await self.as_they_are.opening(key)
        if await self.traces.stop_asked(durable.caller, durable.run):
            return  # it was stopped with the outer one, and ends as such
        with suppress(RunNotFound):  # it ended long ago, and is not kept any more
            await still_wanted(self.traces, self.book, durable.caller, run)

    async def _failed(self, durable: Durable, error: PorticoError) -> None:
        """Its starter may do nothing any more, and whoever follows it is told so."""
        caller, run = durable.caller, durable.run
        trace = (await retry_while_unavailable(lambda: self.traces.read(caller, run))).run
        if trace.status.over:
            return
        ended = replace(
            trace,
            status=AgentRunStatus.FAILED,
            ended_at=self.clock.now(),
            error_code=error.code,
            error=str(error),
        )
        await retry_while_unavailable(lambda: self.traces.end(caller, ended))
        told = replace(ended_of(ended), fix=error.fix)
        await retry_while_unavailable(
            lambda: self.event_sink.publish(caller, run, told, label=ended.label)
        )


def _clearance(starter: Principal, asker: JsonObject) -> Label:
    """What its starter may know, and no more than they let this run read."""
    less = asker.get("clearance")
    return (
        meet(starter.clearance, Label.parse(less)) if isinstance(less, str) else starter.clearance
    )


def _lists(asker: JsonObject) -> Sequence[tuple[str, ...]]:
    lists = asker.get("tools")
    if isinstance(lists, str) or not isinstance(lists, Sequence):
        return ()
    return [tuple(map(str, each)) for each in lists if isinstance(each, Sequence)]


_LEFT_OUT: Final = "left_out"
_BETWEEN: Final = "__"
"""What stands between the server and the tool in the names that models are shown."""
_LONGEST_SIGNATURE: Final = 600
_FOUND: Final = 12
"""Tools that a search tells of."""


class WouldAsk(Exception):
    """Somebody would have to be asked first."""


class AsksNobody:
    """The gateway's `Asking` for what is begun while a model still speaks: whatever somebody would
    have to approve is left to the step, which can wait."""

    async def __call__(
        self,
        act: AccessRequest,  # noqa: ARG002 # as the port names them
        decision: NeedsApproval,  # noqa: ARG002 # likewise
        *,
        line: ClientChannel | None,  # noqa: ARG002 # likewise
        whole: bool,  # noqa: ARG002 # likewise
        waiter: Waiter | None = None,  # noqa: ARG002 # likewise
    ) -> Called:
        raise WouldAsk

    async def in_place(
        self,
        act: AccessRequest,  # noqa: ARG002 # as the port names them
        *,
        line: ClientChannel | None,  # noqa: ARG002 # likewise
        whole: bool,  # noqa: ARG002 # likewise
        waiter: Waiter | None = None,  # noqa: ARG002 # likewise
    ) -> Called | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayToolbox:
    offers: Offers
    catalogues: Catalogs
    find_tools: FindTools
    one_call: OneCall
    at_once: CallTool
    """Which asks nobody."""
    new_outputs: Callable[[], Outputs]
    results: Results
    waits: Waits
    clock: Clock
    page_size: int
    keep_for: timedelta

    async def offered(self, acts: RunIdentity, *, words: str, most: int, tokens: int) -> Offer:
        return await self.offers(acts.caller, words, most, tokens)

    async def named(self, acts: RunIdentity, name: str) -> str:
        if "." in name or _BETWEEN not in name:
            return name
        with suppress(ToolNotFound, InvalidToolRef):
            return str(await self._ref(acts.caller, name))
        return name

    async def effect(self, acts: RunIdentity, tool: str) -> Effect:
        if tool in {SEARCH, READ}:
            return Effect.LOCAL_READ
        shelf = await self.catalogues.offered(acts.caller)
        try:
            return shelf.find(ToolRef.parse(tool)).effect
        except InvalidToolRef as error:
            raise ToolNotFound(tool) from error

    async def early(self, acts: RunIdentity, wanted: RequestedToolCall) -> Early | None:
        """A part of Portico itself is left to the step: what it starts belongs to the run."""
        try:
            ref = ToolRef.parse(wanted.tool)
            shelf = await self.catalogues.offered(acts.caller)
            inside = isinstance(shelf.server(ref.server).launch, Inside)
            if inside or not shelf.find(ref).effect.is_read_only:
                return None
            called = await self.at_once(acts.caller, ref, wanted.arguments, whole=True)
            text = await self._paged(acts, wanted, words_of_answer(called.answer))
        except (PorticoError, WouldAsk):
            return None
        return Early(RenderedToolResult(text=text, failed=called.answer.failed, label=acts.label))

    async def call(
        self, acts: RunIdentity, wanted: RequestedToolCall, *, early: Early | None
    ) -> RenderedToolResult:
        """Raises what a run cannot go on without: `KeyEnded`, `ResultNotFound`, `VaultClosed`."""
        durable = AgentCall(acts.durable, acts, wanted, self.waits)
        acting = self._acting(acts, durable)
        try:
            if early is not None:
                return await self._kept(acts, acting, wanted, _ready(early.given))
            if wanted.tool in {SEARCH, READ}:
                return await self._kept(acts, acting, wanted, self._own(acts, wanted))
            ref = await self._ref(acts.caller, wanted.tool)
            wish = CallSpec(step=wanted.step, tool=ref, arguments=_given(wanted.arguments))
            came = await self.one_call(acting, wish)
            await durable.gone_on()
            with acts.durable.busy():
                given = await self._given(acts, acting, wanted, str(ref), came)
        except DependencyUnavailable as broken:
            raise broken.error from broken
        except (ToolNotFound, InvalidToolRef) as error:
            return await self._kept(acts, acting, wanted, _ready(_refused(acts, error)))
        return replace(given, approval=durable.asked.approval)

    def _acting(self, acts: RunIdentity, durable: AgentCall) -> Acting:
        outputs = self.new_outputs()

        async def as_now() -> Principal:
            if not isinstance(acts.durable, ForInitiator):
                return acts.caller
            now = await acts.durable.acting(acts.agent)
            return replace(now, context=acts.caller.context)

        return Acting(
            durable=PrivateSteps(durable, outputs, as_now),
            outputs=outputs,
            as_now=as_now,
            clock=self.clock,
            label=acts.label,
        )

    async def _ref(self, caller: Principal, tool: str) -> ToolRef:
        """Also of one that the agent was never shown: the gate refuses it then, and notes that.
        Raises `ToolNotFound`, `InvalidToolRef`."""
        if "." in tool:
            return ToolRef.parse(tool)
        shelf = await retry_while_unavailable(lambda: self.catalogues.current(caller))
        named = {name: ref for ref, name in vendor_names(shelf.tools).items()}
        if tool not in named:
            raise ToolNotFound(tool)
        return named[tool]

    async def _kept(
        self,
        acts: RunIdentity,
        acting: Acting,
        wanted: RequestedToolCall,
        act: Callable[[], Awaitable[RenderedToolResult]],
    ) -> RenderedToolResult:
        """What is no call of a server, as a step all the same."""

        async def action(_key: str) -> JsonValue:
            given = await act()
            document: JsonObject = {
                "given": {"text": given.text, "failed": given.failed, "code": given.code}
            }
            kept = await retry_while_unavailable(lambda: acting.outputs.keep(acts.caller, document))
            return {"result": str(kept.result), "size": kept.size}

        try:
            noted = await acting.durable.step(wanted.step, action)
        except StepFailed as failed:
            return await self._went_wrong(acts, acting, wanted, wanted.tool, failed.failure)
        handle = noted.get("result") if isinstance(noted, Mapping) else None
        with acts.durable.busy():
            return await self._read_back(acts, acting, wanted, ResultId.parse(str(handle)))

    async def _read_back(
        self, acts: RunIdentity, acting: Acting, wanted: RequestedToolCall, result: ResultId
    ) -> RenderedToolResult:
        """Raises `ResultNotFound`."""
        document = await retry_while_unavailable(lambda: acting.outputs.get(acts.caller, result))
        match document:
            case {"given": {"text": str(text), "failed": bool(failed), "code": code}}:
                said = code if isinstance(code, str) else None
                return RenderedToolResult(text=text, failed=failed, code=said, label=acts.label)
            case _:
                words = words_of_document(document if isinstance(document, Mapping) else {})
                text = await self._paged(acts, wanted, words)
                return RenderedToolResult(text=text, label=acts.label)

    def _own(
        self, acts: RunIdentity, wanted: RequestedToolCall
    ) -> Callable[[], Awaitable[RenderedToolResult]]:
        async def act() -> RenderedToolResult:
            if wanted.tool == READ:
                return await self._page(acts, wanted.arguments)
            query = wanted.arguments.get("query")
            found = await self.find_tools(acts.caller, [query if isinstance(query, str) else ""])
            return RenderedToolResult(text=_told(found), label=acts.label)

        return act

    async def _page(self, acts: RunIdentity, arguments: JsonObject) -> RenderedToolResult:
        """Of an answer to this run alone: another's is not to be had by its name."""
        name, page = arguments.get("result"), arguments.get("page")
        handle = _handle(acts, str(name))
        try:
            kept = await self.results.get(acts.caller, handle, self.clock.now())
        except ResultNotFound as error:
            return RenderedToolResult(
                text=f"There is no answer {str(name)[:80]!r} in this run with more pages.",
                failed=True,
                code=error.code,
                label=acts.label,
            )
        number = page if isinstance(page, int) else 1
        return RenderedToolResult(
            text=page_of(str(kept.content), self.page_size, number), label=acts.label
        )

    async def _given(
        self,
        acts: RunIdentity,
        acting: Acting,
        wanted: RequestedToolCall,
        tool: str,
        came: CallResult,
    ) -> RenderedToolResult:
        match came:
            case Succeeded(handle):
                return await self._read_back(acts, acting, wanted, handle)
            case WentWrong(failure):
                return await self._went_wrong(acts, acting, wanted, tool, failure)
            case LeftOut(why):
                text = f"It was not done: {why}."
                return RenderedToolResult(text=text, failed=True, code=_LEFT_OUT, label=acts.label)

    async def _went_wrong(
        self,
        acts: RunIdentity,
        acting: Acting,
        wanted: RequestedToolCall,
        tool: str,
        failure: Failure,
    ) -> RenderedToolResult:
        if failure.code == Refused.code and not fits(tool, acts.agent.spec.tools):
            return _refused(acts, ToolNotAllowed(tool, acts.agent.name))
        said = await acting.words(failure)
        words = words_of_document(said or {})
        if said is None:
            words = await self._message(acts, acting, tool, failure)
        text = await self._paged(acts, wanted, words)
        return RenderedToolResult(text=text, failed=True, code=failure.code, label=acts.label)

    async def _message(self, acts: RunIdentity, acting: Acting, tool: str, failure: Failure) -> str:
        kept = kept_words(failure.message)
        if kept is None:
            return failure.message
        try:
            found = await acting.outputs.get(await acting.requester(), ResultId.parse(kept))
        except ResultNotFound:
            return failure.message
        match found:
            case {"words": str(words), **rest}:
                fix = rest.get("fix")
                if failure.code == InvalidArguments.code:
                    fix = await self._takes(acts, tool)
                return words_of_error(words, fix if isinstance(fix, str) else None)
            case _:
                return failure.message

    async def _takes(self, acts: RunIdentity, tool: str) -> str | None:
        """What others would have to look up first."""
        with suppress(ToolNotFound, InvalidToolRef):
            ref = ToolRef.parse(tool)
            shelf = await retry_while_unavailable(lambda: self.catalogues.offered(acts.caller))
            takes = signature(ref, shelf.find(ref).definition)
            return f"It takes {cut(takes, _LONGEST_SIGNATURE)}"
        return None

    async def _paged(self, acts: RunIdentity, wanted: RequestedToolCall, text: str) -> str:
        """What is longer than a page is kept for the rest of the run, under the name of its step:
        the same each time that this is done."""
        if len(text) <= self.page_size:
            return text
        until = self.clock.now() + self.keep_for
        kept = StoredResult(content=text, untrusted=False)
        handle = _handle(acts, wanted.step)
        try:
            await retry_while_unavailable(
                lambda: self.results.keep(acts.caller, handle, kept, until)
            )
        except VaultClosed:
            return f"{text[: self.page_size]}\n[The rest is not kept: ask for less of it.]"
        return first_page(text, self.page_size, wanted.step)


def _handle(acts: RunIdentity, name: str) -> ResultId:
    return ResultId.of_digest(f"answer to {acts.durable.run} {name}".encode())


def _ready(given: RenderedToolResult) -> Callable[[], Awaitable[RenderedToolResult]]:
    async def act() -> RenderedToolResult:
        return given

    return act


def _refused(acts: RunIdentity, error: PorticoError) -> RenderedToolResult:
    return RenderedToolResult(
        text=words_of_refusal(error), failed=True, code=error.code, label=acts.label
    )


def _given(arguments: JsonObject) -> Callable[[], Awaitable[JsonObject]]:
    async def given() -> JsonObject:
        return arguments

    return given


def _told(found: SearchResult) -> str:
    if not found.hits:
        return "No tool fits this. Say it in other words."
    lines = [f"{hit.signature}\n  {hit.summary}".rstrip() for hit in found.hits[:_FOUND]]
    head = "Best first:" if found.fits else "None fits well. The nearest:"
    return "\n".join([head, *lines])
