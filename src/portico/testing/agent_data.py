"""Agents, and traces of their runs, in memory."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from uuid import UUID

from portico.agents.core.agents import Agent, AgentFilter, AgentId, AgentSpec, AgentVersion, takes
from portico.agents.core.errors import (
    AgentChanged,
    AgentNameTaken,
    AgentNotFound,
    AgentRunNotFound,
    AgentRunOver,
)
from portico.agents.core.model_requests import Finish, ToolCall, Usage
from portico.agents.core.traces import (
    AgentRunStatus,
    ModelStats,
    RunTrace,
    ToolStats,
    ToolUse,
    TraceFilter,
    TracePlace,
    TraceUpdates,
    TurnTrace,
    UserInput,
    WholeTrace,
    opening,
)
from portico.kernel.ids import ContextId, PrincipalId, RunId
from portico.kernel.label import Label, Level, join, may_read
from portico.kernel.principal import Principal
from portico.testing.memory_store import (
    BEGINNING,
    AgentInput,
    InMemoryStore,
    RowRefused,
    SeededEntropy,
    within,
)

_TAKEN_UP_AGAIN = {AgentRunStatus.FAILED, AgentRunStatus.EXHAUSTED, AgentRunStatus.STOPPED}


class MemoryAgents:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, agent: Agent) -> None:
        within(caller, agent.space)
        if (agent.space, agent.principal) not in self._world.identities:
            raise RowRefused(f"There is no principal {agent.principal}.")
        _cleared(caller, agent.spec.label)
        self._free(agent)
        self._world.agents.insert((agent.space, agent.id), agent)
        self._keep_version(caller, agent)

    async def get(self, caller: Principal, name: str) -> Agent:
        seen = [agent for agent in self._world.agents.values() if _sees(caller, agent)]
        for agent in sorted(seen, key=lambda agent: str(agent.id) != name):
            if name in (str(agent.id), agent.name):
                return agent
        raise AgentNotFound(name)

    async def put(self, caller: Principal, agent: Agent, *, was: int) -> None:
        there = await self.get(caller, str(agent.id))
        if there.version != was:
            raise AgentChanged(there.name, there.version)
        _cleared(caller, agent.spec.label)
        self._free(agent)
        self._world.agents[agent.space, agent.id] = agent
        self._keep_version(caller, agent)

    async def remove(self, caller: Principal, agent: AgentId) -> None:
        there = await self.get(caller, str(agent))
        del self._world.agents[there.space, there.id]
        self._world.agent_versions.drop(lambda place, _: place[:2] == (there.space, there.id))

    async def page(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        every = sorted(self._world.agents.values(), key=lambda agent: agent.name)
        return [
            agent
            for agent in every
            if _sees(caller, agent) and agent.name > (after or "") and takes(which, agent.spec)
        ][:limit]

    async def versions(self, caller: Principal, agent: AgentId) -> Sequence[AgentVersion]:
        rows = self._world.agent_versions.items()
        seen = [
            version
            for (space, id_, _), version in rows
            if (space, id_) == (caller.space, agent)
            and may_read(caller.clearance, version.spec.label)
        ]
        return sorted(seen, key=lambda version: -version.number)

    def _free(self, agent: Agent) -> None:
        for (space, id_), other in self._world.agents.items():
            if space == agent.space and id_ != agent.id and other.name == agent.name:
                raise AgentNameTaken(agent.name)

    def _keep_version(self, caller: Principal, agent: Agent) -> None:
        version = AgentVersion(
            number=agent.version,
            spec=agent.spec,
            by=caller.id,
            by_name=caller.name,
            at=agent.changed_at,
        )
        self._world.agent_versions.insert((agent.space, agent.id, agent.version), version)


class MemoryTraces:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, run: RunTrace, said: UserInput) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        _cleared(caller, run.label)
        if (caller.space, run.run) in self._world.agent_runs:
            return
        self._world.agent_runs[caller.space, run.run] = run
        self._world.agent_said[caller.space, run.run, said.number] = AgentInput(said, run.label)

    async def add_turn(self, caller: Principal, turn: TurnTrace) -> TurnTrace:
        place = (caller.space, turn.run, turn.number)
        if place not in self._world.agent_turns:
            run = self._there(caller, turn.run)
            _cleared(caller, turn.label)
            self._world.agent_turns[place] = turn
            self._world.agent_runs[caller.space, turn.run] = replace(
                run,
                turns=run.turns + 1,
                usage=_sum(run.usage, turn.usage),
                money=run.money + turn.money,
                label=join([run.label, turn.label]),
            )
        return self._world.agent_turns[place]

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
        place = (caller.space, use.run, use.turn, use.position)
        if place not in self._world.agent_uses:
            run = self._there(caller, use.run)
            _cleared(caller, use.label)
            self._world.agent_uses[place] = use
            self._world.agent_runs[caller.space, use.run] = replace(
                run, tool_uses=run.tool_uses + 1, label=join([run.label, use.label])
            )
        return await self.news(caller, use.run, after=after)

    async def say(self, caller: Principal, run: RunId, text: str, at: datetime) -> UserInput:
        held = self._going_on(caller, run)
        number = 1 + sum(1 for space, id_, _ in self._world.agent_said if id_ == run)
        said = UserInput(run=run, number=number, text=text, by=caller.id, at=at)
        self._world.agent_said[caller.space, run, number] = AgentInput(said, held.label)
        return said

    async def stop(self, caller: Principal, run: RunId, at: datetime) -> None:
        self._going_on(caller, run)
        self._world.agent_stops[caller.space, run] = at

    async def stop_asked(self, caller: Principal, run: RunId) -> bool:
        return (await self.news(caller, run, after=0)).stop

    async def news(self, caller: Principal, run: RunId, *, after: int) -> TraceUpdates:
        said = tuple(it for it in self._said(caller, run) if it.number > after)
        return TraceUpdates(said=said, stop=(caller.space, run) in self._world.agent_stops)

    async def mark(
        self, caller: Principal, run: RunId, status: AgentRunStatus, *, label: Label
    ) -> None:
        held = self._there(caller, run)
        _cleared(caller, label)
        if not held.status.over:
            self._world.agent_runs[caller.space, run] = replace(
                held, status=status, label=join([held.label, label])
            )

    async def reopen(self, caller: Principal, run: RunId) -> None:
        held = self._there(caller, run)
        if held.status in _TAKEN_UP_AGAIN:
            self._world.agent_stops.pop((caller.space, run), None)
            self._world.agent_runs[caller.space, run] = replace(
                held,
                status=AgentRunStatus.RUNNING,
                ended_at=None,
                error_code=None,
                error=None,
                answer="",
            )

    async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
        held = self._there(caller, run.run)
        if heard is not None and any(said.number > heard for said in self._said(caller, run.run)):
            return False
        if held.status.over:
            return True
        _cleared(caller, run.label)
        self._world.agent_runs[caller.space, run.run] = replace(
            held,
            status=run.status,
            label=join([held.label, run.label]),
            ended_at=run.ended_at,
            turns=run.turns,
            tool_uses=run.tool_uses,
            usage=run.usage,
            money=run.money,
            answer=run.answer,
            error_code=run.error_code,
            error=run.error,
        )
        return True

    async def at(self, caller: Principal, context: ContextId) -> RunId | None:
        found = (
            run.run
            for (space, _), run in self._world.agent_runs.items()
            if (space, run.context) == (caller.space, context)
            and may_read(caller.clearance, run.label)
        )
        return next(found, None)

    async def read(self, caller: Principal, run: RunId) -> WholeTrace:
        here = (caller.space, run)
        turns = [turn for place, turn in self._world.agent_turns.items() if place[:2] == here]
        uses = [use for place, use in self._world.agent_uses.items() if place[:2] == here]
        return WholeTrace(
            run=self._there(caller, run),
            said=self._said(caller, run),
            turns=tuple(
                sorted(
                    (turn for turn in turns if may_read(caller.clearance, turn.label)),
                    key=lambda turn: turn.number,
                )
            ),
            uses=tuple(
                sorted(
                    (use for use in uses if may_read(caller.clearance, use.label)),
                    key=lambda use: (use.turn, use.position),
                )
            ),
        )

    def _said(self, caller: Principal, run: RunId) -> tuple[UserInput, ...]:
        rows = self._world.agent_said.items()
        seen = [
            kept.said
            for (space, id_, _), kept in rows
            if (space, id_) == (caller.space, run) and may_read(caller.clearance, kept.label)
        ]
        return tuple(sorted(seen, key=lambda said: said.number))

    def _there(self, caller: Principal, run: RunId) -> RunTrace:
        found = self._world.agent_runs.get((caller.space, run))
        if found is None or not may_read(caller.clearance, found.label):
            raise AgentRunNotFound(str(run))
        return found

    def _going_on(self, caller: Principal, run: RunId) -> RunTrace:
        found = self._there(caller, run)
        if found.status.over:
            raise AgentRunOver(str(run), found.status)
        return found


def _sees(caller: Principal, agent: Agent) -> bool:
    return agent.space == caller.space and may_read(caller.clearance, agent.spec.label)


def _cleared(caller: Principal, label: Label) -> None:
    if not may_read(caller.clearance, label):
        raise RowRefused(f"{caller.name!r} is not cleared for {label}.")


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cached=one.cached + other.cached,
        reported=one.reported and other.reported,
    )


TEAM = Label(Level.TEAM)


def an_agent_spec(name: str = "clerk", **changes: object) -> AgentSpec:
    spec = AgentSpec(
        name=name,
        description="Answers letters.",
        instructions="Answer politely.",
        model="local:small",
        tools=("files.*",),
    )
    return replace(spec, **changes)  # type: ignore[arg-type] # each by its field's name


def an_agent(
    maker: Principal,
    name: str = "clerk",
    *,
    principal: PrincipalId | None = None,
    spec: AgentSpec | None = None,
    at: datetime = BEGINNING,
) -> Agent:
    """At its first version; `principal` is its own, or its maker's."""
    return Agent(
        id=AgentId.mint(at, SeededEntropy(f"agent {name} of {maker.space}")),
        space=maker.space,
        principal=principal or maker.id,
        spec=spec or an_agent_spec(name),
        version=1,
        made_by=maker.id,
        made_by_name=maker.name,
        made_at=at,
        changed_at=at,
    )


