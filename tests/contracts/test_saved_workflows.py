"""What the gateway may rely on of `SavedWorkflows`."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.saved_workflow_errors import WorkflowNotFound
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.testing.kernel import BEGINNING
from portico.testing.saved_workflows import a_saved_workflow
from tests.contracts.doors import REFUSED, Doors


async def test_a_plan_comes_back_as_it_was_written(doors: Doors) -> None:
    root = await doors.founded("home")
    arguments: JsonObject = {"z": 1.0, "a": "\0 \ud800"}
    saved = a_saved_workflow("tidy", {"steps": [], "odd": arguments})

    await doors.saved.put(root, saved)

    found = await doors.saved.get(root, "tidy")
    assert found == saved
    assert isinstance(found.plan["odd"], Mapping)
    assert [*found.plan["odd"]] == ["z", "a"]


async def test_what_is_saved_anew_keeps_the_day_on_which_it_was_first_saved(doors: Doors) -> None:
    root = await doors.founded("home")
    later = BEGINNING + timedelta(days=1)
    await doors.saved.put(root, a_saved_workflow())

    anew = replace(
        a_saved_workflow(description="Otherwise.", effect=Effect.IRREVERSIBLE),
        saved_at=later,
        changed_at=later,
    )
    await doors.saved.put(root, anew)

    assert await doors.saved.all(root) == [replace(anew, saved_at=BEGINNING)]


async def test_they_are_listed_by_name(doors: Doors) -> None:
    root = await doors.founded("home")
    for name in ("b", "B", "a"):
        await doors.saved.put(root, a_saved_workflow(name))

    assert [saved.name for saved in await doors.saved.all(root)] == ["B", "a", "b"]


async def test_one_that_is_removed_is_gone(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.saved.put(root, a_saved_workflow())

    await doors.saved.remove(root, "tidy")

    assert await doors.saved.all(root) == []
    with pytest.raises(WorkflowNotFound):
        await doors.saved.remove(root, "tidy")
    with pytest.raises(WorkflowNotFound):
        await doors.saved.get(root, "no\0such")


@pytest.mark.requirement("guard:spaces:walls")
async def test_another_space_neither_sees_nor_changes_it(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.saved.put(home, a_saved_workflow())
    await doors.saved.put(acme, a_saved_workflow("other"))

    with pytest.raises(WorkflowNotFound):
        await doors.saved.remove(acme, "tidy")

    assert [saved.name for saved in await doors.saved.all(acme)] == ["other"]
    assert [saved.name for saved in await doors.saved.all(home)] == ["tidy"]


async def test_it_goes_with_its_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.saved.put(root, a_saved_workflow())

    await doors.spaces.delete(root)

    assert await doors.saved.all(root) == []
    with pytest.raises(REFUSED):
        await doors.saved.put(root, a_saved_workflow())


@pytest.mark.requirement("guard:spaces:export")
async def test_it_is_taken_along_when_a_space_is_exported(doors: Doors) -> None:
    root = await doors.founded("home")
    saved = a_saved_workflow()
    await doors.saved.put(root, saved)

    rows = [row async for row in doors.spaces.export(root) if row.table == "saved_workflow"]

    assert [(row.values["name"], row.values["plan"]) for row in rows] == [("tidy", saved.plan)]
