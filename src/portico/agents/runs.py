"""Runs of agents: start, follow, steer, resume, stop."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Protocol

from portico.agents.core.activation import KIND, TURN, RunInput, stop_topic, time_of
from portico.agents.core.agents import Agent, AgentSpec, Limits, limits_json
from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import AgentNotCleared, AgentRunNotFound, AgentRunOver
from portico.agents.core.events import (
    AgentStreamItem,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
)
from portico.agents.core.model_requests import Message, ModelRef
from portico.agents.core.traces import AgentRunStatus, RunTrace, UserInput, WholeTrace
from portico.agents.ports import AgentEventSink, Agents, Identities, RunContexts, Traces
from portico.engine.core.errors import KeyReused, RunNotFound, RunNotOver
from portico.engine.core.runs import Run, RunStatus, Started
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.engine.runs import RunSpec, control_topic
from portico.guard.approvals import AnswerApproval, Approvals, Reply, WithdrawApproval
from portico.guard.core.access_request import TaintContext
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import ApprovalOver
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal

# A run of an agent, for whoever may know what is said in it: its starter, and those who may read
# the traces of others.


async def seen(traces: Traces, caller: Principal, run: RunId) -> WholeTrace:
    """Raises `AgentRunNotFound`: nobody is told that there is one which is not theirs."""
    trace = await traces.read(caller, run)
    if trace.run.started_by != caller.id and not caller.may(Scope.TRACES_READ):
        raise AgentRunNotFound(str(run))
    return trace


async def led(traces: Traces, caller: Principal, run: RunId) -> WholeTrace:
    """For whoever steps in: one's own, or with the right to speak for others. Raises
    `NotPermitted`, `AgentRunNotFound`."""
    require_scope(caller, Scope.AGENTS_RUN)
    trace = await seen(traces, caller, run)
    if trace.run.started_by != caller.id:
        require_scope(caller, Scope.RUNS_CONTROL)
    return trace


def inside(caller: Principal, run: RunTrace) -> Principal:
    """Whoever asks, at the task of a run: to look at what was read in it, and to add to it."""
    return replace(caller, id=run.acts_as, key=None, context=run.context)


def ended_of(run: RunTrace) -> RunFinished:
    return RunFinished(
        run=run.run,
        status=run.status,
        answer=run.answer,
        error_code=run.error_code,
        error=run.error,
        usage=run.usage,
        money=run.money,
    )


# Say something to a run while it is on: its next turn takes it in.


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerRun:
    traces: Traces
    tasks: RunContexts
    clock: Clock

    async def __call__(self, caller: Principal, run: RunId, text: str) -> UserInput:
        """The run has then read what the speaker's task has. Raises `NotPermitted`,
        `AgentRunNotFound`, `AgentRunOver`, `AgentNotCleared`."""
        trace = (await led(self.traces, caller, run)).run
        if trace.status.over:
            raise AgentRunOver(str(run), trace.status)
        label = await self.tasks.label(caller)
        if not trace.label.covers(label):
            raise AgentNotCleared(trace.agent_name, label, trace.label)
        await self.tasks.take_over(inside(caller, trace), after=caller)
        return await self.traces.say(caller, run, text, self.clock.now())


_STEP: Final = re.compile(r"~approval:call-(\d+)-(\d+)\b")
_BROKEN: Final = "agent_run_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRun:
    traces: Traces
    event_sink: AgentEventSink
    tasks: RunContexts
    book: RunQueries
    clock: Clock

    async def __call__(
        self, caller: Principal, run: RunId, *, after: str | None = None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        """From where one left off, to its end, which is always told. Whoever follows it has read
        what the run has. Raises `AgentRunNotFound`, `InvalidCursor`."""
        trace = (await seen(self.traces, caller, run)).run
        whole, read = _Whole(), await self._take_over(caller, trace)
        async with aclosing(self.event_sink.follow(caller, run, after=after)) as telling:
            async for told in telling:
                if isinstance(told.event, ToolCallFinished | RunFinished) and not _all(trace, read):
                    read = await self._take_over(caller, trace)
                if isinstance(told.event, RunFinished) and await self._goes_on(caller, run, told):
                    continue
                if whole.lets_through(told):
                    yield told
                if isinstance(told.event, RunFinished):
                    return
        yield AgentStreamItem(ended_of(await self.settled(caller, run)), None)

    async def seen(self, caller: Principal, run: RunId) -> WholeTrace:
        """Taken in by the caller's task. Raises `AgentRunNotFound`."""
        trace = await seen(self.traces, caller, run)
        await self._take_over(caller, trace.run)
        return trace

    async def _goes_on(self, caller: Principal, run: RunId, ended: AgentStreamItem) -> bool:
        """Somebody has taken it up again since: that was not its end."""
        if not (await self.traces.read(caller, run)).run.status.over:
            return True
        last = ended.cursor
        return last is not None and await self.event_sink.went_on(caller, run, after=last)

    async def _take_over(self, caller: Principal, run: RunTrace) -> TaintContext:
        return await self.tasks.take_over(caller, after=inside(caller, run))

    async def settled(self, caller: Principal, run: RunId) -> RunTrace:
        """Of one that is over. It may have ended before it could say so: its starter was disabled
        meanwhile, or it was taken up so often that somebody has to look."""
        trace = (await self.traces.read(caller, run)).run
        if trace.status.over:
            return trace
        found = await self.book.get(caller, run)
        if not found.status.over:
            return trace
        failure = found.failure
        broken = replace(
            trace,
            status=AgentRunStatus.FAILED,
            ended_at=found.finished_at or self.clock.now(),
            error_code=_BROKEN if failure is None else failure.code or _BROKEN,
            error=f"It is {found.status}." if failure is None else failure.message,
        )
        await self.traces.end(caller, broken)
        # What is kept, which is not this if it has said so meanwhile.
        return (await self.traces.read(caller, run)).run