def an_agent_run(
    starter: Principal,
    number: int = 1,
    *,
    agent: str = "clerk",
    label: Label = TEAM,
    at: datetime | None = None,
) -> RunTrace:
    """The second starts a minute after the first."""
    began = at or BEGINNING + timedelta(minutes=number)
    seed = SeededEntropy(f"run {number} of {agent} in {starter.space}")
    return RunTrace(
        run=RunId.mint(began, seed),
        agent=AgentId.mint(BEGINNING, SeededEntropy(f"agent {agent} of {starter.space}")),
        agent_name=agent,
        agent_version=1,
        started_by=starter.id,
        acts_as=PrincipalId.mint(BEGINNING, seed),
        context=ContextId.mint(began, seed),
        label=label,
        started_at=began,
        model="local:small",
        trace_id=f"{number:032x}",
    )


def a_saying(run: RunTrace, text: str = "Write to Ana.", number: int = 1) -> UserInput:
    return UserInput(run=run.run, number=number, text=text, by=run.started_by, at=run.started_at)


def a_turn(
    run: RunTrace,
    number: int = 1,
    text: str = "I shall look.",
    *,
    calls: tuple[ToolCall, ...] = (),
    label: Label | None = None,
) -> TurnTrace:
    return TurnTrace(
        run=run.run,
        number=number,
        model="local:small",
        attempts=1,
        inputs_seen=1,
        text=text,
        calls=calls,
        usage=Usage(input=100, output=20, cached=10),
        counted=120,
        money=Decimal("0.002"),
        finish=Finish.CALLS if calls else Finish.STOP,
        started_at=run.started_at + timedelta(seconds=number),
        took=timedelta(milliseconds=900),
        first_piece=timedelta(milliseconds=400),
        label=label or run.label,
        span_id=f"{number:016x}",
    )


