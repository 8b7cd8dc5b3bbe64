"""What every store of agents keeps to."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.agents.core.agents import Agent, AgentFilter
from portico.agents.core.errors import AgentChanged, AgentNameTaken, AgentNotFound
from portico.agents.ports import Agents
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, an_agent, an_agent_run, an_agent_spec
from tests.contracts.doors import REFUSED, Doors

SECRET = Label(Level.CONFIDENTIAL, frozenset({"finance"}))
ALL = AgentFilter()


@pytest.fixture
def agents(doors: Doors) -> Agents:
    return doors.agents


def changed(agent: Agent, **changes: object) -> Agent:
    return replace(
        agent,
        spec=replace(agent.spec, **changes),  # type: ignore[arg-type] # each by its name
        version=agent.version + 1,
        changed_at=agent.changed_at + timedelta(hours=1),
    )


async def names(agents: Agents, caller: Principal, after: str | None = None) -> list[str]:
    return [agent.name for agent in await agents.page(caller, ALL, after=after, limit=2)]


async def test_an_agent_is_found_by_its_name_and_by_its_id_as_it_was_added(
    agents: Agents, root: Principal
) -> None:
    cleared = replace(root, clearance=SECRET)
    spec = an_agent_spec(
        description="Grüßt.\n", fallbacks=("b:c",), temperature=0.25, label=SECRET, tags=("a",)
    )
    agent = an_agent(root, spec=spec)
    await agents.add(cleared, an_agent(root, str(agent.id)))  # a name that looks like an id
    await agents.add(cleared, agent)

    assert await agents.get(cleared, "clerk") == agent
    assert await agents.get(cleared, str(agent.id)) == agent
    for nobody in ("nobody", "agt_00000000000000000000000000", "a\0b", ""):
        with pytest.raises(AgentNotFound):
            await agents.get(cleared, nobody)


async def test_what_cannot_be_added_is_refused(doors: Doors, root: Principal) -> None:
    nobody = (await doors.founded("elsewhere")).id
    await doors.agents.add(root, an_agent(root))

    with pytest.raises(AgentNameTaken):
        await doors.agents.add(root, replace(an_agent(root, "x"), spec=an_agent_spec("clerk")))
    with pytest.raises(REFUSED):
        await doors.agents.add(root, an_agent(root, "other", principal=nobody))


async def test_a_change_is_the_next_version_and_the_former_ones_stay(
    agents: Agents, root: Principal
) -> None:
    first = an_agent(root)
    await agents.add(root, first)
    second = changed(first, name="scribe", instructions="Be brief.")

    await agents.put(root, second, was=1)
    with pytest.raises(AgentChanged) as refused:
        await agents.put(root, changed(first, instructions="Be long."), was=1)

    assert refused.value.version == 2
    assert await agents.get(root, "scribe") == second
    new, old = await agents.versions(root, first.id)
    assert [(it.number, it.spec) for it in (new, old)] == [(2, second.spec), (1, first.spec)]
    assert (new.by, new.by_name, new.at) == (root.id, root.name, second.changed_at)


async def test_a_change_that_is_refused_leaves_everything_as_it_was(
    agents: Agents, root: Principal
) -> None:
    first = an_agent(root)
    await agents.add(root, first)
    await agents.add(root, an_agent(root, "scribe"))

    with pytest.raises(AgentNameTaken):
        await agents.put(root, changed(first, name="scribe"), was=1)

    assert await agents.get(root, "clerk") == first
    assert len(await agents.versions(root, first.id)) == 1


async def test_one_that_is_removed_goes_with_its_versions_and_leaves_its_runs(
    doors: Doors, root: Principal
) -> None:
    agent, run = an_agent(root), an_agent_run(root)
    await doors.agents.add(root, agent)
    await doors.traces.add(root, run, a_saying(run))

    await doors.agents.remove(root, agent.id)

    assert await names(doors.agents, root) == []
    assert await doors.agents.versions(root, agent.id) == []
    assert (await doors.traces.read(root, run.run)).run == run
    with pytest.raises(AgentNotFound):
        await doors.agents.put(root, changed(agent), was=1)
    with pytest.raises(AgentNotFound):
        await doors.agents.remove(root, agent.id)


async def test_pages_go_by_name_and_a_filter_does_not_shorten_them(
    agents: Agents, root: Principal
) -> None:
    for name in ("c", "B", "a"):
        await agents.add(root, an_agent(root, name))
    assert await names(agents, root) == ["B", "a"]
    assert await names(agents, root, after="a") == ["c"]

    for number in range(450):
        tags, name = ("odd",) if number % 2 else (), f"n{number:03}"
        await agents.add(root, an_agent(root, name, spec=an_agent_spec(name, tags=tags)))

    found = await agents.page(root, AgentFilter(tag="odd"), after=None, limit=200)
    assert [agent.name for agent in found] == [f"n{number:03}" for number in range(1, 400, 2)]


async def test_above_ones_clearance_there_are_no_agents(agents: Agents, root: Principal) -> None:
    cleared = replace(root, clearance=SECRET)
    low, team = replace(root, clearance=Label(Level.CONFIDENTIAL)), Label(Level.TEAM)
    agent = an_agent(root, spec=an_agent_spec(label=SECRET))
    await agents.add(cleared, agent)

    assert await names(agents, low) == []
    assert await agents.versions(low, agent.id) == []
    with pytest.raises(AgentNotFound):
        await agents.get(low, "clerk")
    with pytest.raises(AgentNotFound):
        await agents.remove(low, agent.id)
    with pytest.raises(REFUSED):
        await agents.add(low, an_agent(low, "x", spec=an_agent_spec("x", label=SECRET)))

    await agents.put(cleared, changed(agent, label=team), was=1)
    seen = await agents.versions(replace(root, clearance=team), agent.id)
    assert [version.number for version in seen] == [2]  # the one before was more secret


async def test_agents_are_in_their_space_and_go_with_it(doors: Doors, root: Principal) -> None:
    other = await doors.founded("other")
    with pytest.raises(ValueError, match="enough"):
        async with doors.together(root):
            await doors.agents.add(root, an_agent(root))
            raise ValueError("enough")
    assert await names(doors.agents, root) == []

    await doors.agents.add(root, an_agent(root))
    await doors.agents.add(other, an_agent(other))
    assert (await doors.agents.get(other, "clerk")).space == other.space
    assert await names(doors.agents, root) == ["clerk"]

    await doors.spaces.delete(root)
    assert await names(doors.agents, root) == []
