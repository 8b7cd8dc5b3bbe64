"""Work in a project: one has it, and what becomes of it is written by nobody who has read more."""

from dataclasses import replace
from datetime import datetime

import pytest

from portico.bridge.core.errors import (
    AboveClearance,
    InvalidBridgeInput,
    WorkHeldUp,
    WorkNotFound,
    WorkOver,
    WorkTaken,
    WriteDown,
)
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.engine.core.errors import KeyReused
from portico.kernel.ids import InvalidId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_memory import MemoryWorks
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import Scene, ThingsRoom


async def test_it_is_added_claimed_handed_over_and_ended(scene: Scene) -> None:
    room = scene.room

    work = await room.some_work(scene.low, scene.project)
    mine = await room.claim_work(scene.low, work.id)
    with pytest.raises(WorkTaken, match="low has it"):
        await room.claim_work(scene.high, work.id)
    hers = await room.hand_over_work(scene.low, work.id, mine.token, scene.high.id)
    with pytest.raises(WorkTaken):
        await room.end_work(scene.low, WorkEnded(work=work.id, token=mine.token))
    over = await room.end_work(
        scene.high, WorkEnded(work=work.id, token=hers.token, outcome="Done.")
    )

    assert (work.label, mine.claimed_by, hers.claimed_by) == (TEAM, scene.low.id, scene.high.id)
    assert (over.state, over.outcome) == (WorkItemStatus.DONE, "Done.")
    assert await room.show_work(scene.low, work.id) == over
    with pytest.raises(WorkOver):
        await room.claim_work(scene.low, work.id)


async def test_it_is_as_secret_as_what_was_read(scene: Scene) -> None:
    await scene.room.marks.read(scene.high, [SECRET], untrusted=True)

    work = await scene.room.some_work(scene.high, scene.project)

    assert (work.label, work.untrusted) == (SECRET, True)
    with pytest.raises(WorkNotFound):
        await scene.room.show_work(scene.low, work.id)
    assert await scene.room.list_work(scene.low, scene.project.id) == []
    with pytest.raises(WriteDown):
        await scene.room.some_work(scene.high, scene.project, TEAM)
    with pytest.raises(AboveClearance):
        await scene.room.some_work(scene.low, scene.project, SECRET)


async def test_whoever_sees_it_has_read_it(scene: Scene) -> None:
    await scene.room.marks.read(scene.high, [SECRET], untrusted=True)
    work = await scene.room.some_work(scene.high, scene.project)
    other = scene.room.enters("other")

    await scene.room.show_work(scene.fresh, work.id)
    await scene.room.list_work(other, scene.project.id)

    for who in (scene.fresh, other):
        context = await scene.room.context(who)
        assert (context.label, context.untrusted) == (SECRET, True)


async def test_who_has_read_more_changes_nothing(scene: Scene) -> None:
    work = await scene.room.some_work(scene.low, scene.project)
    mine = await scene.room.claim_work(scene.high, work.id)
    free = await scene.room.some_work(scene.low, scene.project)
    await scene.room.marks.read(scene.high, [SECRET])

    with pytest.raises(WriteDown):
        await scene.room.claim_work(scene.high, free.id)
    with pytest.raises(WriteDown):
        await scene.room.hand_over_work(scene.high, work.id, mine.token, None)
    with pytest.raises(WriteDown):
        await scene.room.end_work(scene.high, WorkEnded(work=work.id, token=mine.token))
    assert await scene.room.list_work(scene.low, scene.project.id) == [mine, free]


async def test_strangers_words_in_what_came_of_it_stay_strangers_words(scene: Scene) -> None:
    work = await scene.room.some_work(scene.low, scene.project)
    mine = await scene.room.claim_work(scene.high, work.id)
    await scene.room.marks.read(scene.high, [], untrusted=True)

    over = await scene.room.end_work(
        scene.high, WorkEnded(work=work.id, token=mine.token, outcome="As they say.")
    )
    await scene.room.show_work(scene.fresh, work.id)

    assert (mine.untrusted, over.untrusted) == (False, True)
    assert (await scene.room.context(scene.fresh)).untrusted


async def test_it_waits_for_what_it_depends_on(scene: Scene) -> None:
    room = scene.room
    first = await room.some_work(scene.low, scene.project)
    last = await room.some_work(scene.low, scene.project, None, first.id)

    with pytest.raises(WorkHeldUp):
        await room.claim_work(scene.low, last.id)
    token = (await room.claim_work(scene.low, first.id)).token
    dropped = WorkEnded(work=first.id, token=token, state=WorkItemStatus.DROPPED)
    await room.end_work(scene.low, dropped)

    assert last.held_up
    assert (await room.claim_work(scene.low, last.id)).claimed_by == scene.low.id