def a_use(
    run: RunTrace,
    turn: int = 1,
    place: int = 0,
    *,
    tool: str = "files.read",
    text: str = "The letter says hello.",
    code: str | None = None,
) -> ToolUse:
    return ToolUse(
        run=run.run,
        turn=turn,
        position=place,
        call=f"call-{turn}-{place}",
        tool=tool,
        arguments={"path": "/letter"},
        text=text,
        failed=code is not None,
        code=code,
        started_at=run.started_at + timedelta(seconds=turn),
        took=timedelta(milliseconds=10 * (place + 1)),
        label=run.label,
        span_id=f"{turn:08x}{place + 1:08x}",
    )


class ListedTools:
    """Whoever asks is told of these, and of the servers that have them."""

    def __init__(self, *names: str, servers: Sequence[str] = ()) -> None:
        self.listed = names
        self.known = servers or [name.partition(".")[0] for name in names]

    async def names(self, caller: Principal) -> Sequence[str]:
        del caller
        return self.listed

    async def servers(self, caller: Principal) -> Sequence[str]:
        del caller
        return self.known


class MemoryTraceReports:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def page(
        self,
        caller: Principal,
        which: TraceFilter,
        *,
        of: PrincipalId | None,
        before: TracePlace | None,
        limit: int,
    ) -> Sequence[RunTrace]:
        taken = sorted(self._taken(caller, which, of), key=_newest_first, reverse=True)
        if before is not None:
            last = (before.started_at, before.run.value)
            taken = [run for run in taken if _newest_first(run) < last]
        return [replace(run, asked=self._asked(caller, run.run)) for run in taken[:limit]]

    async def tools(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ToolStats]:
        runs = [run.run for run in self._taken(caller, which, of)]
        uses = [
            use for run in runs for use in self._uses(caller, run) if which.tool in (None, use.tool)
        ]
        named = groupby(sorted(uses, key=lambda use: use.tool), key=lambda use: use.tool)
        return [_tool(tool, list(its)) for tool, its in named]

    async def models(
        self, caller: Principal, which: TraceFilter, *, of: PrincipalId | None
    ) -> Sequence[ModelStats]:
        runs = [run.run for run in self._taken(caller, which, of)]
        turns = [turn for run in runs for turn in self._turns(caller, run)]
        named = groupby(sorted(turns, key=lambda turn: turn.model), key=lambda turn: turn.model)
        return [_model(model, list(its)) for model, its in named]

    def _taken(
        self, caller: Principal, which: TraceFilter, of: PrincipalId | None
    ) -> Sequence[RunTrace]:
        rows = self._world.agent_runs.items()
        seen = [
            run for (space, _), run in rows if space == caller.space and _sees_report(caller, run)
        ]
        return [
            run for run in seen if of in (None, run.started_by) and self._takes(caller, which, run)
        ]

    def _takes(self, caller: Principal, which: TraceFilter, run: RunTrace) -> bool:
        uses = self._uses(caller, run.run)
        codes = {run.error_code, *(use.code for use in uses)}
        return (
            which.agent in (None, run.agent_name)
            and (not which.statuses or run.status in which.statuses)
            and (which.since is None or run.started_at >= which.since)
            and (which.until is None or run.started_at < which.until)
            and (which.tool is None or which.tool in {use.tool for use in uses})
            and (which.error is None or which.error in codes)
            and (which.text is None or self._says(caller, run.run, _words(which.text)))
        )

    def _asked(self, caller: Principal, run: RunId) -> str:
        first = self._world.agent_said.get((caller.space, run, 1))
        seen = first is not None and may_read(caller.clearance, first.label)
        return opening(first.said.text) if first is not None and seen else ""

    def _says(self, caller: Principal, run: RunId, wanted: Sequence[str]) -> bool:
        said = [
            kept.said.text
            for place, kept in self._world.agent_said.items()
            if place[:2] == (caller.space, run) and may_read(caller.clearance, kept.label)
        ]
        said += [turn.text for turn in self._turns(caller, run)]
        said += [use.text for use in self._uses(caller, run)]
        return bool(wanted) and any(_all_in(wanted, _words(each)) for each in said)

    def _turns(self, caller: Principal, run: RunId) -> Sequence[TurnTrace]:
        rows = self._world.agent_turns.items()
        return [
            turn
            for place, turn in rows
            if place[:2] == (caller.space, run) and _sees_report(caller, turn)
        ]

    def _uses(self, caller: Principal, run: RunId) -> Sequence[ToolUse]:
        rows = self._world.agent_uses.items()
        return [
            use
            for place, use in rows
            if place[:2] == (caller.space, run) and _sees_report(caller, use)
        ]


