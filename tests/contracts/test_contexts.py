"""What the guard may rely on of its tasks: `Contexts` and `ContextBook`."""

from dataclasses import replace

import pytest

from portico.guard.core.act import TaskContext
from portico.guard.core.authentication import as_principal
from portico.guard.core.context import OpenedContext, context_of
from portico.guard.core.errors import ContextNotFound
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM)
HR = Label(Level.PUBLIC, frozenset({"hr"}))
SECRET = Label(Level.CONFIDENTIAL, frozenset({"law"}))


def opened(caller: Principal, seed: str = "one") -> OpenedContext:
    context = ContextId.mint(BEGINNING, SeededEntropy(f"context {seed}"))
    return OpenedContext(id=context, principal=caller.id, name=seed, opened_at=BEGINNING)


async def test_a_task_that_nothing_was_read_in_is_as_low_as_can_be(doors: Doors) -> None:
    root = await doors.founded("home")

    assert await doors.contexts.get(root) == TaskContext(id=context_of(root))


async def test_what_is_read_adds_up_for_every_process(doors: Doors) -> None:
    root = await doors.founded("home")

    await doors.contexts.rise(root, TEAM, untrusted=False)
    await doors.contexts_elsewhere.rise(root, HR, untrusted=True)
    await doors.contexts.rise(root, SECRET, untrusted=False)
    await doors.contexts_elsewhere.rise(root, PUBLIC, untrusted=False)

    for each in (doors.contexts, doors.contexts_elsewhere):
        found = await each.get(root)
        assert found.label == Label(Level.CONFIDENTIAL, frozenset({"hr", "law"}))
        assert found.untrusted


async def test_what_one_process_knows_of_never_hides_what_another_has_read(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.contexts.rise(root, TEAM, untrusted=True)

    await doors.contexts_elsewhere.rise(root, SECRET, untrusted=True)
    await doors.contexts.rise(root, TEAM, untrusted=True)

    assert (await doors.contexts.get(root)).label == SECRET


async def test_it_stays_though_what_it_was_part_of_is_taken_back(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.contexts.rise(root, TEAM, untrusted=True)
            raise RuntimeError

    assert (await doors.contexts_elsewhere.get(root)).label == TEAM


async def test_keys_and_principals_have_tasks_of_their_own(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    one, other = replace(root, key="one"), replace(root, key="other")

    await doors.contexts.rise(one, SECRET, untrusted=True)

    for who in (root, other, bob):
        assert await doors.contexts.get(who) == TaskContext(id=context_of(who))


async def test_a_task_that_was_opened_is_raised_apart_from_that_of_the_key(doors: Doors) -> None:
    root = await doors.founded("home")
    task = opened(root)
    await doors.contexts.open(root, task)
    at_it = replace(root, context=task.id)

    await doors.contexts.rise(at_it, TEAM, untrusted=True)

    assert (await doors.contexts.get(at_it)).label == TEAM
    assert (await doors.contexts.get(root)).label == PUBLIC
    assert await doors.contexts.find(root, task.id) == replace(task, label=TEAM, untrusted=True)


async def test_a_task_may_have_read_something_when_it_is_opened(doors: Doors) -> None:
    root = await doors.founded("home")
    task = replace(opened(root), label=TEAM, untrusted=True)

    await doors.contexts.open(root, task)

    known = TaskContext(id=task.id, label=TEAM, untrusted=True)
    assert await doors.contexts.get(replace(root, context=task.id)) == known
    assert await doors.contexts.find(root, task.id) == task


async def test_a_task_is_nobody_elses(doors: Doors) -> None:
    root = await doors.founded("home")
    bob, stranger = as_principal(await doors.joined(root, "bob")), await doors.founded("acme")
    task = opened(root)
    await doors.contexts.open(root, task)

    for who in (bob, stranger):
        with pytest.raises(ContextNotFound):
            await doors.contexts.get(replace(who, context=task.id))
        with pytest.raises(ContextNotFound):
            await doors.contexts.rise(replace(who, context=task.id), SECRET, untrusted=True)
        assert await doors.contexts.find(who, task.id) is None
        assert not await doors.contexts.close(who, task.id, BEGINNING)
        assert await doors.contexts.all(who) == []
    assert (await doors.contexts.get(replace(root, context=task.id))).label == PUBLIC


async def test_a_task_that_was_never_opened_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")
    nowhere = replace(root, context=opened(root).id)

    with pytest.raises(ContextNotFound):
        await doors.contexts.get(nowhere)
    with pytest.raises(ContextNotFound):
        await doors.contexts.rise(nowhere, TEAM, untrusted=False)


async def test_a_closed_task_takes_in_what_is_under_way_and_nothing_is_done_in_it(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    task = opened(root)
    await doors.contexts.open(root, task)
    at_it = replace(root, context=task.id)

    assert await doors.contexts.close(root, task.id, BEGINNING)
    assert not await doors.contexts.close(root, task.id, BEGINNING)
    await doors.contexts.rise(at_it, TEAM, untrusted=True)

    with pytest.raises(ContextNotFound):
        await doors.contexts.get(at_it)
    found = await doors.contexts.find(root, task.id)
    assert found is not None
    assert (found.closed_at, found.label) == (BEGINNING, TEAM)


async def test_the_tasks_of_keys_are_not_among_those_that_were_opened(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.contexts.rise(root, TEAM, untrusted=True)
    for seed in ("one", "two"):
        await doors.contexts.open(root, opened(root, seed))

    assert {its.name for its in await doors.contexts.all(root)} == {"one", "two"}
    assert await doors.contexts.find(root, context_of(root)) is None
    assert not await doors.contexts.close(root, context_of(root), BEGINNING)


async def test_nobody_is_at_a_task_who_is_not_there(doors: Doors) -> None:
    root = await doors.founded("home")
    nobody = a_person("nobody", space=await doors.spaces.get(root))

    with pytest.raises(REFUSED):
        await doors.contexts.rise(nobody, TEAM, untrusted=True)
    with pytest.raises(REFUSED):
        await doors.contexts.open(nobody, opened(nobody))