async def test_it_is_no_less_secret_than_what_it_depends_on(scene: Scene) -> None:
    secret = await scene.room.some_work(scene.high, scene.project, SECRET)

    with pytest.raises(WriteDown):
        await scene.room.some_work(scene.fresh, scene.project, TEAM, secret.id)
    with pytest.raises(WorkNotFound):
        await scene.room.some_work(scene.low, scene.project, None, secret.id)

    assert await scene.room.mark(scene.fresh) == SECRET
    assert (await scene.room.some_work(scene.fresh, scene.project, None, secret.id)).label == SECRET


async def test_the_same_key_is_the_same_work(scene: Scene) -> None:
    wanted = NewWorkItem(project=scene.project.id, title="Mend it", key="k")
    labeled = replace(wanted, label=TEAM, key="labeled")
    one = await scene.room.add_work(scene.high, wanted)
    other = await scene.room.add_work(scene.high, labeled)
    await scene.room.marks.read(scene.high, [SECRET])

    assert await scene.room.add_work(scene.high, wanted) == one
    assert await scene.room.add_work(scene.high, labeled) == other
    for different in (replace(wanted, title="Other"), replace(wanted, label=SECRET)):
        with pytest.raises(KeyReused):
            await scene.room.add_work(scene.high, different)
    with pytest.raises(WriteDown):
        await scene.room.add_work(scene.high, replace(labeled, key="another"))


async def test_whoever_learns_that_a_key_was_used_has_read_it(scene: Scene) -> None:
    person = scene.room.enters("pat", kind=PrincipalKind.PERSON)
    wanted = NewWorkItem(project=scene.project.id, title="Mend it", label=SECRET, key="k")
    await scene.room.add_work(scene.high, wanted)
    clean = replace(scene.high, key="another")
    one = await scene.room.add_work(person, wanted)

    with pytest.raises(KeyReused):
        await scene.room.add_work(clean, replace(wanted, title="Other"))
    again = await scene.room.add_work(replace(person, place=None), wanted)

    assert await scene.room.mark(clean) == SECRET
    assert again == one
    assert await scene.room.mark(person, scene.project.id) == SECRET


async def test_work_is_listed_page_by_page(scene: Scene) -> None:
    made = [await scene.room.some_work(scene.low, scene.project) for _ in range(3)]

    first = await scene.room.list_work(scene.low, scene.project.id, limit=2)
    rest = await scene.room.list_work(scene.low, scene.project.id, after=str(first[-1].id))
    claimed = await scene.room.list_work(scene.low, scene.project.id, state=WorkItemStatus.CLAIMED)

    assert [*first, *rest] == made
    assert claimed == []
    with pytest.raises(InvalidId):
        await scene.room.list_work(scene.low, scene.project.id, after="x")
    with pytest.raises(InvalidBridgeInput):
        await scene.room.list_work(scene.low, scene.project.id, limit=0)


async def test_every_flaw_is_told(scene: Scene) -> None:
    wanted = NewWorkItem(
        project=scene.project.id,
        title="",
        body="a\0",
        key="",
        depends=tuple(WorkItemId.of_digest(bytes([n])) for n in range(101)),
    )
    work = await scene.room.some_work(scene.low, scene.project)
    mine = await scene.room.claim_work(scene.low, work.id)
    ended = WorkEnded(
        work=work.id, token=mine.token, state=WorkItemStatus.OPEN, outcome="x" * 100_001
    )

    for ask, flaws in [
        (scene.room.add_work(scene.low, wanted), ["title", "body", "key", "depends"]),
        (scene.room.end_work(scene.low, ended), ["outcome", "state"]),
    ]:
        with pytest.raises(InvalidBridgeInput) as refused:
            await ask
        assert [flaw.field for flaw in refused.value.field_errors] == flaws


class ReadingMeanwhile(MemoryWorks):
    """Another request of the same task reads something just before this one writes."""

    meanwhile: ThingsRoom | None = None

    async def add(
        self,
        caller: Principal,
        id_: WorkItemId,
        work: NewWorkItem,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> WorkItem:
        if self.meanwhile is not None:
            room, self.meanwhile = self.meanwhile, None
            await room.marks.read(caller, [SECRET])
        return await super().add(caller, id_, work, label, at, untrusted=untrusted)


async def test_what_is_read_while_one_writes_counts_as_well(scene: Scene) -> None:
    works = ReadingMeanwhile(scene.room.world)
    add_work = replace(scene.room.add_work, works=works)
    wanted = NewWorkItem(project=scene.project.id, title="Mend it")

    works.meanwhile = scene.room
    assert (await add_work(scene.high, wanted)).label == SECRET
    works.meanwhile = scene.room
    with pytest.raises(WriteDown):
        await add_work(scene.fresh, replace(wanted, label=TEAM))
