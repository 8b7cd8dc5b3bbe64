"""Start a run of an agent: as whoever asks for it, once however often it is asked for."""

from dataclasses import dataclass, replace
from typing import Final, Protocol

from portico.agents.core.agent import Agent, AgentSpec, Limits
from portico.agents.core.agent_text import limits_json
from portico.agents.core.errors import AgentNotCleared, AgentRunNotFound
from portico.agents.core.given import KIND, RunGiven
from portico.agents.core.message import Message
from portico.agents.core.model import ModelRef
from portico.agents.core.trace import PersonSaid, RunTrace
from portico.agents.outer_run import OuterRun, outer_of
from portico.agents.own_run import inside, seen
from portico.agents.ports import Agents, Identities, Tasks, Traces
from portico.engine.core.errors import KeyReused, RunNotFound, RunNotOver
from portico.engine.core.runs import Started
from portico.engine.ports import RunBook
from portico.engine.runs import RunWish
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal

AGENT: Final = KIND
"""The kind of run that the engine knows it as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunWish:
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
    most_output: int | None = None
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
    async def started(self, caller: Principal, wish: RunWish) -> Started:
        """Raises what starting a run raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAgentRun:
    agents: Agents
    identities: Identities
    tasks: Tasks
    traces: Traces
    book: RunBook
    start_run: Starting
    audit: Audit
    together: Together
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: AgentRunWish) -> StartedAgentRun:
        """Raises `NotPermitted`, `AgentNotFound`, `AgentNotCleared`, `AgentRunNotFound` and
        `RunNotOver` for the one to be continued, `BadModelRef`, `PrincipalDisabled`, `KeyReused`,
        `AgentRunOver` of a run that is to stop, which starts no others."""
        permit(caller, Scope.AGENTS_RUN)
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
        wish: AgentRunWish,
        context: ContextId,
        outer: OuterRun | None,
    ) -> StartedAgentRun:
        given = RunGiven(
            agent=agent,
            context=context,
            asker=asker_of(caller, outer, wish.clearance),
            label=agent.spec.label,
            model=agent.spec.model,
            limits=agent.spec.limits,
            continues=wish.continues,
            wished=_wished(wish),
        )
        its = RunWish(kind=AGENT, input=given.as_json(), key=wish.key, label=agent.spec.label)
        async with self.together(caller):
            started = await self.start_run.started(caller, its)
            run = started.run.id
            trace, said = self._trace(caller, run, given, wish)
            await self.traces.begin(caller, trace, said)
            await self.audit.note(caller, _entry(run, agent))
        return StartedAgentRun(run, started.replayed, agent)

    def _trace(
        self, caller: Principal, run: RunId, given: RunGiven, wish: AgentRunWish
    ) -> tuple[RunTrace, PersonSaid]:
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
        return trace, PersonSaid(run=run, number=1, text=wish.message, by=caller.id, at=now)

    async def _there(
        self, caller: Principal, agent: Agent, wish: AgentRunWish
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

    async def _earlier(self, caller: Principal, wish: AgentRunWish) -> Principal | None:
        """At the task of the run that is continued. Raises `AgentRunNotFound`, `RunNotOver`."""
        if wish.continues is None:
            return None
        trace = await seen(self.traces, caller, wish.continues)
        if not trace.run.status.over:
            raise RunNotOver(str(wish.continues), trace.run.status)
        return inside(caller, trace.run)

    async def _check_label(
        self, caller: Principal, agent: Agent, wish: AgentRunWish, earlier: Principal | None
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


def _as_wished(agent: Agent, wish: AgentRunWish) -> Agent:
    """Raises `BadModelRef`."""
    spec = agent.spec
    model = spec.model if wish.model is None else str(ModelRef.parse(wish.model))
    most = spec.most_output if wish.most_output is None else wish.most_output
    limits = spec.limits if wish.limits is None else spec.limits.least(wish.limits)
    wished: AgentSpec = replace(
        spec, model=model, limits=limits, most_output=min(most, spec.most_output)
    )
    return replace(agent, spec=wished)


def _within(agent: Agent, outer: OuterRun | None) -> Agent:
    """What an agent starts spends no more than what is left of its own run."""
    if outer is None:
        return agent
    return replace(agent, spec=replace(agent.spec, limits=agent.spec.limits.least(outer.left)))


def _wished(wish: AgentRunWish) -> JsonObject:
    wished = {
        "model": wish.model,
        "limits": None if wish.limits is None else limits_json(wish.limits),
        "most_output": wish.most_output,
        "label": None if wish.label is None else str(wish.label),
    }
    return wished if wish.clearance is None else wished | {"clearance": str(wish.clearance)}


def _brought(agent: Agent, wish: AgentRunWish) -> Label:
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
        facts={
            "agent": agent.name,
            "version": agent.version,
            "acts_as": str(agent.principal),
            "model": agent.spec.model,
        },
    )
