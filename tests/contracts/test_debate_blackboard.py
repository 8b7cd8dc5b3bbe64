"""What every blackboard keeps to: notes stay as they are; what one may not read is not there."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.adapters.postgres.debate_rows import talk_topic
from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.debate.core.debate import Debate, DebateId, DebateStatus
from portico.debate.core.errors import DebateNotFound, DebateOver
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.rules import Cap
from portico.engine.core.entry import NewEntry
from portico.engine.core.errors import TopicNotFound
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
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
    await doors.debates.begin(starter, debate)
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


async def test_a_debate_is_read_as_it_was_begun(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    debate = a_debate(
        root,
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

    await doors.debates.begin(root, debate)
    await doors.debates.begin(root, replace(debate, seed=1))

    whole = await doors.debates.read(root, debate.id)
    assert whole.debate == debate
    assert whole.notes == ()


async def test_nobody_reads_a_private_debate_but_whoever_started_it(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    debate = await begun(doors, other)

    assert (await doors.debates.read(other, debate.id)).debate == debate
    with pytest.raises(DebateNotFound) as hidden:
        await doors.debates.read(root, debate.id)
    assert await listed(doors, root) == []
    absent = DebateId.mint(BEGINNING, SeededEntropy("absent"))
    with pytest.raises(DebateNotFound) as gone:
        await doors.debates.read(root, absent)
    assert str(hidden.value) == str(gone.value).replace(str(absent), str(debate.id))


async def test_a_shared_debate_is_there_for_whoever_is_cleared_for_it(doors: Doors) -> None:
    root = await cleared_root(doors)
    cleared, low = await joined(doors, root, "a", FINANCE), await joined(doors, root, "b", LAW)
    debate = await begun(doors, root, label=FINANCE)

    shared = await doors.debates.share(root, debate.id)

    assert not shared.private
    assert (await doors.debates.read(cleared, debate.id)).debate == shared
    assert await listed(doors, cleared) == [debate.id]
    assert await listed(doors, low) == []
    with pytest.raises(DebateNotFound):
        await doors.debates.share(low, debate.id)


async def test_only_its_starter_shares_a_debate(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    debate = await begun(doors, other)

    with pytest.raises(DebateNotFound):
        await doors.debates.share(root, debate.id)

    assert (await doors.debates.read(other, debate.id)).debate.private


async def test_what_is_shared_is_shared_with_its_parts(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    whole = await begun(doors, root, "whole", analysis=True)
    part = await begun(doors, root, "part", part_of=whole.id)

    await doors.debates.share(root, whole.id)

    assert [each.id for each in await doors.debates.parts(other, whole.id)] == [part.id]
    assert await listed(doors, other) == [whole.id]


async def test_a_note_is_written_once_however_often_it_is(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    first = said()

    given = [
        await doors.debates.note(root, debate.id, each, TEAM)
        for each in (first, replace(first, body={"other": "words"}), said(BERT))
    ]

    assert given == [first, first, said(BERT)]
    assert (await doors.debates.read(root, debate.id)).notes == (first, said(BERT))


async def test_two_who_write_the_same_note_at_once_get_the_same(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    notes = [replace(said(), body={"number": number}) for number in range(6)]

    given = await asyncio.gather(
        *(doors.debates.note(root, debate.id, note, TEAM) for note in notes)
    )

    assert {str(each.body) for each in given} == {str(given[0].body)}
    assert (await doors.debates.read(root, debate.id)).notes == (given[0],)


async def test_notes_are_in_the_order_in_which_they_were_written(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    notes = [replace(said(), name=f"said:{name}", at=BEGINNING) for name in "zamkb"]

    for note in notes:
        await doors.debates.note(root, debate.id, note, TEAM)

    assert (await doors.debates.read(root, debate.id)).notes == tuple(notes)


async def test_a_note_keeps_every_letter_of_what_strangers_said(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    body: JsonObject = {"answer": AWKWARD, "deep": [AWKWARD, {"more": [None, 1.5, True]}]}
    note = replace(said(), body=body)

    await doors.debates.note(root, debate.id, note, TEAM)

    assert (await doors.debates.read(root, debate.id)).notes == (note,)


async def test_a_debate_becomes_as_secret_as_its_notes(doors: Doors) -> None:
    root = await cleared_root(doors)
    team = await joined(doors, root, "team", TEAM)
    debate = await begun(doors, root, private=False)
    assert await listed(doors, team) == [debate.id]

    await doors.debates.note(root, debate.id, said(), FINANCE)
    await doors.debates.note(root, debate.id, said(BERT), TEAM)

    assert (await doors.debates.read(root, debate.id)).debate.label == FINANCE
    assert await listed(doors, team) == []
    with pytest.raises(DebateNotFound):
        await doors.debates.read(team, debate.id)


async def test_nothing_is_written_below_what_its_task_has_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.debates.begin(root, a_debate(root, "second"))
    with pytest.raises(WriteDown):
        await doors.debates.note(root, debate.id, said(), TEAM)
    with pytest.raises(WriteDown):
        await doors.debates.end(root, debate.id, DebateStatus.STOPPED, None, at=LATER)
    with pytest.raises(WriteDown):
        await doors.debates.share(root, debate.id)
    with pytest.raises(WriteDown):
        await doors.debates.remove(root, debate.id)

    assert await listed(doors, root) == [debate.id]
    assert (await doors.debates.note(root, debate.id, said(), FINANCE)) == said()


async def test_nobody_writes_what_they_may_not_see(doors: Doors) -> None:
    root = await cleared_root(doors)
    team = await joined(doors, root, "team", TEAM)
    debate = await begun(doors, team)

    with pytest.raises(REFUSED):
        await doors.debates.note(team, debate.id, said(), FINANCE)
    with pytest.raises(REFUSED):
        await begun(doors, team, "second", label=FINANCE)
    with pytest.raises(DebateNotFound):
        await doors.debates.note(root, debate.id, said(), TEAM)


async def test_a_debate_is_about_a_project_that_its_starter_sees(doors: Doors) -> None:
    root = await cleared_root(doors)
    team = await joined(doors, root, "team", TEAM)
    hidden = await a_project(doors, root, "hidden", FINANCE)

    for project in (str(hidden.id), "hidden", "prj_nonsense"):
        with pytest.raises(ProjectNotFound):
            await begun(doors, team, project=project)
    with pytest.raises(REFUSED):
        await begun(doors, root, "below", project=str(hidden.id), label=TEAM)


async def test_how_it_ended_is_kept_once(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    await doors.purse.reserve(root, debate.id, "a", cost(100, "0.5"))
    await doors.purse.reserve(root, debate.id, "b", cost(70, "0.25"))
    await doors.purse.settle(root, debate.id, "a", cost(40, "0.1"))

    ended = await doors.debates.end(root, debate.id, DebateStatus.DECIDED, decided(), at=LATER)
    again = await doors.debates.end(root, debate.id, DebateStatus.FAILED, None, at=BEGINNING)

    assert ended == again == (await doors.debates.read(root, debate.id)).debate
    assert (ended.status, ended.decision, ended.ended_at) == (
        DebateStatus.DECIDED,
        decided(),
        LATER,
    )
    assert (ended.spent.tokens, str(ended.spent.money), ended.spent.calls) == (110, "0.35", 2)


async def test_nothing_is_added_to_what_is_over(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root)
    await doors.debates.note(root, debate.id, said(), TEAM)
    await doors.debates.end(root, debate.id, DebateStatus.DECIDED, decided(), at=LATER)
    ended = await doors.debates.read(root, debate.id)

    with pytest.raises(DebateOver):
        await doors.debates.note(root, debate.id, said(BERT), FINANCE)

    assert await doors.debates.note(root, debate.id, said(), TEAM) == said()
    assert await doors.debates.read(root, debate.id) == ended


async def test_how_secret_it_was_at_first_stays_known(doors: Doors) -> None:
    root = await cleared_root(doors)
    debate = await begun(doors, root, began=TEAM)

    await doors.debates.note(root, debate.id, said(), FINANCE)

    whole = await doors.debates.read(root, debate.id)
    assert (whole.debate.label, whole.debate.began) == (FINANCE, TEAM)


async def test_lists_are_newest_first_page_by_page(doors: Doors) -> None:
    root = await cleared_root(doors)
    debates = [
        await begun(doors, root, str(number), started_at=BEGINNING + timedelta(minutes=number))
        for number in (2, 0, 1)
    ]
    newest = [debates[place].id for place in (0, 2, 1)]

    assert await listed(doors, root) == newest
    assert await listed(doors, root, limit=2) == newest[:2]
    assert await listed(doors, root, after=newest[1]) == newest[2:]


async def test_debates_are_found_by_project_status_and_words(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, elsewhere = [await a_project(doors, root, name) for name in ("one", "two")]
    inside = await begun(doors, root, "inside", project=str(project.id))
    over = await begun(doors, root, "over")
    await doors.debates.end(root, over.id, DebateStatus.STOPPED, None, at=LATER)
    other = Question(text="Why does Güte % matter?", kind=QuestionKind.OPEN)
    asked = await begun(doors, root, "asked", question=other)

    assert await listed(doors, root, project=str(project.id)) == [inside.id]
    assert await listed(doors, root, project=str(elsewhere.id)) == []
    assert await listed(doors, root, project="no such") == []
    assert await listed(doors, root, status=DebateStatus.STOPPED) == [over.id]
    assert await listed(doors, root, words="MATTER güte %") == [asked.id]
    assert set(await listed(doors, root, words="port OPEN")) == {inside.id, over.id}
    assert await listed(doors, root, words="port elephant") == []


async def test_a_debate_is_removed_with_its_parts_by_its_starter_alone(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    whole = await begun(doors, root, "whole", analysis=True, private=False)
    part = await begun(doors, root, "part", part_of=whole.id)
    await doors.debates.note(root, part.id, said(), TEAM)
    for each in (whole, part):
        told = NewEntry(topic=talk_topic(each.id), type="standing", label=TEAM, topic_label=TEAM)
        await doors.event_log.append(root, [told])

    with pytest.raises(DebateNotFound):
        await doors.debates.remove(other, whole.id)
    kept = await doors.event_log.read(root, talk_topic(part.id), after=0, limit=9)
    await doors.debates.remove(root, whole.id)

    assert len(kept.entries) == 1
    for gone in (whole, part):
        with pytest.raises(DebateNotFound):
            await doors.debates.read(root, gone.id)
        with pytest.raises(TopicNotFound):
            await doors.event_log.read(root, talk_topic(gone.id), after=0, limit=9)
    with pytest.raises(DebateNotFound):
        await doors.debates.remove(root, whole.id)


async def test_no_space_sees_the_debates_of_another(doors: Doors) -> None:
    root, stranger = await cleared_root(doors), await cleared_root(doors, "elsewhere")
    debate = await begun(doors, root, private=False)

    with pytest.raises(DebateNotFound):
        await doors.debates.read(stranger, debate.id)
    with pytest.raises(DebateNotFound):
        await doors.debates.note(stranger, debate.id, said(), TEAM)
    assert await listed(doors, stranger) == []


async def test_a_part_is_begun_by_whoever_began_the_whole(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)
    whole = await begun(doors, root, "whole", analysis=True, private=False)

    with pytest.raises(REFUSED):
        await begun(doors, other, "part", part_of=whole.id)


async def test_nobody_begins_one_as_somebody_else(doors: Doors) -> None:
    root = await cleared_root(doors)
    other = await joined(doors, root, "other", SECRET)

    with pytest.raises(REFUSED):
        await doors.debates.begin(root, a_debate(other, label=PUBLIC))
