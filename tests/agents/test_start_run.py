"""Starting a run of an agent: who acts in it, with what, and in which task."""

from dataclasses import replace
from typing import Any

import pytest

from portico.adapters.inline.runs import InlineRuns
from portico.agents.core.agent import Limits
from portico.agents.core.errors import (
    AgentNotCleared,
    AgentNotFound,
    AgentRunNotFound,
    BadModelRef,
)
from portico.agents.core.given import RunGiven
from portico.agents.core.message import ModelSaid, UserSaid
from portico.agents.core.trace import AgentRunStatus
from portico.agents.start_run import AgentRunWish
from portico.engine.core.errors import KeyReused, RunNotOver
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from portico.kernel.label import Label, Level
from portico.testing.agents import a_call, says, wants
from tests.agents.town import ANA, BEN, Town

SECRET = Label(Level.CONFIDENTIAL)
TEAM = Label(Level.TEAM)


async def test_a_run_begins_with_its_trace_and_is_written_down() -> None:
    town = Town()

    started = await town.begin("Good day.", history=(UserSaid("Hi."), ModelSaid("Hello.")))
    trace = await town.trace(started.run)
    run = await town.runs.get(ANA, started.run)

    assert (started.replayed, started.agent.name) == (False, "clerk")
    assert [said.text for said in trace.said] == ["Good day."]
    assert trace.run.history == (UserSaid("Hi."), ModelSaid("Hello."))
    assert (trace.run.started_by, trace.run.acts_as) == (ANA.id, town.agent.principal)
    assert (run.kind, run.label) == ("agent", town.agent.spec.label)
    assert "Good day." not in str(run.input)
    [entry] = [each for each in town.audited if each["action"] == "agent.started"]
    assert entry["subject"] == str(started.run)
    assert "clerk" in str(entry["facts"])


async def test_the_same_key_is_the_same_run_and_never_another_wish() -> None:
    town = Town()
    first = await town.begin(key="k")

    again = await town.begin(key="k")

    assert (again.run, again.replayed) == (first.run, True)
    with pytest.raises(KeyReused):
        await town.begin("Something else.", key="k")


@pytest.mark.parametrize(
    "otherwise",
    [
        {"model": "local:other"},
        {"limits": Limits(turns=2)},
        {"most_output": 100},
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

    started = await town.begin(limits=less, most_output=100, model="local:other")
    given = RunGiven.from_json((await town.runs.get(ANA, started.run)).input)

    own = town.agent.spec
    assert (given.limits.turns, given.limits.tokens) == (2, own.limits.tokens)
    assert (given.model, given.agent.spec.most_output) == ("local:other", 100)
    with pytest.raises(BadModelRef):
        await town.begin(model="nothing")


async def test_a_run_is_for_those_who_may_and_of_agents_that_there_are() -> None:
    town = Town()
    nobody = replace(ANA, scopes=ANA.scopes - {Scope.AGENTS_RUN})

    with pytest.raises(NotPermitted):
        await town.begin(by=nobody)
    with pytest.raises(AgentNotFound):
        await town.start_agent(ANA, AgentRunWish(agent="ghost", message="Boo."))


async def test_its_task_has_read_what_its_starter_has() -> None:
    town = Town()
    await town.contexts.rise(ANA, TEAM, untrusted=True)

    started = await town.begin()
    run = (await town.trace(started.run)).run
    task = await town.contexts.get(replace(ANA, id=run.acts_as, context=run.context))

    assert (task.label, task.untrusted) == (TEAM, True)
    assert (await town.contexts.get(ANA)).id != task.id


async def test_what_a_message_is_said_to_be_is_taken_in() -> None:
    town = Town()

    started = await town.begin(label=TEAM)
    run = (await town.trace(started.run)).run
    task = await town.contexts.get(replace(ANA, id=run.acts_as, context=run.context))

    assert task.label == TEAM


async def test_what_is_above_the_agent_is_not_brought_to_it() -> None:
    town = Town()

    with pytest.raises(AgentNotCleared):
        await town.begin(label=SECRET)
    await town.contexts.rise(ANA, SECRET, untrusted=False)
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
