"""What the guard may rely on of its tasks: `Contexts` and `ContextRegistry`."""

from dataclasses import replace

import pytest

from portico.guard.core.access_request import TaintContext
from portico.guard.core.authentication import as_principal
from portico.guard.core.contexts import OpenedContext, context_of
from portico.guard.core.errors import ContextNotFound
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM)
HR = Label(Level.PUBLIC, frozenset({"hr"}))
SECRET = Label(Level.CONFIDENTIAL, frozenset({"law"}))


def opened(caller: Principal, seed: str = "one") -> OpenedContext:
    context = ContextId.mint(BEGINNING, SeededEntropy(f"context {seed}"))
    return OpenedContext(id=context, principal=caller.id, name=seed, opened_at=BEGINNING)


async def test_what_is_read_adds_up_for_every_process(doors: Doors, root: Principal) -> None:
    here, there = doors.contexts, doors.contexts_elsewhere
    assert await here.get(root) == TaintContext(id=context_of(root))

    await here.raise_taint(root, TEAM, untrusted=False)
    await there.raise_taint(root, HR, untrusted=True)
    await here.raise_taint(root, SECRET, untrusted=False)
    await there.raise_taint(root, PUBLIC, untrusted=False)

    for each in (here, there):
        found = await each.get(root)
        assert found.label == Label(Level.CONFIDENTIAL, frozenset({"hr", "law"}))
        assert found.untrusted


async def test_what_one_process_knows_of_never_hides_what_another_has_read(
    doors: Doors, root: Principal
) -> None:
    await doors.contexts.raise_taint(root, TEAM, untrusted=True)

    await doors.contexts_elsewhere.raise_taint(root, SECRET, untrusted=True)
    await doors.contexts.raise_taint(root, TEAM, untrusted=True)

    assert (await doors.contexts.get(root)).label == SECRET


async def test_it_stays_though_what_it_was_part_of_is_taken_back(
    doors: Doors, root: Principal
) -> None:
    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.contexts.raise_taint(root, TEAM, untrusted=True)
            raise RuntimeError

    assert (await doors.contexts_elsewhere.get(root)).label == TEAM


async def test_keys_and_principals_and_what_is_opened_have_tasks_of_their_own(
    doors: Doors, root: Principal
) -> None:
    contexts, bob = doors.contexts, as_principal(await doors.joined(root, "bob"))
    one, other = replace(root, key="one"), replace(root, key="other")
    task, read = opened(root), replace(opened(root, "read"), label=TEAM, untrusted=True)
    at_it = replace(root, context=task.id)

    await contexts.raise_taint(one, SECRET, untrusted=True)
    for each in (task, read):
        await contexts.open(root, each)
        assert await contexts.find(root, each.id) == each
    await contexts.raise_taint(at_it, TEAM, untrusted=True)

    for who in (root, other, bob):
        assert await contexts.get(who) == TaintContext(id=context_of(who))
    for each in (task, read):
        raised = TaintContext(id=each.id, label=TEAM, untrusted=True)
        assert await contexts.get(replace(root, context=each.id)) == raised
    assert await contexts.find(root, task.id) == replace(task, label=TEAM, untrusted=True)
    assert {its.name for its in await contexts.all(root)} == {"one", "read"}
    assert await contexts.find(root, context_of(root)) is None
    assert not await contexts.close(root, context_of(root), BEGINNING)


async def test_a_task_is_nobody_elses_and_one_that_was_never_opened_is_nobodys(
    doors: Doors, root: Principal
) -> None:
    contexts = doors.contexts
    bob, stranger = as_principal(await doors.joined(root, "bob")), await doors.founded("acme")
    nobody = a_person("nobody", space=await doors.spaces.get(root))
    task = opened(root)
    await contexts.open(root, task)

    for who, id_ in ((bob, task.id), (stranger, task.id), (root, opened(root, "never").id)):
        at_it = replace(who, context=id_)
        with pytest.raises(ContextNotFound):
            await contexts.get(at_it)
        with pytest.raises(ContextNotFound):
            await contexts.raise_taint(at_it, SECRET, untrusted=True)
        assert await contexts.find(who, id_) is None
        assert not await contexts.close(who, id_, BEGINNING)
    for who in (bob, stranger):
        assert await contexts.all(who) == []
    assert (await contexts.get(replace(root, context=task.id))).label == PUBLIC
    with pytest.raises(REFUSED):
        await contexts.raise_taint(nobody, TEAM, untrusted=True)
    with pytest.raises(REFUSED):
        await contexts.open(nobody, opened(nobody, "nobody's"))


async def test_a_closed_task_takes_in_what_is_under_way_and_nothing_is_done_in_it(
    doors: Doors, root: Principal
) -> None:
    contexts, task = doors.contexts, opened(root)
    await contexts.open(root, task)
    at_it = replace(root, context=task.id)

    assert await contexts.close(root, task.id, BEGINNING)
    assert not await contexts.close(root, task.id, BEGINNING)
    await contexts.raise_taint(at_it, TEAM, untrusted=True)

    with pytest.raises(ContextNotFound):
        await contexts.get(at_it)
    found = await contexts.find(root, task.id)
    assert found is not None
    assert (found.closed_at, found.label) == (BEGINNING, TEAM)
