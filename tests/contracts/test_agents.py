"""What every store of agents keeps to."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.agents.core.agent import Agent, AgentFilter
from portico.agents.core.errors import AgentChanged, AgentNameTaken, AgentNotFound
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, an_agent, an_agent_run, an_agent_spec
from tests.contracts.doors import REFUSED, Doors

SECRET = Label(Level.CONFIDENTIAL, frozenset({"finance"}))
ALL = AgentFilter()


def cleared(caller: Principal, label: Label) -> Principal:
    return replace(caller, clearance=label)


def changed(agent: Agent, **changes: object) -> Agent:
    return replace(
        agent,
        spec=replace(agent.spec, **changes),  # type: ignore[arg-type] # each by its name
        version=agent.version + 1,
        changed_at=agent.changed_at + timedelta(hours=1),
    )


async def test_an_agent_is_found_by_its_name_and_by_its_id(doors: Doors) -> None:
    root = await doors.founded("home")
    agent = an_agent(root)
    await doors.agents.add(root, agent)

    assert await doors.agents.get(root, "clerk") == agent
    assert await doors.agents.get(root, str(agent.id)) == agent


@pytest.mark.parametrize("name", ["nobody", "agt_00000000000000000000000000", "a\0b", ""])
async def test_one_that_is_not_there_is_not_found(doors: Doors, name: str) -> None:
    root = await doors.founded("home")

    with pytest.raises(AgentNotFound):
        await doors.agents.get(root, name)


async def test_the_id_of_one_is_not_taken_for_the_name_of_another(doors: Doors) -> None:
    root = await doors.founded("home")
    agent = an_agent(root)
    await doors.agents.add(root, an_agent(root, str(agent.id)))
    await doors.agents.add(root, agent)

    assert await doors.agents.get(root, str(agent.id)) == agent


async def test_everything_that_can_be_said_of_an_agent_is_kept(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), SECRET)
    spec = an_agent_spec(
        description="Grüßt.\n", fallbacks=("b:c",), temperature=0.25, label=SECRET, tags=("a",)
    )
    agent = an_agent(root, spec=spec)

    await doors.agents.add(root, agent)

    assert await doors.agents.get(root, "clerk") == agent


async def test_two_agents_of_a_space_are_not_called_the_same(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.agents.add(root, an_agent(root))
    other = replace(an_agent(root, "other"), spec=an_agent_spec("clerk"))

    with pytest.raises(AgentNameTaken):
        await doors.agents.add(root, other)


async def test_an_agent_whose_principal_is_nobody_is_refused(doors: Doors) -> None:
    root = await doors.founded("home")
    nobody = (await doors.founded("elsewhere")).id

    with pytest.raises(REFUSED):
        await doors.agents.add(root, an_agent(root, principal=nobody))


async def test_a_change_is_the_next_version_and_the_former_ones_stay(doors: Doors) -> None:
    root = await doors.founded("home")
    first = an_agent(root)
    await doors.agents.add(root, first)
    second = changed(first, name="scribe", instructions="Be brief.")

    await doors.agents.put(root, second, was=1)

    versions = await doors.agents.versions(root, first.id)
    assert await doors.agents.get(root, "scribe") == second
    assert [(it.number, it.spec) for it in versions] == [(2, second.spec), (1, first.spec)]
    assert (versions[0].by, versions[0].by_name, versions[0].at) == (
        root.id,
        root.name,
        second.changed_at,
    )


async def test_whoever_changes_what_has_changed_meanwhile_is_told(doors: Doors) -> None:
    root = await doors.founded("home")
    first = an_agent(root)
    await doors.agents.add(root, first)
    await doors.agents.put(root, changed(first, instructions="Be brief."), was=1)

    with pytest.raises(AgentChanged) as refused:
        await doors.agents.put(root, changed(first, instructions="Be long."), was=1)

    assert refused.value.version == 2
    assert len(await doors.agents.versions(root, first.id)) == 2


async def test_a_change_to_a_name_that_is_taken_leaves_everything_as_it_was(doors: Doors) -> None:
    root = await doors.founded("home")
    first = an_agent(root)
    await doors.agents.add(root, first)
    await doors.agents.add(root, an_agent(root, "scribe"))

    with pytest.raises(AgentNameTaken):
        await doors.agents.put(root, changed(first, name="scribe"), was=1)

    assert await doors.agents.get(root, "clerk") == first
    assert len(await doors.agents.versions(root, first.id)) == 1


async def test_what_is_not_there_cannot_be_changed_or_removed(doors: Doors) -> None:
    root = await doors.founded("home")
    agent = an_agent(root)

    with pytest.raises(AgentNotFound):
        await doors.agents.put(root, changed(agent), was=1)
    with pytest.raises(AgentNotFound):
        await doors.agents.remove(root, agent.id)


async def test_one_that_is_removed_goes_with_its_versions_and_leaves_its_runs(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    agent = an_agent(root)
    await doors.agents.add(root, agent)
    run = an_agent_run(root)
    await doors.traces.begin(root, run, a_saying(run))

    await doors.agents.remove(root, agent.id)

    assert await doors.agents.page(root, ALL, after=None, limit=10) == []
    assert await doors.agents.versions(root, agent.id) == []
    assert (await doors.traces.read(root, run.run)).run == run


async def test_pages_go_by_name(doors: Doors) -> None:
    root = await doors.founded("home")
    for name in ("c", "B", "a"):
        await doors.agents.add(root, an_agent(root, name))

    first = await doors.agents.page(root, ALL, after=None, limit=2)
    rest = await doors.agents.page(root, ALL, after="a", limit=2)

    assert [agent.name for agent in first] == ["B", "a"]
    assert [agent.name for agent in rest] == ["c"]


async def test_a_filter_does_not_shorten_a_page(doors: Doors) -> None:
    root = await doors.founded("home")
    for number in range(450):
        tags = ("odd",) if number % 2 else ()
        name = f"n{number:03}"
        await doors.agents.add(root, an_agent(root, name, spec=an_agent_spec(name, tags=tags)))

    found = await doors.agents.page(root, AgentFilter(tag="odd"), after=None, limit=200)

    assert [agent.name for agent in found] == [f"n{number:03}" for number in range(1, 400, 2)]


async def test_above_ones_clearance_there_are_no_agents(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), SECRET)
    low = cleared(root, Label(Level.CONFIDENTIAL))
    agent = an_agent(root, spec=an_agent_spec(label=SECRET))
    await doors.agents.add(root, agent)

    assert await doors.agents.page(low, ALL, after=None, limit=10) == []
    assert await doors.agents.versions(low, agent.id) == []
    with pytest.raises(AgentNotFound):
        await doors.agents.get(low, "clerk")
    with pytest.raises(AgentNotFound):
        await doors.agents.remove(low, agent.id)
    with pytest.raises(REFUSED):
        await doors.agents.add(low, an_agent(low, "x", spec=an_agent_spec("x", label=SECRET)))


async def test_a_version_that_was_more_secret_stays_so(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), SECRET)
    agent = an_agent(root, spec=an_agent_spec(label=SECRET))
    await doors.agents.add(root, agent)
    await doors.agents.put(root, changed(agent, label=Label(Level.TEAM)), was=1)

    seen = await doors.agents.versions(cleared(root, Label(Level.TEAM)), agent.id)

    assert [version.number for version in seen] == [2]


async def test_agents_of_another_space_are_not_there(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("other")
    await doors.agents.add(root, an_agent(root))

    await doors.agents.add(other, an_agent(other))

    assert (await doors.agents.get(other, "clerk")).space == other.space
    assert len(await doors.agents.page(root, ALL, after=None, limit=10)) == 1


async def test_they_go_with_their_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.agents.add(root, an_agent(root))

    await doors.spaces.delete(root)

    assert await doors.agents.page(root, ALL, after=None, limit=10) == []


async def test_what_is_added_together_with_what_fails_is_not_there(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(ValueError, match="enough"):
        async with doors.together(root):
            await doors.agents.add(root, an_agent(root))
            raise ValueError("enough")

    assert await doors.agents.page(root, ALL, after=None, limit=10) == []
