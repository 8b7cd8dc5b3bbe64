"""Voices that give no answer: what they have spent is charged all the same."""

import pytest

from portico.debate.core.errors import VoiceBroke, VoiceNotCleared
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.voice import VoiceKind
from portico.kernel.budget import Cost
from portico.kernel.label import PUBLIC
from portico.kernel.tokens import Tokens
from portico.testing.debate_voices import ScriptedVoice
from tests.debate.room import Room, some

SPENT = Cost(tokens=Tokens(30), calls=1)


async def failed(voice: ScriptedVoice, **wish: object) -> Note:
    room = Room(voice, *some("b:1", "c:1"))
    whole = await room.held("Is it so?", voices=(voice.name, "b:1", "c:1"), **wish)
    [note] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    return note


@pytest.mark.parametrize(
    "problem", [VoiceBroke("a:1", "it broke.", SPENT), VoiceNotCleared("a:1", PUBLIC, SPENT)]
)
async def test_what_is_known_to_be_spent_is_charged(problem: Exception) -> None:
    note = await failed(ScriptedVoice(name="a:1", says=problem))

    assert note.cost.tokens == SPENT.tokens


async def test_what_nobody_knows_is_charged_with_all_that_was_reserved() -> None:
    known = await failed(ScriptedVoice(name="a:1", says=VoiceBroke("a:1", "it broke.", SPENT)))
    unknown = await failed(ScriptedVoice(name="a:1", says=VoiceBroke("a:1", "it broke.")))

    assert unknown.cost.tokens > known.cost.tokens
    assert unknown.overrun == 0


async def test_the_overrun_of_one_without_a_maximum_is_shown_also_if_it_fails() -> None:
    much = Cost(tokens=Tokens(300_000), calls=1)
    program = ScriptedVoice(
        name="p:1",
        says=VoiceBroke("p:1", "it broke.", much),
        changes={"bounded": False, "kind": VoiceKind.PROGRAM},
    )

    note = await failed(program, unbounded=True)

    assert note.cost.tokens == 300_000
    assert 0 < note.overrun < 300_000
