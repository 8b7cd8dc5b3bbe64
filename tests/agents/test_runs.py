"""Starting a run of an agent, or one in a run of its own: who acts in it, and with what."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from portico.adapters.cross_domain.agent_toolbox import AgentWork
from portico.adapters.inline import InlineRuns
from portico.agents.core.activation import RunInput
from portico.agents.core.agents import Limits
from portico.agents.core.errors import (
    AgentNotCleared,
    AgentNotFound,
    AgentRunNotFound,
    AgentRunOver,
    InvalidModelRef,
)
from portico.agents.core.model_requests import AssistantMessage, Usage, UserMessage
from portico.agents.core.traces import AgentRunStatus, WholeTrace
from portico.agents.runs import AgentRunSpec, StartedAgentRun, left_of
from portico.engine.core.errors import KeyReused, RunNotOver
from portico.guard.core.approvals import Status
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import ContextId, RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_turn, an_agent_run
from portico.testing.agents import a_call, says, wants
from portico.testing.guard import MemoryKeys
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.agents.town import ANA, BEN, Town

SECRET = Label(Level.CONFIDENTIAL)
TEAM = Label(Level.TEAM)


async def test_a_run_begins_with_its_trace_and_is_written_down() -> None:
    town = Town()

    started = await town.begin(
        "Good day.", history=(UserMessage("Hi."), AssistantMessage("Hello."))
    )
    trace = await town.trace(started.run)
    run = await town.runs.get(ANA, started.run)

    assert (started.replayed, started.agent.name) == (False, "clerk")
    assert [said.text for said in trace.said] == ["Good day."]
    assert trace.run.history == (UserMessage("Hi."), AssistantMessage("Hello."))
    assert (trace.run.started_by, trace.run.acts_as) == (ANA.id, town.agent.principal)
    assert (run.kind, run.label) == ("agent", town.agent.spec.label)
    assert "Good day." not in str(run.input)
    [entry] = [each for each in town.audited if each["action"] == "agent.started"]
    assert entry["subject"] == str(started.run)
    assert "clerk" in str(entry["facts"])


@pytest.mark.parametrize(
    "otherwise",
    [
        {"message": "Something else."},
        {"model": "local:other"},
        {"limits": Limits(turns=2)},
        {"max_output_tokens": 100},
        {"label": TEAM},
    ],
)
async def test_the_same_key_is_never_a_run_that_was_wanted_otherwise(
    otherwise: dict[str, Any],
) -> None:
    town = Town()
    plain, other = await town.begin(key="k"), await town.begin(key="o", **otherwise)

    again = await town.begin(key="o", **otherwise)

    assert (again.run, again.replayed) == (other.run, True)
    with pytest.raises(KeyReused):
        await town.begin(key="k", **otherwise)
    with pytest.raises(KeyReused):
        await town.begin(key="o")
    await town.made_agent()
    changed = replace(town.agent, spec=replace(town.agent.spec, limits=Limits(turns=1)), version=2)
    town.world.agents[ANA.space, town.agent.id] = changed
    assert (await town.begin(key="k")).run == plain.run
    town.start_agent = replace(
        town.start_agent, book=InlineRuns(town.clock, town.entropy, town.bus, town.log)
    )
    assert (await town.begin(key="k")).replayed


async def test_whoever_starts_it_narrows_it_and_never_widens_it() -> None:
    town = Town()
    less = Limits(turns=2, tokens=10**9)

    started = await town.begin(limits=less, max_output_tokens=100, model="local:other")
    given = RunInput.from_json((await town.runs.get(ANA, started.run)).input)

    own = town.agent.spec
    assert (given.limits.turns, given.limits.tokens) == (2, own.limits.tokens)
    assert (given.model, given.agent.spec.max_output_tokens) == ("local:other", 100)
    with pytest.raises(InvalidModelRef):
        await town.begin(model="nothing")


async def test_a_run_is_for_those_who_may_and_of_agents_that_there_are() -> None:
    town = Town()
    nobody = replace(ANA, scopes=ANA.scopes - {Scope.AGENTS_RUN})

    with pytest.raises(NotPermitted):
        await town.begin(by=nobody)
    with pytest.raises(AgentNotFound):
        await town.start_agent(ANA, AgentRunSpec(agent="ghost", message="Boo."))


async def test_its_task_has_read_what_its_starter_has() -> None:
    for risen in (True, False):
        town = Town()
        if risen:
            await town.contexts.raise_taint(ANA, TEAM, untrusted=True)

        started = await town.begin(label=None if risen else TEAM)
        run = (await town.trace(started.run)).run
        task = await town.contexts.get(replace(ANA, id=run.acts_as, context=run.context))

        assert (task.label, task.untrusted) == (TEAM, risen)
        assert (await town.contexts.get(ANA)).id != task.id


async def test_what_is_above_the_agent_is_not_brought_to_it() -> None:
    town = Town()

    with pytest.raises(AgentNotCleared):
        await town.begin(label=SECRET)
    await town.contexts.raise_taint(ANA, SECRET, untrusted=False)
    with pytest.raises(AgentNotCleared):
        await town.begin()


async def test_a_run_goes_on_where_another_has_ended() -> None:
    town = Town(wants(a_call("files__read", path="/a")), says("Read."), says("As I said."))
    first = await town.ran_agent("Read it.")

    second = await town.ran_agent("And?", continues=first.run.run)
    task = await town.contexts.get(replace(ANA, id=second.run.acts_as, context=second.run.context))

    assert second.run.status is AgentRunStatus.COMPLETED
    said = [message.text for message in town.models.asks[-1].messages]
    assert said[0] == "Read it."
    assert said[-2:] == ["Read.", "And?"]
    assert task.untrusted


async def test_only_what_is_over_and_ones_own_is_continued() -> None:
    town = Town(says("Done."))
    started = await town.begin()
    stranger = replace(BEN, scopes=BEN.scopes - {Scope.TRACES_READ})

    with pytest.raises(RunNotOver):
        await town.begin("And?", continues=started.run)
    await town.leg(started.run)
    with pytest.raises(AgentRunNotFound):
        await town.begin("And?", continues=started.run, by=stranger)


async def test_a_run_of_a_secret_agent_begins_as_secret_as_its_instructions() -> None:
    town = Town(label=SECRET)
    cleared = replace(ANA, clearance=SECRET)
    await town.made_agent(by=cleared)

    started = await town.begin(by=cleared)
    run = (await town.traces.read(cleared, started.run)).run
    task = await town.contexts.get(replace(ANA, id=run.acts_as, context=run.context))

    assert task.label == SECRET


DELETES = wants(a_call("files__delete", path="/a"))


async def acting_in(town: Town, outer: RunId, by: Principal = ANA) -> Principal:
    """The agent, as it acts in this run."""
    acts_as = await town.identities.acting(by, await town.made_agent())
    return replace(acts_as, context=(await town.trace(outer)).run.context)


async def started_in(town: Town, outer: RunId, **wish: Any) -> StartedAgentRun:
    caller = await acting_in(town, outer)
    return await town.start_agent(caller, AgentRunSpec(agent="clerk", message="Help.", **wish))


async def given_to(town: Town, run: RunId) -> RunInput:
    return RunInput.from_json((await town.runs.get(ANA, run)).input)


async def test_an_inner_run_has_what_is_left_of_the_outer_one() -> None:
    own = Limits(tokens=1_000, money=Decimal(1), calls=5)
    town = Town(limits=own)
    outer = (await town.begin(limits=replace(own, tokens=500, turns=3))).run
    turn = a_turn((await town.trace(outer)).run)
    turn = replace(turn, usage=Usage(input=90, output=10), money=Decimal("0.25"))
    await town.traces.add_turn(ANA, turn)

    first = await started_in(town, outer, key="call 1")
    inner = (await town.trace(first.run)).run
    await town.traces.add_turn(
        ANA, replace(turn, run=inner.run, usage=Usage(input=50), money=Decimal("0.5"))
    )
    second = await started_in(town, outer, key="call 2")

    limits = (await given_to(town, first.run)).limits
    assert (limits.turns, limits.tokens, limits.money) == (3, 400, Decimal("0.75"))
    limits = (await given_to(town, second.run)).limits
    assert (limits.tokens, limits.money) == (350, Decimal("0.25"))
    again = await started_in(town, outer, key="call 1")
    assert (again.run, again.replayed) == (first.run, True)


async def test_whoever_is_in_no_run_has_no_outer_one() -> None:
    town = Town()
    outer = (await town.begin()).run
    elsewhere = replace(
        await acting_in(town, outer), context=ContextId.mint(BEGINNING, SeededEntropy("elsewhere"))
    )
    context = await town.tasks.open(elsewhere, "a task", after=ANA)

    started = await town.start_agent(
        replace(elsewhere, context=context), AgentRunSpec(agent="clerk", message="Help.")
    )

    assert (await given_to(town, started.run)).limits == town.agent.spec.limits
    assert (await given_to(town, outer)).requester["outer"] is None


def test_nothing_is_left_of_what_is_spent() -> None:
    run = replace(an_agent_run(ANA), usage=Usage(input=300), money=Decimal(3))
    turn = replace(a_turn(run), took=timedelta(minutes=20))
    whole = WholeTrace(run=run, said=(), turns=(turn,), uses=())

    left = left_of(
        Limits(tokens=100, money=Decimal(1), calls=1), whole, [replace(run, tool_uses=2)]
    )

    assert (left.tokens, left.money, left.seconds, left.calls) == (0, Decimal(0), 0.0, 0)


async def test_what_a_stopped_run_has_started_is_stopped_with_it() -> None:
    town = Town(DELETES, DELETES)
    outer, stranger = (await town.begin()).run, (await town.begin()).run
    inner = (await started_in(town, outer)).run
    other = (await started_in(town, stranger)).run
    await town.leg(inner)
    asked = await town.asked(inner)

    await town.stop(ANA, outer)
    await town.leg(inner)

    assert (await town.approvals.approvals.get(ANA, asked.id)).status is not Status.WAITING
    assert (await town.trace(inner)).run.status is AgentRunStatus.STOPPED
    assert await town.traces.stop_asked(ANA, inner)
    assert not await town.traces.stop_asked(ANA, other)
    with pytest.raises(AgentRunOver):
        await started_in(town, outer)


async def test_an_inner_run_is_found_among_many_others_of_its_starter() -> None:
    town = Town()
    outer = (await town.begin()).run
    inner = (await started_in(town, outer)).run
    caller = await acting_in(town, outer)
    elsewhere = replace(caller, context=await town.tasks.open(caller, "a task", after=ANA))
    for _ in range(100):
        await town.start_agent(elsewhere, AgentRunSpec(agent="clerk", message="Help."))

    await town.stop(ANA, outer)

    assert await town.traces.stop_asked(ANA, inner)


@pytest.mark.parametrize(
    ("end", "code"), [("by force", "agent_run_over"), ("revoked", "key_ended")]
)
async def test_an_inner_run_fails_once_the_outer_one_has_ended(end: str, code: str) -> None:
    town = Town(says("Never."))
    outer = (await town.begin(by=await town.bot() if end == "revoked" else ANA)).run
    inner = (await started_in(town, outer)).run

    if end == "revoked":
        await MemoryKeys(town.world).revoke(ANA, town.key.id, town.clock.now())
    else:
        await town.runs.cancel(ANA, outer)
    with suppress(BaseExceptionGroup):
        await town.leg(inner)

    trace = (await town.trace(inner)).run
    assert (trace.status, trace.error_code) == (AgentRunStatus.FAILED, code)
    assert town.models.asks == []


async def test_an_inner_run_goes_on_when_nothing_is_kept_of_the_outer_one() -> None:
    town = Town(says("Done."))
    outer = (await town.begin()).run
    inner = (await started_in(town, outer)).run

    kind = town.kinds[-1]
    assert isinstance(kind.work, AgentWork)
    empty = InlineRuns(town.clock, town.entropy, town.bus, town.log)
    town.kinds = [*town.kinds[:-1], replace(kind, work=replace(kind.work, book=empty))]
    await town.leg(inner)

    assert (await town.trace(inner)).run.status is AgentRunStatus.COMPLETED