def _all(run: RunTrace, read: TaintContext) -> bool:
    """Whether nothing more can be read in it: what strangers wrote, and as secret as it may be."""
    return read.untrusted and read.label.covers(run.label)


@dataclass(slots=True)
class _Whole:
    """Whoever comes while the model speaks hears live words only once those before them have come
    from what is kept: those words are told again with them, and no gap is."""

    text: Spoken = field(default_factory=Spoken)
    thought: Spoken = field(default_factory=Spoken)

    def lets_through(self, told: AgentStreamItem) -> bool:
        piece = told.event
        if not isinstance(piece, TextDelta | ReasoningDelta):
            return True
        before = self.text if isinstance(piece, TextDelta) else self.thought
        if told.cursor is None and before.misses(piece):
            return False
        if isinstance(piece, TextDelta):
            self.text = before.after(piece)
        else:
            self.thought = before.after(piece)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOf:
    follow_run: FollowRun
    approvals: Approvals
    clock: Clock

    async def __call__(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunFinished | ToolCallAwaitingApproval | None:
        """How it ended, if it does so in time; else what it waits for then, if it waits for
        people. Without patience, as it is now. Raises `AgentRunNotFound`."""
        trace = await self.follow_run.seen(caller, run)
        if not trace.run.status.over and patience > timedelta(0):
            ended = await self._ended(caller, run, patience)
            if ended is not None:
                return ended
            trace = await self.follow_run.seen(caller, run)
        if trace.run.status.over:
            return ended_of(trace.run)
        return await self._waits(caller, run, trace)

    async def _ended(
        self, caller: Principal, run: RunId, patience: timedelta
    ) -> RunFinished | None:
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(patience.total_seconds()),
                aclosing(self.follow_run(caller, run)) as telling,
            ):
                async for told in telling:
                    if isinstance(told.event, RunFinished):
                        return told.event
        return None

    async def _waits(
        self, caller: Principal, run: RunId, trace: WholeTrace
    ) -> ToolCallAwaitingApproval | None:
        now = self.clock.now()
        asked = await self.approvals.of_run(caller, run)
        waiting = (each for each in asked if each.status_at(now) is Status.WAITING)
        first = next(waiting, None)
        return None if first is None else _waits_for(trace, first)


