"""Following, hearing, steering, stopping and taking up runs of agents."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import (
    AgentNotCleared,
    AgentRunNotFound,
    AgentRunOver,
    ModelUnavailable,
)
from portico.agents.core.events import (
    AgentStreamItem,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
)
from portico.agents.core.model_requests import ModelAsk, ResponseChunk, TextChunk
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.runs import FollowRun, ended_of
from portico.engine.core.errors import RunNotOver
from portico.engine.core.runs import Run, RunStatus
from portico.gateway.core.errors import UpstreamTimedOut
from portico.guard.core.approvals import Status
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import MemoryTraces, a_saying, an_agent_run
from portico.testing.agents import MemoryAgentEvents, MemoryTasks, a_call, a_reply, says, wants
from portico.testing.guard import MemoryKeys
from tests.agents.town import ANA, BEN, Town
from tests.engine.room import Room as Engine
from tests.gateway.open_room import WRITE

NOW = timedelta(0)
READS = wants(a_call("files__read", path="/a"))
WRITES = wants(a_call("files__write", path="/a"))
DELETES = wants(a_call("files__delete", path="/a"))
STRANGER = replace(BEN, scopes=BEN.scopes - {Scope.TRACES_READ})


async def test_a_run_is_followed_to_its_end_by_its_starter_alone() -> None:
    town = Town(says("Good day."))
    run = (await town.ran_agent()).run.run

    told = await town.happened(run)

    assert isinstance(told[-1], RunFinished)
    assert "".join(each.text for each in told if isinstance(each, TextDelta)) == "Good day."
    with pytest.raises(AgentRunNotFound):
        _ = [each async for each in town.follow(STRANGER, run)]
    assert [each async for each in town.follow(BEN, run)]


async def test_a_run_is_followed_from_where_one_left_off_and_has_been_read_then() -> None:
    town = Town(says("Good day."))
    run = (await town.ran_agent()).run.run
    every = [each async for each in town.follow(ANA, run)]
    kept = [each for each in every if each.cursor is not None]

    rest = [each async for each in town.follow(ANA, run, after=kept[0].cursor)]
    nothing = [each async for each in town.follow(ANA, run, after=kept[-1].cursor)]

    assert [each.event for each in rest] == [each.event for each in kept[1:]]
    assert [type(each.event) for each in nothing] == [RunFinished]

    town = Town(READS, says("Read."))
    run = (await town.ran_agent()).run.run

    await town.happened(run)

    assert (await town.contexts.get(ANA)).untrusted


async def test_how_it_ended_is_said_at_once_or_how_it_was_settled() -> None:
    town = Town(says("Good day."))
    run = (await town.ran_agent()).run.run
    broken = (await town.begin()).run
    await town.runs.cancel(ANA, broken)

    ended = await town.answer_of(ANA, run, patience=NOW)
    settled = await town.answer_of(ANA, broken, patience=timedelta(seconds=30))

    assert isinstance(ended, RunFinished)
    assert ended.answer == "Good day."
    assert isinstance(settled, RunFinished)
    assert (settled.status, settled.error_code) == (AgentRunStatus.FAILED, "agent_run_broken")
    assert (await town.trace(broken)).run.status is AgentRunStatus.FAILED


async def test_what_it_waits_for_is_said_when_patience_is_over() -> None:
    town = Town(DELETES, says("Never."))
    started = await town.begin()
    before = await town.answer_of(ANA, started.run, patience=NOW)
    await town.leg(started.run)

    waits = await town.answer_of(ANA, started.run, patience=NOW)

    assert before is None
    assert isinstance(waits, ToolCallAwaitingApproval)
    assert (waits.turn, waits.call, waits.tool) == (1, "c1", "files.delete")


class EndsMeanwhile:
    """A book in which a run is looked up just when it has come to its end; that somebody has told
    it to stop came too late for it."""

    def __init__(self, town: Town) -> None:
        self.town = town

    async def get(self, caller: Principal, run: RunId) -> Run:
        self.town.world.agent_stops.clear()
        await self.town.leg(run)
        return await self.town.runs.get(caller, run)

    def __getattr__(self, name: str) -> Any:  # all the rest is the town's own
        return getattr(self.town.runs, name)


async def test_a_run_that_ends_while_it_is_looked_at_has_ended_as_it_says() -> None:
    town = Town(says("Good day."))
    run = (await town.begin()).run

    ended = await replace(town.follow, book=EndsMeanwhile(town)).settled(ANA, run)

    assert (ended.status, ended.answer) == (AgentRunStatus.COMPLETED, "Good day.")


async def test_a_run_that_ends_while_it_is_stopped_is_told_as_it_ended() -> None:
    town = Town(says("Good day."))
    run = (await town.begin()).run

    await replace(town.stop, book=EndsMeanwhile(town))(ANA, run)

    told = [each async for each in town.talk.follow(ANA, run, after=None)]
    ends = [each.event for each in told if isinstance(each.event, RunFinished)]
    assert {each.status for each in ends} == {AgentRunStatus.COMPLETED}
    assert (await town.trace(run)).run.status is AgentRunStatus.COMPLETED


async def test_a_run_that_is_queued_or_running_is_left_as_it_is() -> None:
    async def speaking(_ask: ModelAsk) -> AsyncIterator[ResponseChunk]:
        found.append((await town.runs.get(ANA, run)).status)
        seen.append(await town.follow.settled(ANA, run))
        yield TextChunk("Good day.")
        yield a_reply("Good day.")

    found: list[RunStatus] = []
    seen: list[RunTrace] = []
    town = Town(speaking)
    run = (await town.begin()).run
    found.append((await town.runs.get(ANA, run)).status)
    seen.append(await town.follow.settled(ANA, run))
    await town.leg(run)

    assert found == [RunStatus.QUEUED, RunStatus.RUNNING]
    assert [(each.status, each.error, each.ended_at) for each in seen] == [
        (AgentRunStatus.RUNNING, None, None)
    ] * 2
    assert (await town.trace(run)).run.status is AgentRunStatus.COMPLETED


async def test_without_patience_nobody_is_followed() -> None:
    town = Town(says("Good day."))
    run = (await town.begin()).run
    town.answer_of = replace(town.answer_of, follow_run=replace(town.follow, event_sink=Silent()))

    assert await town.answer_of(ANA, run, patience=NOW) is None


class Silent(MemoryAgentEvents):
    def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        raise AssertionError(caller, run, after)


async def test_what_is_said_in_mid_run_is_heard() -> None:
    town = Town(DELETES, says("I see."))
    run = (await town.ran_agent()).run.run

    await town.steer(ANA, run, "Leave it.")
    await town.say(await town.asked(run))
    await town.leg(run)

    assert "Leave it." in [message.text for message in town.models.asks[-1].messages]
    assert [each.text for each in await town.happened(run) if isinstance(each, InputReceived)] == [
        "Leave it."
    ]


async def test_steering_is_for_its_starter_and_while_it_is_on() -> None:
    town = Town(says("Good day."))
    started = await town.begin()

    with pytest.raises(AgentRunNotFound):
        await town.steer(STRANGER, started.run, "Psst.")
    with pytest.raises(NotPermitted):
        await town.steer(replace(ANA, scopes=frozenset()), started.run, "Psst.")
    await town.contexts.raise_taint(ANA, Label(Level.RESTRICTED), untrusted=False)
    with pytest.raises(AgentNotCleared):
        await town.steer(ANA, started.run, "A secret.")
    await town.leg(started.run)
    with pytest.raises(AgentRunOver):
        await town.steer(ANA, started.run, "Too late.")


async def test_a_stopped_run_ends_before_its_next_turn() -> None:
    town = Town(says("Never."))
    started = await town.begin()

    await town.stop(ANA, started.run)
    await town.leg(started.run)

    assert (await town.trace(started.run)).run.status is AgentRunStatus.STOPPED
    assert town.models.asks == []
    with pytest.raises(AgentRunOver):
        await town.stop(ANA, started.run)


async def test_what_a_stopped_run_has_asked_is_asked_no_more() -> None:
    town = Town(DELETES, says("Never."))
    run = (await town.ran_agent()).run.run

    await town.stop(ANA, run)
    await town.leg(run)

    assert (await town.asked(run)).status is Status.WITHDRAWN
    assert (await town.trace(run)).run.status is AgentRunStatus.STOPPED
    assert town.writes == {}


async def test_a_stopped_run_that_waits_for_a_persons_word_is_ended() -> None:
    town = Town(WRITES, says("Never."))
    town.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files", 1)
    run = (await town.ran_agent()).run.run

    await town.stop(ANA, run)

    assert (await town.trace(run)).run.status is AgentRunStatus.STOPPED
    assert (await town.runs.get(ANA, run)).status.over
    assert isinstance((await town.happened(run))[-1], RunFinished)


async def test_only_a_run_that_failed_is_taken_up_where_it_was() -> None:
    gone = [ModelUnavailable("local:small", "it is away.")] * 3
    town = Town(WRITES, *gone, says("Done."))
    started = await town.begin()
    with suppress(BaseExceptionGroup):
        await town.leg(started.run)
    failed = await town.trace(started.run)

    await town.resume(ANA, started.run)
    await town.leg(started.run)
    trace = await town.trace(started.run)

    assert failed.run.status is AgentRunStatus.FAILED
    assert (trace.run.status, trace.run.answer) == (AgentRunStatus.COMPLETED, "Done.")
    assert town.writes == {"write /a": 1}
    with pytest.raises(RunNotOver):
        await town.resume(ANA, started.run)


async def test_a_run_that_waits_ends_when_its_agent_is_removed() -> None:
    town = Town(DELETES, says("Never."))
    run = (await town.ran_agent()).run.run

    await town.identities.remove(ANA, town.agent)
    with suppress(BaseExceptionGroup):
        await town.leg(run)
    trace = (await town.trace(run)).run

    assert (await town.asked(run)).status is Status.WITHDRAWN
    assert (trace.status, trace.error_code) == (AgentRunStatus.FAILED, "principal_disabled")
    assert town.writes == {}


async def test_a_key_that_was_revoked_carries_no_run_any_further() -> None:
    town = Town(DELETES, says("Never."))
    bot = await town.bot()
    started = await town.begin(by=bot)
    await town.leg(started.run)
    await MemoryKeys(town.world).revoke(ANA, town.key.id, town.clock.now())

    await town.say(await town.asked(started.run))
    with suppress(BaseExceptionGroup):
        await town.leg(started.run)
    trace = (await town.trace(started.run)).run

    assert (trace.status, trace.error_code) == (AgentRunStatus.FAILED, "key_ended")


RUN = an_agent_run(ANA)
OVER = replace(RUN, status=AgentRunStatus.COMPLETED, ended_at=RUN.started_at)
END = AgentStreamItem(ended_of(OVER), "end")


class ScriptedTalk(MemoryAgentEvents):
    """Says exactly this, kept or live."""

    def __init__(self, script: Sequence[AgentStreamItem]) -> None:
        super().__init__()
        self._script = script

    async def went_on(self, caller: Principal, run: RunId, *, after: str) -> bool:
        return self._script[-1].cursor != after

    async def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        for told in self._script:
            yield told


def live(text: str, offset: int) -> AgentStreamItem:
    return AgentStreamItem(TextDelta(turn=1, attempt=1, offset=offset, text=text), None)


def kept(text: str, offset: int) -> AgentStreamItem:
    return AgentStreamItem(TextDelta(turn=1, attempt=1, offset=offset, text=text), f"c{offset}")


async def heard(
    *script: AgentStreamItem, tasks: MemoryTasks | None = None
) -> list[AgentStreamItem]:
    engine = Engine()
    traces = MemoryTraces(engine.world)
    await traces.add(ANA, RUN, a_saying(RUN))
    await traces.end(ANA, OVER)
    follow = FollowRun(
        traces=traces,
        event_sink=ScriptedTalk([*script, END]),
        book=engine.runs,
        tasks=tasks or MemoryTasks(),
        clock=engine.clock,
    )
    return [told async for told in follow(ANA, RUN.run)][:-1]


async def test_an_end_after_which_it_was_taken_up_again_is_none() -> None:
    failed = AgentStreamItem(ended_of(replace(OVER, status=AgentRunStatus.FAILED)), "failed")

    assert await heard(failed, kept("Here I am.", 0)) == [kept("Here I am.", 0)]


def words(told: Sequence[AgentStreamItem]) -> str:
    spoken, whole = Spoken(), ""
    for each in told:
        assert isinstance(each.event, TextDelta)
        spoken = spoken.after(each.event)
        whole += spoken.fresh
    return whole


async def test_whoever_comes_in_hears_each_word_once_from_where_they_are() -> None:
    told = await heard(
        live("day, ", 5), live("Ana", 10), kept("Good day, ", 0), kept("Ana", 10), live(".", 13)
    )

    assert words(told) == "Good day, Ana."
    assert told[0] == kept("Good day, ", 0)

    script = [live("Good ", 0), live("day", 5), kept("Good day", 0)]

    assert await heard(*script) == script

    assert await heard(live("na", 11), kept("Ana", 10), live("!", 13)) == [
        kept("Ana", 10),
        live("!", 13),
    ]

    late = AgentStreamItem(ReasoningDelta(turn=1, attempt=1, offset=4, text="so"), None)
    whole = AgentStreamItem(ReasoningDelta(turn=1, attempt=1, offset=0, text="And so"), "c")

    assert await heard(late, live("Yes", 0), whole) == [live("Yes", 0), whole]


def used(turn: int) -> AgentStreamItem:
    ended = ToolCallFinished(turn=turn, call="c", tool="t", text="", failed=False, seconds=0.1)
    return AgentStreamItem(ended, f"u{turn}")


async def test_what_each_call_has_read_is_taken_over() -> None:
    tasks = MemoryTasks()

    await heard(used(1), used(2), tasks=tasks)

    assert tasks.taken_over == [RUN.context] * 4  # as one begins, after each call, at the end


async def test_nothing_is_taken_over_again_once_nothing_more_can_be_read() -> None:
    tasks = MemoryTasks({RUN.context: RUN.label})
    tasks.strangers.add(RUN.context)

    await heard(used(1), used(2), tasks=tasks)

    assert tasks.taken_over == [RUN.context]
    assert tasks.labels[ANA.context] == RUN.label
    assert ANA.context in tasks.strangers
