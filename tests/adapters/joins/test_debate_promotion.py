"""What of a debate is let out: enough for whoever replays the copy to decide the same."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from re import finditer
from typing import Any, cast

import pytest

from portico.adapters.joins.debate_promotion import LetOut, let_out
from portico.adapters.postgres.debate_rows import voice_from
from portico.bridge.core.declassification import Finding
from portico.bridge.core.scan import found
from portico.debate.core.debate import WholeDebate
from portico.debate.core.errors import VoiceBroke
from portico.debate.core.guest import GuestAnswer
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.question import QuestionKind
from portico.debate.core.rules import Preset
from portico.debate.core.wish import ReplayWish
from portico.testing.debate_voices import ScriptedVoice
from tests.debate.room import ANA, BEN, Room, put, some

SECRET = "swordfish"


def knowing(text: str) -> Sequence[Finding]:
    """A scanner that knows of one secret."""
    return found(text, lambda each: [(hit.start(), hit.end()) for hit in finditer(SECRET, each)])


def copy_of(whole: WholeDebate, out: LetOut) -> WholeDebate:
    """As the store makes it."""
    content = cast("dict[str, Any]", out.content)
    body = content["body"]
    debate = replace(
        whole.debate,
        question=replace(whole.debate.question, material=body["question"]["material"]),
        voices=tuple(voice_from(each) for each in body["voices"]),
        guests=0,
        seed=body["seed"],
        began=None,
    )
    notes = [
        Note(
            name=each["name"],
            kind=NoteKind(each["kind"]),
            voice=each["voice"],
            round=each["round"],
            body=each["body"],
            at=datetime.fromisoformat(each["at"]),
        )
        for each in content["notes"]
    ]
    assert len({note.name for note in notes}) == len(notes)
    return WholeDebate(debate, tuple(notes))


async def held_text(*answers: str, near: bool = True, **voice: Any) -> tuple[Room, WholeDebate]:
    voices = [
        ScriptedVoice(name=f"{family}:1", answer=answer, **voice)
        for family, answer in zip("abcd", answers, strict=False)
    ]
    room = Room(*voices)
    room.meaning.on = near
    return room, await room.held("Where was it?", kind=QuestionKind.TEXT)


async def held_with_a_guest() -> tuple[Room, WholeDebate]:
    room = Room(ScriptedVoice(name="a:1"), ScriptedVoice(name="b:1", answer="no"))
    debate = await room.begin("Is it so?", guests=1)
    await room.join(BEN, debate.id)
    await room.leg(debate)
    await room.answer(BEN, debate.id, GuestAnswer(answer="yes"))
    await room.leg(debate)
    return room, await room.whole(debate.id)


async def held_open() -> tuple[Room, WholeDebate]:
    async def better_is_longer(ask: Any) -> Any:
        return await ScriptedVoice(name="x", answer=f"by {ask.voice.name}", better="B").reply(ask)

    room = Room(*[ScriptedVoice(name=f"{n}:1", says=better_is_longer) for n in "abc"])
    return room, await room.held("What now?", kind=QuestionKind.OPEN)


async def held_with_one_that_broke() -> tuple[Room, WholeDebate]:
    broken = ScriptedVoice(name="a:1", says=VoiceBroke("a:1", "it broke."))
    room = Room(broken, *some("b:1", "c:1"))
    return room, await room.held("Is it so?", preset=Preset.VOTE)


@pytest.mark.parametrize(
    "held",
    [
        lambda: held_text("the municipal library", "the municipal librarys", "a school"),
        lambda: held_text("NYC", "New York City", near=False),
        lambda: held_text("NYC", "New York City", near=False, same=False),
        held_with_a_guest,
        held_open,
        held_with_one_that_broke,
    ],
)
async def test_whoever_replays_the_copy_decides_the_same(held: Any) -> None:
    room, whole = await held()
    its = await room.replay(ANA, whole.debate.id, ReplayWish())
    copy = copy_of(whole, await let_out(found, whole))

    async def read(*_: object) -> WholeDebate:
        return copy

    put(room.blackboard, "read", read)
    again = await room.replay(ANA, copy.debate.id, ReplayWish())

    assert (again.now, again.notes) == (its.now, its.notes)


async def test_what_is_said_of_two_answers_is_named_after_them_as_they_are_in_the_copy() -> None:
    _, whole = await held_text(f"a big {SECRET}", "a small shark", f"another {SECRET}")

    out = await let_out(knowing, whole)

    copy = copy_of(whole, out)
    near = [note for note in copy.notes if note.kind is NoteKind.SAME]
    said = {str(note.body["key"]) for note in copy.notes if note.kind is NoteKind.SAID}
    assert SECRET not in out.text
    assert near
    assert {str(note.body[side]) for note in near for side in ("one", "other")} <= said
    assert not {note.name for note in near} & {note.name for note in whole.notes}


async def test_what_it_cost_and_its_seed_are_not_let_out() -> None:
    _, whole = await held_text("NYC", "New York City", near=False)

    out = await let_out(found, whole)

    assert "paid" not in out.text
    assert str(whole.debate.seed) not in out.text