def _waits_for(trace: WholeTrace, asked: Approval) -> ToolCallAwaitingApproval:
    found = _STEP.match("" if asked.waiter is None else asked.waiter.topic)
    turn, place = (0, 0) if found is None else (int(found[1]), int(found[2]))
    calls = next((each.calls for each in trace.turns if each.number == turn), ())
    return ToolCallAwaitingApproval(
        turn=turn,
        call=calls[place].id if place < len(calls) else "",
        tool=asked.tool,
        approval=asked.id,
        expires_at=asked.expires_at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInterrupts:
    answer_approval: AnswerApproval
    traces: Traces

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        agent: str,
        replies: Sequence[tuple[ApprovalId, Reply]],
    ) -> Mapping[ApprovalId, PorticoError]:
        """Those that the caller may not answer, each with why: they wait for somebody else. What
        somebody has answered before is answered. Raises `AgentRunNotFound`, also for another's
        run and for one of another agent, and what is wrong with an answer."""
        found = (await self.traces.read(caller, run)).run
        if found.started_by != caller.id or agent not in {found.agent_name, str(found.agent)}:
            raise AgentRunNotFound(str(run))
        left: dict[ApprovalId, PorticoError] = {}
        for approval, reply in replies:
            try:
                await self.answer_approval(caller, approval, reply)
            except ApprovalOver:
                continue
            except PorticoError as error:
                if error.kind not in {Kind.DENIED, Kind.NOT_FOUND}:
                    raise
                left[approval] = error
        return left


_LOT: Final = 100
_ON: Final = tuple(status for status in RunStatus if not status.over)


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterRun:
    run: RunId
    key: str | None
    """That its own starter came with: once it has ended, the inner run has, too."""
    left: Limits

    def as_json(self) -> JsonObject:
        return {"run": str(self.run), "key": self.key}


async def outer_of(traces: Traces, book: RunQueries, caller: Principal) -> OuterRun | None:
    """Of an agent that acts in a run; nobody else has one. Raises `AgentRunOver`."""
    if not caller.shared or caller.context is None:
        return None
    run = await traces.at(caller, caller.context)
    if run is None:
        return None
    found = await still_wanted(traces, book, caller, run)
    inner = [
        (await traces.read(caller, each.id)).run
        async for each in inner_runs(
            book, caller, of=caller.id, at=caller.context, since=found.created_at
        )
    ]
    whole, given = await traces.read(caller, run), RunInput.from_json(found.input)
    key = given.requester.get("key")
    return OuterRun(
        run=run,
        key=key if isinstance(key, str) else None,
        left=left_of(given.limits, whole, inner),
    )


async def still_wanted(traces: Traces, book: RunQueries, caller: Principal, run: RunId) -> Run:
    """Raises `AgentRunOver` if somebody has stopped it, or ended it by force."""
    found = await book.get(caller, run)
    if found.status is RunStatus.CANCELLED or await traces.stop_asked(caller, run):
        raise AgentRunOver(str(run), AgentRunStatus.STOPPED)
    return found


async def inner_runs(
    book: RunQueries,
    caller: Principal,
    *,
    of: PrincipalId,
    at: ContextId,
    since: datetime,
    on: bool = False,
) -> AsyncGenerator[Run, None]:
    """What an agent has started in a run of its own, newest first: it was at that run's task."""
    statuses: Sequence[RunStatus] = _ON if on else ()
    before = None
    while True:
        page = await book.page(
            caller, statuses=statuses, kind=KIND, before=before, limit=_LOT, of=of
        )
        for run in page:
            asker = run.input.get("asker")
            if isinstance(asker, Mapping) and asker.get("context") == str(at):
                yield run
        if len(page) < _LOT or page[-1].created_at < since:
            return
        before = page[-1].position


def left_of(limits: Limits, whole: WholeTrace, inner: Sequence[RunTrace]) -> Limits:
    """Of what a run may spend, after itself and those that it has started. Turns are each run's
    own: those of another are no turns of this one."""
    runs = [whole.run, *inner]
    tokens = sum(run.usage.input + run.usage.output for run in runs)
    money = sum((run.money for run in runs), start=Decimal(0))
    calls = len(whole.uses) + sum(run.tool_uses for run in inner)
    seconds = _took(whole).total_seconds()
    return Limits(
        turns=limits.turns,
        tokens=max(limits.tokens - tokens, 0),
        money=max(limits.money - money, Decimal(0)),
        seconds=max(limits.seconds - seconds, 0.0),
        calls=max(limits.calls - calls, 0),
    )


