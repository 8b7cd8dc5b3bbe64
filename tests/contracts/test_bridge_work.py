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
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, LAW, TEAM, a_project, cleared_root, joined
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(hours=1)
_ids = SeededEntropy("work")
_minted = iter(range(10_000))


def an_id() -> WorkItemId:
    return WorkItemId.mint(BEGINNING + timedelta(seconds=next(_minted)), _ids)


async def add(
    doors: Doors,
    caller: Principal,
    project: Project,
    title: str = "Mend the parser",
    *,
    label: Label = TEAM,
    depends: tuple[WorkItemId, ...] = (),
    key: str | None = None,
) -> WorkItem:
    work = NewWorkItem(project=project.id, title=title, body="All of it.", depends=depends, key=key)
    return await doors.works.add(caller, an_id(), work, label, BEGINNING)


async def done(doors: Doors, caller: Principal, work: WorkItem) -> WorkItem:
    token = (await doors.works.claim(caller, work.id, LATER)).token
    return await doors.works.end(caller, WorkEnded(work=work.id, token=token), LATER)


async def test_what_was_added_is_claimed_ended_and_then_over(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    wanted = NewWorkItem(project=project.id, title="Mend it", body="All of it.")
    work = await doors.works.add(admin, an_id(), wanted, TEAM, BEGINNING, untrusted=True)
    assert await doors.works.get(admin, work.id) == work
    assert (work.title, work.body, work.label) == ("Mend it", "All of it.", TEAM)
    assert (work.state, work.token, work.untrusted) == (WorkItemStatus.OPEN, 0, True)
    assert (work.made_by, work.made_at, work.changed_at) == (admin.id, BEGINNING, BEGINNING)

    claimed = await doors.works.claim(low, work.id, LATER)
    ended = WorkEnded(work=work.id, token=claimed.token, outcome="It parses.")
    over = await doors.works.end(low, ended, LATER, untrusted=True)

    assert (claimed.state, claimed.claimed_by, claimed.token) == (WorkItemStatus.CLAIMED, low.id, 1)
    assert (claimed.claimed_by_name, claimed.changed_at) == ("low", LATER)
    assert (over.state, over.outcome, over.untrusted) == (WorkItemStatus.DONE, "It parses.", True)
    assert await doors.works.get(admin, work.id) == over
    assert await doors.works.end(low, ended, LATER + timedelta(hours=1)) == over
    for refused in (
        doors.works.end(low, replace(ended, state=WorkItemStatus.DROPPED), LATER),
        doors.works.claim(admin, work.id, LATER),
        doors.works.hand_over(low, work.id, claimed.token, None, LATER),
    ):
        with pytest.raises(WorkOver):
            await refused


async def test_of_fifty_who_claim_it_at_once_one_has_it_and_not_twice(
    doors: Doors, admin: Principal, project: Project
) -> None:
    people = [await joined(doors, admin, f"agent-{number}") for number in range(50)]
    work = await add(doors, admin, project)

    async def attempt(caller: Principal) -> WorkItem | None:
        try:
            return await doors.works.claim(caller, work.id, LATER)
        except WorkTaken:
            return None

    got = await asyncio.gather(*map(attempt, people))

    [(holder, claimed)] = [each for each in zip(people, got, strict=True) if each[1] is not None]
    assert claimed == await doors.works.get(admin, work.id)
    assert claimed is not None
    assert claimed.token == 1
    assert await attempt(holder) is None


async def test_who_has_handed_it_over_cannot_end_it(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    """To somebody who is there, or to whoever comes."""
    works, other = doors.works, await cleared_root(doors, "acme")
    work, free = await add(doors, admin, project), await add(doors, admin, project)
    mine, to_come = [await works.claim(admin, each.id, LATER) for each in (work, free)]
    for nobody in (PrincipalId.mint(BEGINNING, SeededEntropy("nobody")), other.id):
        with pytest.raises(PrincipalNotFound):
            await works.hand_over(admin, work.id, mine.token, nobody, LATER)
    assert await works.get(admin, work.id) == mine

    hers = await works.hand_over(admin, work.id, mine.token, low.id, LATER)
    assert (hers.claimed_by, hers.claimed_by_name) == (low.id, "low")
    assert hers.state is WorkItemStatus.CLAIMED
    assert hers.token > mine.token
    for caller, token in ((admin, mine.token), (admin, hers.token), (low, mine.token)):
        with pytest.raises(WorkTaken):
            await works.end(caller, WorkEnded(work=work.id, token=token), LATER)
        with pytest.raises(WorkTaken):
            await works.hand_over(caller, work.id, token, None, LATER)
    await works.end(low, WorkEnded(work=work.id, token=hers.token), LATER)

    now = await works.hand_over(admin, free.id, to_come.token, None, LATER)
    assert (now.state, now.claimed_by, now.claimed_by_name) == (WorkItemStatus.OPEN, None, None)
    with pytest.raises(WorkTaken):
        await works.end(admin, WorkEnded(work=free.id, token=to_come.token), LATER)
    assert (await works.claim(low, free.id, LATER)).token > to_come.token


async def test_it_is_held_up_by_what_is_not_over_or_cannot_be_seen(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    works = doors.works
    one, two = await add(doors, admin, project, "One"), await add(doors, admin, project, "Two")
    last = await add(doors, admin, project, "Last", depends=(two.id, one.id, two.id))
    assert (last.held_up, last.depends) == (True, (two.id, one.id))
    await done(doors, admin, one)
    with pytest.raises(WorkHeldUp):
        await works.claim(admin, last.id, LATER)
    await done(doors, admin, two)
    assert not (await works.get(admin, last.id)).held_up
    assert (await works.claim(admin, last.id, LATER)).claimed_by == admin.id

    hidden = await add(doors, admin, project, label=FINANCE)
    work = await add(doors, admin, project, depends=(hidden.id,))
    await done(doors, admin, hidden)
    seen = await works.get(low, work.id)
    assert (seen.depends, seen.held_up) == ((), True)
    with pytest.raises(WorkHeldUp):
        await works.claim(low, work.id, LATER)
    assert (await works.claim(admin, work.id, LATER)).claimed_by == admin.id


async def test_it_depends_on_nothing_that_is_not_there(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    hidden = await add(doors, admin, project, label=FINANCE)
    elsewhere = await add(doors, admin, await a_project(doors, admin, "gemini"))

    for needed in (hidden.id, elsewhere.id, an_id()):
        with pytest.raises(WorkNotFound, match=str(needed)):
            await add(doors, low, project, depends=(needed,))
    itself = an_id()
    alone = NewWorkItem(project=project.id, title="Alone", depends=(itself,))
    with pytest.raises(WorkNotFound):
        await doors.works.add(admin, itself, alone, TEAM, BEGINNING)


async def test_the_same_key_is_the_same_work_also_when_asked_for_at_once(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    got = await asyncio.gather(*(add(doors, admin, project, key="k") for _ in range(8)))
    one = got[0]
    assert {work.id for work in got} == {one.id}

    assert await add(doors, admin, project, key="k", label=FINANCE) == one
    with pytest.raises(KeyReused):
        await add(doors, admin, project, "Another", key="k")
    assert (await add(doors, low, project, key="k")).id != one.id
    hidden = await add(doors, admin, project, "Hidden", label=FINANCE, key="h")
    below = replace(admin, clearance=TEAM)
    assert (await add(doors, below, project, key="h")).id != hidden.id


async def test_work_is_listed_by_its_age(doors: Doors, admin: Principal, project: Project) -> None:
    one, two = await add(doors, admin, project, "One"), await add(doors, admin, project, "Two")
    hidden = await add(doors, admin, project, "Hidden", label=FINANCE)
    three = await add(doors, admin, project, "Three", depends=(one.id,))
    await add(doors, admin, await a_project(doors, admin, "gemini"))
    taken = await doors.works.claim(admin, two.id, LATER)

    async def page(
        caller: Principal = admin,
        state: WorkItemStatus | None = None,
        after: WorkItemId | None = None,
        limit: int = 9,
    ) -> list[WorkItem]:
        return list(
            await doors.works.page(caller, project.id, state=state, after=after, limit=limit)
        )

    assert await page() == [one, taken, hidden, three]
    assert await page(replace(admin, clearance=TEAM)) == [one, taken, three]
    assert await page(state=WorkItemStatus.OPEN) == [one, hidden, three]
    assert await page(after=taken.id) == [hidden, three]
    assert await page(limit=1) == [one]


async def test_from_a_higher_task_nothing_is_changed(
    doors: Doors, admin: Principal, project: Project
) -> None:
    work, other = await add(doors, admin, project), await add(doors, admin, project)
    mine = await doors.works.claim(admin, work.id, LATER)
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)

    for refused in (
        add(doors, admin, project),
        doors.works.claim(admin, other.id, LATER),
        doors.works.hand_over(admin, work.id, mine.token, None, LATER),
        doors.works.end(admin, WorkEnded(work=work.id, token=mine.token), LATER),
    ):
        with pytest.raises(WriteDown):
            await refused

    left = await doors.works.page(admin, project.id, state=None, after=None, limit=9)
    assert left == [mine, other]


async def test_what_one_cannot_see_is_not_there(
    doors: Doors, admin: Principal, project: Project
) -> None:
    other, hidden = await cleared_root(doors, "acme"), await a_project(doors, admin, label=LAW)
    work, cleared = (
        await add(doors, admin, project, label=FINANCE),
        replace(admin, clearance=FINANCE),
    )

    for caller in (replace(admin, clearance=LAW), other):
        with pytest.raises(WorkNotFound):
            await doors.works.get(caller, work.id)
        with pytest.raises(WorkNotFound):
            await doors.works.claim(caller, work.id, LATER)
    with pytest.raises(ProjectNotFound):
        await add(doors, cleared, hidden, label=FINANCE)
    with pytest.raises(REFUSED):
        await add(doors, cleared, project, label=LAW)
