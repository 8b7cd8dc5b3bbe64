"""What every store of work keeps to: one has it at a time, and what is over stays so."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import (
    ProjectNotFound,
    WorkHeldUp,
    WorkNotFound,
    WorkOver,
    WorkTaken,
    WriteDown,
)
from portico.bridge.core.project import Project
from portico.bridge.core.task import NewWork, Work, WorkEnded, WorkId, WorkState
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, LAW, TEAM, a_project, cleared_root, joined
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(hours=1)
_ids = SeededEntropy("work")
_minted = iter(range(10_000))


def an_id() -> WorkId:
    return WorkId.mint(BEGINNING + timedelta(seconds=next(_minted)), _ids)


async def add(
    doors: Doors,
    caller: Principal,
    project: Project,
    title: str = "Mend the parser",
    *,
    label: Label = TEAM,
    depends: tuple[WorkId, ...] = (),
    key: str | None = None,
) -> Work:
    work = NewWork(project=project.id, title=title, body="All of it.", depends=depends, key=key)
    return await doors.works.add(caller, an_id(), work, label, BEGINNING)


async def done(doors: Doors, caller: Principal, work: Work) -> Work:
    token = (await doors.works.claim(caller, work.id, LATER)).token
    return await doors.works.end(caller, WorkEnded(work=work.id, token=token), LATER)


async def test_what_was_added_is_read_as_it_was_written(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    wanted = NewWork(project=project.id, title="Mend it", body="All of it.")

    added = await doors.works.add(root, an_id(), wanted, FINANCE, BEGINNING, untrusted=True)

    assert await doors.works.get(root, added.id) == added
    assert (added.title, added.body, added.label) == ("Mend it", "All of it.", FINANCE)
    assert (added.state, added.token, added.untrusted) == (WorkState.OPEN, 0, True)
    assert (added.made_by, added.made_at, added.changed_at) == (root.id, BEGINNING, BEGINNING)


async def test_it_is_claimed_ended_and_then_over(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    work = await add(doors, root, project)

    claimed = await doors.works.claim(ann, work.id, LATER)
    ended = WorkEnded(work=work.id, token=claimed.token, outcome="It parses.")
    over = await doors.works.end(ann, ended, LATER, untrusted=True)

    assert (claimed.state, claimed.claimed_by, claimed.token) == (WorkState.CLAIMED, ann.id, 1)
    assert (claimed.claimed_by_name, claimed.changed_at) == ("ann", LATER)
    assert (over.state, over.outcome, over.untrusted) == (WorkState.DONE, "It parses.", True)
    assert await doors.works.get(root, work.id) == over
    assert await doors.works.end(ann, ended, LATER + timedelta(hours=1)) == over
    with pytest.raises(WorkOver):
        await doors.works.end(ann, replace(ended, state=WorkState.DROPPED), LATER)
    with pytest.raises(WorkOver):
        await doors.works.claim(root, work.id, LATER)
    with pytest.raises(WorkOver):
        await doors.works.hand_over(ann, work.id, claimed.token, None, LATER)


async def test_of_fifty_who_claim_it_at_once_one_has_it(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    people = [await joined(doors, root, f"agent-{number}") for number in range(50)]
    work = await add(doors, root, project)

    async def attempt(caller: Principal) -> Work | None:
        try:
            return await doors.works.claim(caller, work.id, LATER)
        except WorkTaken:
            return None

    got = await asyncio.gather(*map(attempt, people))

    [claimed] = [each for each in got if each is not None]
    assert claimed == await doors.works.get(root, work.id)
    assert claimed.token == 1


async def test_who_has_it_already_does_not_get_it_twice(doors: Doors) -> None:
    root = await cleared_root(doors)
    work = await add(doors, root, await a_project(doors, root))
    await doors.works.claim(root, work.id, LATER)

    with pytest.raises(WorkTaken):
        await doors.works.claim(root, work.id, LATER)


async def test_who_has_handed_it_over_cannot_end_it(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    work = await add(doors, root, project)
    mine = await doors.works.claim(root, work.id, LATER)

    hers = await doors.works.hand_over(root, work.id, mine.token, ann.id, LATER)

    assert (hers.claimed_by, hers.claimed_by_name, hers.state) == (
        ann.id,
        "ann",
        WorkState.CLAIMED,
    )
    assert hers.token > mine.token
    for caller, token in ((root, mine.token), (root, hers.token), (ann, mine.token)):
        with pytest.raises(WorkTaken):
            await doors.works.end(caller, WorkEnded(work=work.id, token=token), LATER)
        with pytest.raises(WorkTaken):
            await doors.works.hand_over(caller, work.id, token, None, LATER)
    await doors.works.end(ann, WorkEnded(work=work.id, token=hers.token), LATER)


async def test_it_is_handed_over_to_whoever_comes(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    work = await add(doors, root, project)
    mine = await doors.works.claim(root, work.id, LATER)

    free = await doors.works.hand_over(root, work.id, mine.token, None, LATER)

    assert (free.state, free.claimed_by, free.claimed_by_name) == (WorkState.OPEN, None, None)
    with pytest.raises(WorkTaken):
        await doors.works.end(root, WorkEnded(work=work.id, token=mine.token), LATER)
    assert (await doors.works.claim(ann, work.id, LATER)).token > mine.token


async def test_it_is_handed_over_to_nobody_who_is_not_there(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    work = await add(doors, root, await a_project(doors, root))
    mine = await doors.works.claim(root, work.id, LATER)

    for nobody in (PrincipalId.mint(BEGINNING, SeededEntropy("nobody")), other.id):
        with pytest.raises(PrincipalNotFound):
            await doors.works.hand_over(root, work.id, mine.token, nobody, LATER)

    assert await doors.works.get(root, work.id) == mine


async def test_it_is_held_up_by_what_is_not_over(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    one, two = await add(doors, root, project, "One"), await add(doors, root, project, "Two")
    last = await add(doors, root, project, "Last", depends=(two.id, one.id, two.id))
    assert (last.held_up, last.depends) == (True, (two.id, one.id))

    await done(doors, root, one)

    with pytest.raises(WorkHeldUp):
        await doors.works.claim(root, last.id, LATER)
    await done(doors, root, two)
    assert not (await doors.works.get(root, last.id)).held_up
    assert (await doors.works.claim(root, last.id, LATER)).claimed_by == root.id


async def test_what_one_cannot_see_holds_it_up_without_being_told(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    hidden = await add(doors, root, project, label=FINANCE)
    work = await add(doors, root, project, depends=(hidden.id,))
    await done(doors, root, hidden)

    seen = await doors.works.get(ann, work.id)

    assert (seen.depends, seen.held_up) == ((), True)
    with pytest.raises(WorkHeldUp):
        await doors.works.claim(ann, work.id, LATER)
    assert (await doors.works.claim(root, work.id, LATER)).claimed_by == root.id


async def test_it_depends_on_nothing_that_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann = await joined(doors, root, "ann")
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    hidden = await add(doors, root, project, label=FINANCE)
    elsewhere = await add(doors, root, other)

    for needed in (hidden.id, elsewhere.id, an_id()):
        with pytest.raises(WorkNotFound, match=str(needed)):
            await add(doors, ann, project, depends=(needed,))
    itself = an_id()
    alone = NewWork(project=project.id, title="Alone", depends=(itself,))
    with pytest.raises(WorkNotFound):
        await doors.works.add(root, itself, alone, TEAM, BEGINNING)


async def test_the_same_key_is_the_same_work(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)

    one = await add(doors, root, project, key="k")

    assert await add(doors, root, project, key="k") == one
    assert await add(doors, root, project, key="k", label=FINANCE) == one
    with pytest.raises(KeyReused):
        await add(doors, root, project, "Another", key="k")
    assert (await add(doors, ann, project, key="k")).id != one.id


async def test_asked_for_at_once_the_same_key_is_one_work(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    got = await asyncio.gather(*(add(doors, root, project, key="k") for _ in range(8)))

    assert len({work.id for work in got}) == 1


async def test_a_key_that_one_cannot_see_any_more_does_not_tell(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    hidden = await add(doors, root, project, "Hidden", label=FINANCE, key="k")

    low = replace(root, clearance=TEAM)

    assert (await add(doors, low, project, key="k")).id != hidden.id


async def test_work_is_listed_by_its_age(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    one, two = await add(doors, root, project, "One"), await add(doors, root, project, "Two")
    hidden = await add(doors, root, project, "Hidden", label=FINANCE)
    three = await add(doors, root, project, "Three", depends=(one.id,))
    await add(doors, root, other)
    taken = await doors.works.claim(root, two.id, LATER)

    async def page(
        caller: Principal = root,
        state: WorkState | None = None,
        after: WorkId | None = None,
        limit: int = 9,
    ) -> list[Work]:
        return list(
            await doors.works.page(caller, project.id, state=state, after=after, limit=limit)
        )

    assert await page() == [one, taken, hidden, three]
    assert await page(replace(root, clearance=TEAM)) == [one, taken, three]
    assert await page(state=WorkState.OPEN) == [one, hidden, three]
    assert await page(after=taken.id) == [hidden, three]
    assert await page(limit=1) == [one]


async def test_from_a_higher_task_nothing_is_changed(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    work, other = await add(doors, root, project), await add(doors, root, project)
    mine = await doors.works.claim(root, work.id, LATER)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await add(doors, root, project)
    with pytest.raises(WriteDown):
        await doors.works.claim(root, other.id, LATER)
    with pytest.raises(WriteDown):
        await doors.works.hand_over(root, work.id, mine.token, None, LATER)
    with pytest.raises(WriteDown):
        await doors.works.end(root, WorkEnded(work=work.id, token=mine.token), LATER)

    assert await doors.works.page(root, project.id, state=None, after=None, limit=9) == [
        mine,
        other,
    ]


async def test_what_one_cannot_see_is_not_there(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    project, hidden = await a_project(doors, root), await a_project(doors, root, label=LAW)
    work = await add(doors, root, project, label=FINANCE)

    for caller in (replace(root, clearance=LAW), other):
        with pytest.raises(WorkNotFound):
            await doors.works.get(caller, work.id)
        with pytest.raises(WorkNotFound):
            await doors.works.claim(caller, work.id, LATER)
    with pytest.raises(ProjectNotFound):
        await add(doors, replace(root, clearance=FINANCE), hidden, label=FINANCE)
    with pytest.raises(REFUSED):
        await add(doors, replace(root, clearance=FINANCE), project, label=LAW)