def _took(whole: WholeTrace) -> timedelta:
    """Its turns and its calls; a call of another agent has taken as long as that one's run."""
    took = timedelta(0)
    for turn in whole.turns:
        took += turn.took
        took += time_of(turn, [use for use in whole.uses if use.turn == turn.number])
    return took


AGENT: Final = KIND
"""The kind of run that the engine knows it as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunSpec:
    agent: str
    """Its name or its id."""
    message: str
    history: tuple[Message, ...] = ()
    """What was said before, where a caller keeps that itself."""
    continues: RunId | None = None
    """An earlier run, which is over: all that was said in it comes before the message."""
    model: str | None = None
    """In place of the agent's own."""
    limits: Limits | None = None
    """Never more than the agent's own."""
    max_output_tokens: int | None = None
    key: str | None = None
    """The same key, the same run; without one each wish is another."""
    label: Label | None = None
    """How secret the message is, if it is more than what the caller's task has read."""
    clearance: Label | None = None
    """How secret what it reads may be, if that is less than what it and the caller may know."""


@dataclass(frozen=True, slots=True)
class StartedAgentRun:
    run: RunId
    replayed: bool
    agent: Agent


class Starting(Protocol):
    async def started(self, caller: Principal, wish: RunSpec) -> Started:
        """Raises what starting a run raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAgentRun:
    agents: Agents
    identities: Identities
    tasks: RunContexts
    traces: Traces
    book: RunQueries
    start_run: Starting
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: AgentRunSpec) -> StartedAgentRun:
        """Raises `NotPermitted`, `AgentNotFound`, `AgentNotCleared`, `AgentRunNotFound` and
        `RunNotOver` for the one to be continued, `InvalidModelRef`, `PrincipalDisabled`,
        `KeyReused`, `AgentRunOver` of a run that is to stop, which starts no others."""
        require_scope(caller, Scope.AGENTS_RUN)
        agent = _as_wished(await self.agents.get(caller, wish.agent), wish)
        if (there := await self._there(caller, agent, wish)) is not None:
            return there
        outer = await outer_of(self.traces, self.book, caller)
        agent = _within(agent, outer)
        acts_as = await self.identities.acting(caller, agent)
        earlier = await self._earlier(caller, wish)
        await self._check_label(caller, agent, wish, earlier)
        context = await self._task(caller, acts_as, _brought(agent, wish), earlier)
        try:
            return await self._started(caller, agent, wish, context, outer)
        except KeyReused:
            there = await self._there(caller, agent, wish)
            if there is None:
                raise
            return there  # somebody else was faster with the same

    async def _started(
        self,
        caller: Principal,
        agent: Agent,
        wish: AgentRunSpec,
        context: ContextId,
        outer: OuterRun | None,
    ) -> StartedAgentRun:
        given = RunInput(
            agent=agent,
            context=context,
            requester=asker_of(caller, outer, wish.clearance),
            label=agent.spec.label,
            model=agent.spec.model,
            limits=agent.spec.limits,
            continues=wish.continues,
            wished=_wished(wish),
        )
        its = RunSpec(kind=AGENT, input=given.as_json(), key=wish.key, label=agent.spec.label)
        async with self.unit_of_work(caller):
            started = await self.start_run.started(caller, its)
            run = started.run.id
            trace, said = self._trace(caller, run, given, wish)
            await self.traces.add(caller, trace, said)
            await self.audit.note(caller, _entry(run, agent))
        return StartedAgentRun(run, started.replayed, agent)

    def _trace(
        self, caller: Principal, run: RunId, given: RunInput, wish: AgentRunSpec
    ) -> tuple[RunTrace, UserInput]:
        agent, now = given.agent, self.clock.now()
        trace = RunTrace(
            run=run,
            agent=agent.id,
            agent_name=agent.name,
            agent_version=agent.version,
            started_by=caller.id,
            acts_as=agent.principal,
            context=given.context,
            continues=wish.continues,
            history=wish.history,
            label=given.label,
            started_at=now,
            model=given.model,
            trace_id=self.entropy(16).hex(),
        )
        return trace, UserInput(run=run, number=1, text=wish.message, by=caller.id, at=now)

    async def _there(
        self, caller: Principal, agent: Agent, wish: AgentRunSpec
    ) -> StartedAgentRun | None:
        """What was asked for before under the same key. Raises `KeyReused`."""
        if wish.key is None:
            return None
        run = RunId.of_claim(caller.space, caller.id, AGENT, wish.key)
        try:
            trace = await self.traces.read(caller, run)
        except AgentRunNotFound:
            return None
        said = trace.said[0].text if trace.said else None
        was = (trace.run.agent, said, trace.run.continues, trace.run.history)
        if was != (agent.id, wish.message, wish.continues, wish.history):
            raise KeyReused(wish.key)
        if await self._wished_before(caller, run) not in (None, _wished(wish)):
            raise KeyReused(wish.key)
        return StartedAgentRun(run, replayed=True, agent=agent)

    async def _wished_before(self, caller: Principal, run: RunId) -> JsonValue:
        """None of one that the engine does not keep any more, while its trace is still there."""
        try:
            return (await self.book.get(caller, run)).input.get("wished")
        except RunNotFound:
            return None

    async def _earlier(self, caller: Principal, wish: AgentRunSpec) -> Principal | None:
        """At the task of the run that is continued. Raises `AgentRunNotFound`, `RunNotOver`."""
        if wish.continues is None:
            return None
        trace = await seen(self.traces, caller, wish.continues)
        if not trace.run.status.over:
            raise RunNotOver(str(wish.continues), trace.run.status)
        return inside(caller, trace.run)

    async def _check_label(
        self, caller: Principal, agent: Agent, wish: AgentRunSpec, earlier: Principal | None
    ) -> None:
        """Raises `AgentNotCleared`."""
        tasks = [caller] if earlier is None else [caller, earlier]
        labels = [await self.tasks.label(each) for each in tasks]
        label = join([*labels, *([] if wish.label is None else [wish.label])])
        if not agent.spec.label.covers(label):
            raise AgentNotCleared(agent.name, label, agent.spec.label)

    async def _task(
        self, caller: Principal, acts_as: Principal, label: Label, earlier: Principal | None
    ) -> ContextId:
        """By itself, before the run: what was read is not taken back with anything."""
        name = f"run of {acts_as.name}"
        context = await self.tasks.open(acts_as, name, after=caller, label=label)
        if earlier is not None:
            await self.tasks.take_over(replace(acts_as, context=context), after=earlier)
        return context


def _as_wished(agent: Agent, wish: AgentRunSpec) -> Agent:
    """Raises `InvalidModelRef`."""
    spec = agent.spec
    model = spec.model if wish.model is None else str(ModelRef.parse(wish.model))
    most = spec.max_output_tokens if wish.max_output_tokens is None else wish.max_output_tokens
    limits = spec.limits if wish.limits is None else spec.limits.least(wish.limits)
    wished: AgentSpec = replace(
        spec, model=model, limits=limits, max_output_tokens=min(most, spec.max_output_tokens)
    )
    return replace(agent, spec=wished)


def _within(agent: Agent, outer: OuterRun | None) -> Agent:
    """What an agent starts spends no more than what is left of its own run."""
    if outer is None:
        return agent
    return replace(agent, spec=replace(agent.spec, limits=agent.spec.limits.least(outer.left)))


def _wished(wish: AgentRunSpec) -> JsonObject:
    wished = {
        "model": wish.model,
        "limits": None if wish.limits is None else limits_json(wish.limits),
        "most_output": wish.max_output_tokens,
        "label": None if wish.label is None else str(wish.label),
    }
    return wished if wish.clearance is None else wished | {"clearance": str(wish.clearance)}


def _brought(agent: Agent, wish: AgentRunSpec) -> Label:
    """How secret what it begins with is, beside what its starter has read: the message, and what
    the agent itself brings."""
    return join([PUBLIC if wish.label is None else wish.label, agent.spec.brings])


def asker_of(
    caller: Principal, outer: OuterRun | None = None, clearance: Label | None = None
) -> JsonObject:
    """What a run knows its starter again by, the lists that they had then, and how much less than
    they it may read."""
    return {
        "key": caller.key,
        "context": None if caller.context is None else str(caller.context),
        "tools": [[*each] for each in caller.tools],
        "outer": None if outer is None else outer.as_json(),
        "clearance": None if clearance is None else str(clearance),
    }


def _entry(run: RunId, agent: Agent) -> AuditEntry:
    return AuditEntry(
        action="agent.started",
        subject=str(run),
        details={
            "agent": agent.name,
            "version": agent.version,
            "acts_as": str(agent.principal),
            "model": agent.spec.model,
        },
    )


# Take up a run again that has failed: from what is written down of it, nothing is paid twice.


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeAgentRun:
    traces: Traces
    book: RunQueries
    runs: Runs
    queue: RunQueue
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, run: RunId) -> None:
        """One's own goes on with the key that one comes with; another's as whoever started it. One
        that has ended as it should is continued by another run. Raises `NotPermitted`,
        `AgentRunNotFound`, `RunNotOver`."""
        await led(self.traces, caller, run)
        found = await self.book.get(caller, run)
        if not found.status.over or found.status is RunStatus.DONE:
            raise RunNotOver(str(run), found.status)
        given = _lent(caller, found) if found.principal == caller.id else None
        async with self.unit_of_work(caller):
            turn = await self.runs.resume(caller, run, anew=_unanswered(found), given=given)
            await self.traces.reopen(caller, run)
            await self.audit.note(caller, AuditEntry(action="agent.resumed", subject=str(run)))
        await self.queue.join(turn)


def _unanswered(found: Run) -> Sequence[str]:
    """The turn in which no model answered: it has come to its end in the journal, with that."""
    step = None if found.failure is None else found.failure.step
    return [step] if step is not None and step.startswith(TURN) else []


def _lent(caller: Principal, found: Run) -> JsonObject:
    return {**found.input, "asker": asker_of(caller)}


# Stop a run: it ends before its next step, and what it had said by then is its answer.

_UNCERTAIN: Final = "~uncertain:"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    traces: Traces
    event_sink: AgentEventSink
    book: RunQueries
    runs: Runs
    queue: RunQueue
    bus: Bus
    approvals: Approvals
    withdraw: WithdrawApproval
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(self, caller: Principal, run: RunId) -> None:
        """What it asked people for is asked for no more, which wakes it, so that it ends by itself.
        One that waits for a person's word on what nobody knows is ended here: nobody is asked for
        a word that they have not given. What it has started is stopped with it. Raises
        `NotPermitted`, `AgentRunNotFound`, `AgentRunOver`.
        """
        trace = await led(self.traces, caller, run)
        if trace.run.status.over:
            raise AgentRunOver(str(run), trace.run.status)
        await self._stop(caller, trace)
        its = trace.run
        inner = inner_runs(
            self.book, caller, of=its.acts_as, at=its.context, since=its.started_at, on=True
        )
        for each in [found.id async for found in inner]:
            with suppress(AgentRunOver):  # it may have ended just now
                await self._stop(caller, await self.traces.read(caller, each))

    async def _stop(self, caller: Principal, trace: WholeTrace) -> None:
        run = trace.run.run
        async with self.unit_of_work(caller):
            await self.traces.stop(caller, run, self.clock.now())
            await self.audit.note(caller, AuditEntry(action="agent.stopped", subject=str(run)))
        self.bus.wake(caller.space, stop_topic(run))
        for asked in await self.approvals.of_run(caller, run):
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked was stopped")
        found = await self.book.get(caller, run)
        if _cannot_end_itself(found):
            await self._end(caller, found, trace)

    async def _end(self, caller: Principal, found: Run, trace: WholeTrace) -> None:
        async with self.unit_of_work(caller):
            turn = None if found.status.over else await self.runs.cancel(caller, found.id)
            await self.traces.end(caller, _stopped(trace, self.clock))
        # What is kept, which is not this if it has ended by itself meanwhile.
        ended = (await self.traces.read(caller, found.id)).run
        self.bus.wake(caller.space, control_topic(found.id))
        if turn is not None:
            await self.queue.leave(turn.activation)
        await self.event_sink.publish(caller, found.id, ended_of(ended), label=ended.label)


def _cannot_end_itself(run: Run) -> bool:
    waits = run.status is RunStatus.WAITING
    return run.status.over or (waits and any(its.startswith(_UNCERTAIN) for its in run.waits_for))


def _stopped(trace: WholeTrace, clock: Clock) -> RunTrace:
    last = trace.turns[-1].text if trace.turns else ""
    return replace(trace.run, status=AgentRunStatus.STOPPED, ended_at=clock.now(), answer=last)
