"""The work of a run of an agent, in the name of whoever started it, as they are now."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from portico.agents.core.activation import RunGiven
from portico.agents.core.agents import Agent
from portico.agents.core.traces import AgentRunStatus
from portico.agents.ports import Identities, Talk, Traces
from portico.agents.runs import ended_of, still_wanted
from portico.engine.core.errors import RunNotFound
from portico.engine.execution import patiently
from portico.engine.ports import RunBook
from portico.guard.authentication import AsTheyAre
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable, Work
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, meet
from portico.kernel.principal import Principal
from portico.workflows.run_context import ThroughDurable

_FRESH: Final = timedelta(seconds=1)
"""So long it is not looked up again who somebody is."""


@dataclass(slots=True)
class _Seen:
    acting: Principal | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ForStarter(ThroughDurable):
    """`Durable`, which knows its starter by the key and the lists that they came with."""

    starter: Principal
    asker: JsonObject
    doors: "AgentWork"
    seen: _Seen = field(default_factory=_Seen)

    @property
    def caller(self) -> Principal:
        return self.starter

    async def acting(self, agent: Agent) -> Principal:
        """The agent, with what its starter may now: a key that was revoked, and an agent that was
        removed, call nothing more. Raises `KeyEnded`, `PrincipalDisabled`."""
        now = self.doors.clock.now()
        if self.seen.acting is None or self.seen.at is None or now - self.seen.at > _FRESH:
            starter = await self.doors.starter(self.inner, self.asker)
            less = replace(starter, clearance=_clearance(starter, self.asker))
            self.seen.acting = await self.doors.identities.acting(less, agent)
            self.seen.at = now
        return self.seen.acting


async def acting_in(durable: Durable, given: RunGiven) -> Principal:
    """The agent, in the task of its run. Raises `KeyEnded`, `PrincipalDisabled`."""
    if not isinstance(durable, ForStarter):
        raise TypeError("A run of an agent is carried out through `AgentWork`.")
    return replace(await durable.acting(given.agent), context=given.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    work: Work
    as_they_are: AsTheyAre
    book: RunBook
    identities: Identities
    traces: Traces
    talk: Talk
    clock: Clock

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `KeyEnded`, and what the work raises."""
        asker = given.get("asker")
        who = asker if isinstance(asker, Mapping) else {}
        try:
            starter = await patiently(lambda: self.starter(durable, who))
        except PorticoError as error:
            await self._failed(durable, error)
            raise
        return await self.work(ForStarter(durable, starter, who, self), given)

    async def starter(self, durable: Durable, asker: JsonObject) -> Principal:
        """Raises `KeyEnded`, and `AgentRunOver` if the run in which an agent has started this one
        is wanted no more."""
        outer = asker.get("outer")
        if isinstance(outer, Mapping):
            await self._check_outer(durable, outer)
        key = asker.get("key")
        whose = key if isinstance(key, str) else None
        now = await self.as_they_are.no_more(durable.caller, key=whose, at=None)
        return replace(now, tools=tuple(dict.fromkeys([*now.tools, *_lists(asker)])))

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
        trace = (await patiently(lambda: self.traces.read(caller, run))).run
        if trace.status.over:
            return
        ended = replace(
            trace,
            status=AgentRunStatus.FAILED,
            ended_at=self.clock.now(),
            error_code=error.code,
            error=str(error),
        )
        await patiently(lambda: self.traces.end(caller, ended))
        told = replace(ended_of(ended), fix=error.fix)
        await patiently(lambda: self.talk.tell(caller, run, told, label=ended.label))


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
