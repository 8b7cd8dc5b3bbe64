"""A debate asks in the name of whoever started it, as they are at that moment."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from portico.debate.core.asking import VoiceAsk, VoiceReply
from portico.debate.core.debate import DebateStatus
from portico.debate.core.note import NoteKind
from portico.engine.core.run import RunStatus
from portico.guard.core.api_key import Purpose, StoredKey
from portico.guard.core.roles import Role
from portico.kernel.principal import Principal
from portico.testing.debate_voices import ScriptedVoice, a_reply, a_vote
from portico.testing.kernel import BEGINNING
from portico.testing.world import HeldKey
from tests.debate.room import ANA, ANA_THERE, CLEARED, Room, put

Ending = Callable[[Room], None]


def a_key(room: Room) -> Principal:
    """Ana, with a key of hers that is good for one tool."""
    key = StoredKey(
        id="k1",
        space=ANA.space,
        principal=ANA.id,
        purpose=Purpose.ACCESS,
        name="laptop",
        scopes=None,
        clearance=CLEARED,
        tools=("files.read",),
        created_at=BEGINNING,
    )
    room.world.keys["k1"] = HeldKey(key, b"")
    return replace(ANA, key="k1", tools=(("files.*",),))


def revoked(room: Room) -> None:
    held = room.world.keys["k1"]
    room.world.keys["k1"] = replace(held, key=replace(held.key, revoked_at=BEGINNING))


def disabled(room: Room) -> None:
    gone = replace(ANA_THERE, disabled_at=BEGINNING)
    room.world.identities[gone.space, gone.id] = gone


def demoted(room: Room) -> None:
    less = replace(ANA_THERE, roles=frozenset({Role.VIEWER}))
    room.world.identities[less.space, less.id] = less


def ending(room: Room, end: Ending) -> None:
    """While the first two are heard, who do not agree."""

    async def says(answer: str, _ask: VoiceAsk) -> VoiceReply:
        end(room)
        return a_reply(a_vote(answer))

    for name, answer in (("a:1", "yes"), ("b:1", "no"), ("c:1", "yes")):
        room.voices.voices[name] = ScriptedVoice(name=name, says=partial(says, answer))


@pytest.mark.parametrize(
    ("end", "code"),
    [(revoked, "key_ended"), (disabled, "key_ended"), (demoted, "not_permitted")],
)
async def test_nobody_is_asked_for_a_starter_who_may_no_more(end: Ending, code: str) -> None:
    room = Room()
    ending(room, end)
    debate = await room.begin(by=a_key(room))

    run = await room.leg(debate)

    whole = await room.whole(debate.id)
    assert [ask.voice.name for ask in room.voices.asks] == ["a:1", "b:1"]
    assert run.status is RunStatus.FAILED
    assert whole.debate.status is DebateStatus.FAILED
    [failed] = [note for note in whole.notes if note.name == "failed"]
    assert failed.body["code"] == code


async def test_an_analysis_asks_nobody_for_them_either() -> None:
    room = Room()
    ending(room, lambda _: None)
    debate = await room.begin(by=a_key(room), analyze=True)
    revoked(room)

    await room.leg(debate)

    assert room.voices.asks == []
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED


async def test_no_guest_is_asked_for_them() -> None:
    room = Room()
    ending(room, lambda _: None)
    debate = await room.begin(by=a_key(room), guests=1)
    await room.leg(debate)
    await room.join(ANA, debate.id)
    revoked(room)

    await room.leg(debate)

    assert room.world.debate_questions == {}
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED


async def test_voices_are_asked_with_the_key_and_the_lists_of_the_starter() -> None:
    room = Room()
    ending(room, lambda _: None)
    asking, askers = room.voices.ask, []

    async def ask(caller: Principal, what: VoiceAsk, hear: Callable[[str], None]) -> VoiceReply:
        askers.append(caller)
        return await asking(caller, what, hear)

    put(room.voices, "ask", ask)
    whole = await room.held(by=a_key(room))

    assert [note.voice for note in whole.notes if note.kind is NoteKind.SAID]
    assert {(each.key, each.tools) for each in askers} == {("k1", (("files.read",), ("files.*",)))}
    assert {each.context for each in askers} == {whole.debate.context}
