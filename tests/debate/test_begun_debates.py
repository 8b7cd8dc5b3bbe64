"""What a debate begins with: who was left out, what it takes, and one of two that begin at once."""

from typing import Any

import pytest

from portico.debate.core.debate import DebateStatus
from portico.debate.core.errors import BudgetTooSmall, DebateNotFound, DebateOver
from portico.debate.core.happening import Skipped
from portico.debate.core.log_text import log_text
from portico.debate.core.note import NoteKind
from portico.debate.core.rules import Cap
from portico.debate.core.wish import DebateWish
from portico.testing.debate_voices import ScriptedVoice
from tests.debate.room import ANA, Room, put, some


async def test_who_was_left_out_is_written_down_when_it_begins() -> None:
    room = Room(ScriptedVoice(name="a:1", available=False), *some("b:1", "c:1"))

    begun = await room.whole((await room.begin()).id)
    whole = await room.held()

    told = "a:1 is left out: It is switched off. Switch it on."
    assert [(note.name, note.kind) for note in begun.notes] == [
        ("skipped:voice:a:1", NoteKind.SKIPPED)
    ]
    assert told in log_text(whole)
    assert whole.debate.status is DebateStatus.DECIDED


async def test_whoever_follows_it_is_told_first_who_was_left_out() -> None:
    room = Room(ScriptedVoice(name="a:1", available=False), *some("b:1", "c:1"))
    whole = await room.held()

    heard = [each.happening async for each in room.follow(ANA, whole.debate.id)]

    why = "It is switched off. Switch it on."
    assert heard[0] == Skipped(what="voice:a:1", why=why, saved_tokens=0)
    assert [type(each) for each in heard].count(Skipped) == 1


async def test_of_two_that_begin_the_same_at_once_both_are_told_of_the_one_that_is_there() -> None:
    room = Room(ScriptedVoice(name="a:1", available=False), *some("b:1", "c:1"))
    wish = DebateWish(question="Is it so?", key="k")
    first = await room.start(ANA, wish)
    read, looked = room.blackboard.read, []

    async def not_yet(*given: Any) -> Any:
        """As it looks to somebody who has looked before it was there."""
        looked.append(given)
        if len(looked) == 1:
            raise DebateNotFound("dbt_1")
        return await read(*given)

    put(room.blackboard, "read", not_yet)
    room.voices.voices["d:1"] = ScriptedVoice(name="d:1", available=False)
    other = await room.start(ANA, wish)

    assert other.replayed
    assert other.debate == first.debate
    assert [note.name for note in (await read(ANA, first.debate.id)).notes] == ["skipped:voice:a:1"]
    assert len(room.told(first.debate.id)) == 1


async def test_who_stops_what_has_just_ended_is_told_so_and_leaves_no_note() -> None:
    room = Room(*some("a:1", "b:1"))
    debate = await room.begin()
    stale, read = await room.whole(debate.id), room.blackboard.read
    await room.leg(debate)
    ended = await room.whole(debate.id)

    async def before(*_: Any) -> Any:
        put(room.blackboard, "read", read)
        return stale

    put(room.blackboard, "read", before)
    with pytest.raises(DebateOver):
        await room.stop(ANA, debate.id)

    assert await room.whole(debate.id) == ended


async def test_an_analysis_is_refused_where_nothing_is_left_for_a_part_of_it() -> None:
    parts = [{"question": "Is it so?", "kind": "yes_no"}]
    room = Room(*[ScriptedVoice(name=name, parts=parts) for name in ("a:1", "b:1")])
    task = "Look into it."
    with pytest.raises(BudgetTooSmall, match="The first pair takes") as pair:
        await room.begin(task, cap=Cap(tokens=10))

    with pytest.raises(BudgetTooSmall, match="The plan, a pair and the text takes") as refused:
        await room.begin(task, analyze=True, cap=Cap(tokens=_needed(pair.value)))
    assert room.voices.asks == []
    needed = Cap(tokens=_needed(refused.value))
    short = await room.estimate(
        ANA, DebateWish(question=task, analyze=True, cap=Cap(tokens=_needed(refused.value) - 1))
    )

    whole = await room.held(task, analyze=True, cap=needed)
    assert whole.debate.status is DebateStatus.DECIDED
    assert len(await room.look.parts(ANA, whole.debate.id)) == 1
    assert not short.fits
    assert any("The plan, a pair and the text takes" in note for note in short.notes)


def _needed(error: BudgetTooSmall) -> int:
    return int("".join(filter(str.isdigit, str(error.fix))))