def _words(text: str) -> Sequence[str]:
    return re.findall(r"\w+", text.lower())


def _all_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    return all(any(word.startswith(each) for word in words) for each in wanted)


def _sees_report(caller: Principal, row: RunTrace | TurnTrace | ToolUse) -> bool:
    label: Label = row.label
    return may_read(caller.clearance, label)


def _newest_first(run: RunTrace) -> tuple[datetime, UUID]:
    return (run.started_at, run.run.value)


def _tool(tool: str, uses: Sequence[ToolUse]) -> ToolStats:
    codes = Counter(use.code for use in uses if use.failed and use.code is not None)
    return ToolStats(
        tool=tool,
        uses=len(uses),
        failures=sum(use.failed for use in uses),
        codes=dict(codes),
        early=sum(use.early for use in uses),
        p50=_at(0.5, [use.took for use in uses]),
        p95=_at(0.95, [use.took for use in uses]),
        last_at=max(use.started_at for use in uses),
    )


def _model(model: str, turns: Sequence[TurnTrace]) -> ModelStats:
    first = [turn.first_piece for turn in turns if turn.first_piece is not None]
    fast = [turn.tokens_a_second for turn in turns if turn.tokens_a_second is not None]
    return ModelStats(
        model=model,
        turns=len(turns),
        retried=sum(turn.attempts > 1 for turn in turns),
        input=sum(turn.usage.input for turn in turns),
        output=sum(turn.usage.output for turn in turns),
        cached=sum(turn.usage.cached for turn in turns),
        money=sum((turn.money for turn in turns), Decimal(0)),
        p50=_at(0.5, [turn.took for turn in turns]),
        p95=_at(0.95, [turn.took for turn in turns]),
        first_piece=_at(0.5, first) if first else None,
        tokens_a_second=_between(0.5, fast) if fast else None,
        last_at=max(turn.started_at for turn in turns),
    )


def _at(share: float, times: Iterable[timedelta]) -> timedelta:
    return timedelta(seconds=_between(share, [time.total_seconds() for time in times]))


def _between(share: float, values: Sequence[float]) -> float:
    """As the database's `percentile_cont`: between the two nearest, by how near each is."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
