"""What every blackboard keeps to: notes stay as they are; what one may not read is not there."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.adapters.postgres.debate.mapping import talk_topic
from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.debate.core.debates import Debate, DebateId, DebateStatus
from portico.debate.core.errors import DebateNotFound, DebateOver
from portico.debate.core.questions import Cap, Question, QuestionKind
from portico.engine.core.errors import TopicNotFound
from portico.engine.core.event_log import NewEntry
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.debate_table import AWKWARD, BERT, a_debate, cost, decided, said
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(minutes=1)


async def begun(doors: Doors, starter: Principal, name: str = "first", **rest: Any) -> Debate:
    debate = a_debate(starter, name, **rest)
    await doors.debates.add(starter, debate)
    return debate


async def listed(doors: Doors, reader: Principal, **asked: Any) -> list[DebateId]:
    usual: dict[str, Any] = {
        "project": None,
        "status": None,
        "words": None,
        "after": None,
        "limit": 10,
    }
    found = await doors.debates.page(reader, **{**usual, **asked})
    return [debate.id for debate in found]


async def test_a_debate_is_read_as_it_was_begun(doors: Doors, admin: Principal) -> None:
    project = await a_project(doors, admin)
    debate = a_debate(
        admin,
        project=str(project.id),
        label=FINANCE,
        private=False,
        cap=Cap(tokens=5_000, money=cost(0, "1.25").money),
        question=Question(
            text=AWKWARD, kind=QuestionKind.TEXT, choices=(AWKWARD,), material=AWKWARD * 50
        ),
        unbounded=True,
        untrusted=True,
        analysis=True,
        parts_most=3,
    )

    await doors.debates.add(admin, debate)
    await doors.debates.add(admin, replace(debate, seed=1))

    whole = await doors.debates.read(admin, debate.id)
    assert whole.debate == debate
    assert whole.notes == ()


async def test_nobody_reads_a_private_debate_but_whoever_started_it(doors: Doors) -> None:
    admin = await cleared_root(doors)
    other = await joined(doors, admin, "other", SECRET)
    debate = await begun(doors, other)

    assert (await doors.debates.read(other, debate.id)).debate == debate
    with pytest.raises(DebateNotFound) as hidden:
        await doors.debates.read(admin, debate.id)
    assert await listed(doors, admin) == []
    absent = DebateId.mint(BEGINNING, SeededEntropy("absent"))
    with pytest.raises(DebateNotFound) as gone:
        await doors.debates.read(admin, absent)
    assert str(hidden.value) == str(gone.value).replace(str(absent), str(debate.id))


async def test_a_shared_debate_is_there_with_its_parts_for_whoever_is_cleared_for_it(
    doors: Doors, admin: Principal
) -> None:
    """Its starter alone shares it."""
    cleared, low = await joined(doors, admin, "a", FINANCE), await joined(doors, admin, "b", LAW)
    debate = await begun(doors, admin, label=FINANCE, analysis=True)
    part = await begun(doors, admin, "part", label=FINANCE, part_of=debate.id)
    for other in (cleared, low):
        with pytest.raises(DebateNotFound):
            await doors.debates.share(other, debate.id)
    assert (await doors.debates.read(admin, debate.id)).debate.private

    shared = await doors.debates.share(admin, debate.id)

    assert not shared.private
    assert (await doors.debates.read(cleared, debate.id)).debate == shared
    assert [each.id for each in await doors.debates.parts(cleared, debate.id)] == [part.id]
    assert await listed(doors, cleared) == [debate.id]
    assert await listed(doors, low) == []
    with pytest.raises(DebateNotFound):
        await doors.debates.share(low, debate.id)


async def test_a_note_is_written_once_however_often_it_is(doors: Doors, admin: Principal) -> None:
    """Every letter of what strangers said, also by those who write it at once."""
    debate, other = await begun(doors, admin), await begun(doors, admin, "other")
    strange: JsonObject = {"answer": AWKWARD, "deep": [AWKWARD, {"more": [None, 1.5, True]}]}
    first, odd = said(), replace(said(BERT), body=strange)
    given = [
        await doors.debates.note(admin, debate.id, each, TEAM)
        for each in (first, replace(first, body={"other": "words"}), odd)
    ]
    assert given == [first, first, odd]
    assert (await doors.debates.read(admin, debate.id)).notes == (first, odd)

    notes = [replace(said(), body={"number": number}) for number in range(6)]
    given = await asyncio.gather(
        *(doors.debates.note(admin, other.id, note, TEAM) for note in notes)
    )
    assert {str(each.body) for each in given} == {str(given[0].body)}
    assert (await doors.debates.read(admin, other.id)).notes == (given[0],)


async def test_notes_are_in_order_and_a_debate_becomes_as_secret_as_they_are(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    """How secret it was at first stays known."""
    debate = await begun(doors, admin, private=False, start_label=TEAM)
    notes = [replace(said(), name=f"said:{name}", at=BEGINNING) for name in "zamkb"]
    for note in notes:
        await doors.debates.note(admin, debate.id, note, TEAM)
    assert await listed(doors, low) == [debate.id]

    await doors.debates.note(admin, debate.id, said(), FINANCE)
    await doors.debates.note(admin, debate.id, said(BERT), TEAM)

    whole = await doors.debates.read(admin, debate.id)
    assert whole.notes == (*notes, said(), said(BERT))
    assert (whole.debate.label, whole.debate.start_label) == (FINANCE, TEAM)
    assert await listed(doors, low) == []
    with pytest.raises(DebateNotFound):
        await doors.debates.read(low, debate.id)


async def test_nothing_is_written_below_what_its_task_has_read(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await begun(doors, admin)
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.debates.add(admin, a_debate(admin, "second"))
    with pytest.raises(WriteDown):
        await doors.debates.note(admin, debate.id, said(), TEAM)
    with pytest.raises(WriteDown):
        await doors.debates.end(admin, debate.id, DebateStatus.STOPPED, None, at=LATER)
    with pytest.raises(WriteDown):
        await doors.debates.share(admin, debate.id)
    with pytest.raises(WriteDown):
        await doors.debates.remove(admin, debate.id)

    assert await listed(doors, admin) == [debate.id]
    assert (await doors.debates.note(admin, debate.id, said(), FINANCE)) == said()


async def test_nobody_writes_what_they_may_not_see_or_as_somebody_else(
    doors: Doors, admin: Principal, low: Principal
) -> None:
    other = await joined(doors, admin, "other", SECRET)
    debate, hidden = await begun(doors, low), await a_project(doors, admin, "hidden", FINANCE)
    whole = await begun(doors, admin, "whole", analysis=True, private=False)

    for refused in (
        doors.debates.note(low, debate.id, said(), FINANCE),
        begun(doors, low, "second", label=FINANCE),
        begun(doors, admin, "below", project=str(hidden.id), label=TEAM),
        begun(doors, other, "part", part_of=whole.id),
        doors.debates.add(admin, a_debate(other, label=PUBLIC)),
    ):
        with pytest.raises(REFUSED):
            await refused
    with pytest.raises(DebateNotFound):
        await doors.debates.note(admin, debate.id, said(), TEAM)
    for project in (str(hidden.id), "hidden", "prj_nonsense"):
        with pytest.raises(ProjectNotFound):
            await begun(doors, low, "about", project=project)


async def test_how_it_ended_is_kept_once_and_nothing_is_added_to_it(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await begun(doors, admin)
    await doors.debates.note(admin, debate.id, said(), TEAM)
    await doors.purse.reserve(admin, debate.id, "a", cost(100, "0.5"))
    await doors.purse.reserve(admin, debate.id, "b", cost(70, "0.25"))
    await doors.purse.settle(admin, debate.id, "a", cost(40, "0.1"))

    ended = await doors.debates.end(admin, debate.id, DebateStatus.DECIDED, decided(), at=LATER)
    again = await doors.debates.end(admin, debate.id, DebateStatus.FAILED, None, at=BEGINNING)

    assert ended == again == (await doors.debates.read(admin, debate.id)).debate
    assert (ended.status, ended.decision, ended.ended_at) == (
        DebateStatus.DECIDED,
        decided(),
        LATER,
    )
    assert (ended.spent.tokens, str(ended.spent.money), ended.spent.calls) == (110, "0.35", 2)

    whole = await doors.debates.read(admin, debate.id)
    with pytest.raises(DebateOver):
        await doors.debates.note(admin, debate.id, said(BERT), FINANCE)
    assert await doors.debates.note(admin, debate.id, said(), TEAM) == said()
    assert await doors.debates.read(admin, debate.id) == whole


async def test_lists_are_newest_first_page_by_page(doors: Doors, admin: Principal) -> None:
    debates = [
        await begun(doors, admin, str(number), started_at=BEGINNING + timedelta(minutes=number))
        for number in (2, 0, 1)
    ]
    newest = [debates[place].id for place in (0, 2, 1)]

    assert await listed(doors, admin) == newest
    assert await listed(doors, admin, limit=2) == newest[:2]
    assert await listed(doors, admin, after=newest[1]) == newest[2:]


async def test_debates_are_found_by_project_status_and_words(doors: Doors) -> None:
    admin = await cleared_root(doors)
    project, elsewhere = [await a_project(doors, admin, name) for name in ("one", "two")]
    inside = await begun(doors, admin, "inside", project=str(project.id))
    over = await begun(doors, admin, "over")
    await doors.debates.end(admin, over.id, DebateStatus.STOPPED, None, at=LATER)
    other = Question(text="Why does Güte % matter?", kind=QuestionKind.OPEN)
    asked = await begun(doors, admin, "asked", question=other)

    assert await listed(doors, admin, project=str(project.id)) == [inside.id]
    assert await listed(doors, admin, project=str(elsewhere.id)) == []
    assert await listed(doors, admin, project="no such") == []
    assert await listed(doors, admin, status=DebateStatus.STOPPED) == [over.id]
    assert await listed(doors, admin, words="MATTER güte %") == [asked.id]
    assert set(await listed(doors, admin, words="port OPEN")) == {inside.id, over.id}
    assert await listed(doors, admin, words="port elephant") == []


async def test_a_debate_is_removed_with_its_parts_by_its_starter_alone(doors: Doors) -> None:
    admin = await cleared_root(doors)
    other = await joined(doors, admin, "other", SECRET)
    whole = await begun(doors, admin, "whole", analysis=True, private=False)
    part = await begun(doors, admin, "part", part_of=whole.id)
    await doors.debates.note(admin, part.id, said(), TEAM)
    for each in (whole, part):
        told = NewEntry(topic=talk_topic(each.id), type="standing", label=TEAM, topic_label=TEAM)
        await doors.event_log.append(admin, [told])

    with pytest.raises(DebateNotFound):
        await doors.debates.remove(other, whole.id)
    kept = await doors.event_log.read(admin, talk_topic(part.id), after=0, limit=9)
    await doors.debates.remove(admin, whole.id)

    assert len(kept.entries) == 1
    for gone in (whole, part):
        with pytest.raises(DebateNotFound):
            await doors.debates.read(admin, gone.id)
        with pytest.raises(TopicNotFound):
            await doors.event_log.read(admin, talk_topic(gone.id), after=0, limit=9)
    with pytest.raises(DebateNotFound):
        await doors.debates.remove(admin, whole.id)


async def test_no_space_sees_the_debates_of_another(doors: Doors) -> None:
    admin, stranger = await cleared_root(doors), await cleared_root(doors, "elsewhere")
    debate = await begun(doors, admin, private=False)

    with pytest.raises(DebateNotFound):
        await doors.debates.read(stranger, debate.id)
    with pytest.raises(DebateNotFound):
        await doors.debates.note(stranger, debate.id, said(), TEAM)
    assert await listed(doors, stranger) == []
