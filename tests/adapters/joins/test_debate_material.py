"""What a project remembers, as material for a debate; and the task that a debate happens in."""

from dataclasses import replace

import pytest

from portico.adapters.joins.debate_material import DebateMaterial
from portico.adapters.joins.debate_tasks import DebateTasks
from portico.bridge.core.errors import MemoryNotFound, ProjectNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.project import ProjectId
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, LAW, TEAM, a_project, cleared_root
from tests.contracts.doors import Doors, memory_doors


async def remember(
    doors: Doors, root: Principal, project: ProjectId, label: Label, **what: JsonValue
) -> None:
    for key, value in what.items():
        wanted = ToRemember(project=project, key=key, value=value)
        await doors.memory.put(root, wanted, label, BEGINNING, untrusted=label == LAW)


async def test_what_is_remembered_is_read_as_one_text_and_as_secret_as_all_of_it() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await remember(doors, root, project.id, FINANCE, plan="Zürich first.")
    await remember(doors, root, project.id, TEAM, ports={"ö": [80]})
    await remember(doors, root, project.id, LAW, letter="Dear all")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)

    text, label, untrusted = await material.of(root, project.name, ["plan", "ports", "plan"])

    assert text == '## plan\n\nZürich first.\n\n## ports\n\n{\n  "ö": [\n    80\n  ]\n}'
    assert (label, untrusted) == (FINANCE, False)
    strange = await material.of(root, str(project.id), ["letter"])
    assert strange[1:] == (join([TEAM, LAW]), True)
    assert await material.of(root, str(project.id), []) == ("", TEAM, False)


async def test_what_somebody_may_not_read_is_not_there() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    hidden = await a_project(doors, root, "hidden", FINANCE)
    await remember(doors, root, project.id, FINANCE, plan="x")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)
    low = replace(root, clearance=TEAM)

    assert await material.project(low, project.name) == (str(project.id), TEAM)
    with pytest.raises(ProjectNotFound):
        await material.project(low, str(hidden.id))
    with pytest.raises(ProjectNotFound):
        await material.of(low, "hidden", [])
    with pytest.raises(MemoryNotFound):
        await material.of(low, str(project.id), ["plan"])


async def test_a_debate_begins_with_what_its_starter_has_read_and_goes_its_own_way() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    tasks = DebateTasks(
        book=doors.contexts,
        contexts=doors.contexts,
        clock=doors.clock,
        entropy=SeededEntropy("tasks"),
    )
    await tasks.read(root, TEAM, untrusted=True)

    inside = replace(root, context=await tasks.open(root, "debate", FINANCE))
    await tasks.read(root, LAW, untrusted=False)

    task = await tasks.at(inside)
    assert (task.label, task.untrusted) == (join([TEAM, FINANCE]), True)
    fresh = await tasks.at(replace(root, key="another"))
    assert fresh.label == PUBLIC
