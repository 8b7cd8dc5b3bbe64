"""What is refused before anything is spent, who is asked, and what a debate begins with."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from portico.debate.core.debaters import Tariff
from portico.debate.core.debates import DebateSpec, DebateStatus, NoteKind, Usual
from portico.debate.core.errors import (
    BudgetTooSmall,
    DebateNotFound,
    DebateOver,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterUnavailable,
    DebaterUnbounded,
    InvalidDebate,
    NoDebaters,
    PersonaNotFound,
)
from portico.debate.core.events import Skipped
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.debate.core.replay import log_text
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import NotPermitted
from portico.kernel.budget import NOTHING
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.debate_fakes import MemoryMaterial, ScriptedDebater
from tests.debate.room import ANA, BEN, VERA, Room, put, some

TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"question": " \x00 "}, "no question"),
        ({"question": "x" * 30_000}, "at most 20,000"),
        ({"material": "x" * 500_000}, "at most 400,000"),
        ({"choices": ("a",)}, "2 to 26"),
        ({"choices": ("a", " ")}, "empty"),
        ({"choices": ("Red", "red!")}, "are the same"),
        ({"kind": QuestionKind.CHOICE}, "2 to 26"),
        ({"kind": QuestionKind.NUMBER, "choices": ("a", "b")}, "has no choices"),
        ({"analyze": True, "choices": ("a", "b")}, "questions of its own"),
        ({"deadline": timedelta(0)}, "more than 0 seconds"),
        ({"deadline": timedelta(days=8)}, "at most 7 days"),
        ({"thoroughness": 2.0}, "not between 0 and 1"),
        ({"thoroughness": float("nan")}, "not between 0 and 1"),
        ({"guests": 27}, "0 to 26"),
        ({"debaters": ("a:1",) * 27}, "at most 26"),
        ({"parts_most": 0}, "1 to 12"),
        ({"cap": Cap(tokens=0)}, "more than 0 tokens"),
        ({"cap": Cap(money=Decimal("NaN"))}, "more than 0 dollars"),
        ({"shared": True}, "Only a debate of a project"),
        ({"memory": ("k",)}, "belongs to a project"),
        ({"analyze": True, "guests": 1}, "has no guests"),
        ({"label": Label(Level.RESTRICTED)}, "above your clearance"),
        ({"roles": ("nobody:1=critic",)}, "takes no part"),
        ({"roles": ("critic",) * 26, "debaters": ("a:1", "a:2")}, None),
    ],
)
async def test_what_makes_no_sense_is_refused_with_what_to_do(
    wish: dict[str, Any], why: str | None
) -> None:
    room = Room(*some("a:1", "a:2", "b:1"))
    wished: dict[str, Any] = {"question": "Is it so?", **wish}
    wanted = DebateSpec(**wished)

    if why is None:
        assert len((await room.start(ANA, wanted)).debate.debaters) == 26
        return
    with pytest.raises(InvalidDebate, match=why) as refused:
        await room.start(ANA, wanted)
    assert refused.value.fix
    assert room.voices.asks == []


async def test_an_unknown_role_or_voice_is_told_with_the_one_that_was_meant() -> None:
    room = Room(*some("openai:gpt-5", "b:1"))

    with pytest.raises(PersonaNotFound, match="Did you mean critic"):
        await room.begin(roles=("critc",))
    with pytest.raises(DebaterNotFound, match="Did you mean openai:gpt-5"):
        await room.begin(debaters=("openai:gpt5", "b:1"))


async def test_who_is_named_and_cannot_be_asked_is_refused() -> None:
    away = ScriptedDebater(name="a:1", available=False)
    low = ScriptedDebater(name="b:1", changes={"clearance": PUBLIC})
    wild = ScriptedDebater(name="c:1", changes={"bounded": False})
    room = Room(away, low, wild, *some("d:1"))

    with pytest.raises(DebaterUnavailable):
        await room.begin(debaters=("a:1", "d:1"))
    with pytest.raises(DebaterNotCleared):
        await room.begin(debaters=("b:1", "d:1"), label=TEAM)
    with pytest.raises(DebaterUnbounded):
        await room.begin(debaters=("c:1", "d:1"))
    assert len((await room.begin(debaters=("c:1", "d:1"), unbounded=True)).debaters) == 2


async def test_who_is_not_named_and_cannot_be_asked_is_left_out_and_it_is_said_why() -> None:
    away = ScriptedDebater(name="a:1", available=False)
    low = ScriptedDebater(name="b:1", changes={"clearance": PUBLIC})
    room = Room(away, low, *some("c:1", "d:1"))

    estimate = await room.estimate(ANA, DebateSpec(question="Is it so?", label=TEAM))

    assert [row.voice for row in estimate.debaters] == ["c:1", "d:1"]
    assert any("a:1 is left out: It is switched off" in note for note in estimate.notes)
    assert any("b:1 is left out: b:1 is not cleared" in note for note in estimate.notes)


async def test_the_voices_of_the_settings_are_asked_where_none_are_named() -> None:
    usual = Usual(debaters=("b:1", "gone:1", "c:1"), cap=Cap(tokens=50_000))
    room = Room(*some("a:1", "b:1", "c:1"), usual=usual)

    debate = await room.begin()
    estimate = await room.estimate(ANA, DebateSpec(question="Is it so?"))

    assert [voice.name for voice in debate.debaters] == ["b:1", "c:1"]
    assert debate.cap == Cap(tokens=50_000)
    assert "gone:1 is left out: Nobody here is called 'gone:1'." in estimate.notes


async def test_whoever_is_there_is_mixed_by_family_and_a_quorum_needs_two() -> None:
    room = Room(*some(*(f"a:{number}" for number in range(9)), "b:1", "c:1"))

    debate = await room.begin(thoroughness=0.0)

    assert [voice.name for voice in debate.debaters] == ["a:0", "b:1", "c:1"]

    room = Room(*some("a:1", "a:2", "a:3"))

    with pytest.raises(InvalidDebate, match="2 families"):
        await room.begin(preset=Preset.QUORUM)


async def test_one_voice_is_no_debate_but_is_one_with_two_roles_or_a_guest() -> None:
    room = Room(*some("a:1"))

    with pytest.raises(NoDebaters, match="1 of at least 2"):
        await room.begin()
    twice = await room.begin(roles=("critic", "security"))
    assert [(voice.name, voice.personas) for voice in twice.debaters] == [
        ("a:1", ("critic",)),
        ("a:1#2", ("security",)),
    ]
    assert (await room.begin(guests=1)).guests == 1
    with pytest.raises(NoDebaters):
        await room.begin(roles=("a:1=critic", "a:1=security"))
    assert (await room.begin(debaters=("a:1", "a:1"))).debaters[1].name == "a:1#2"


async def test_a_budget_too_small_for_the_first_pair_is_refused_with_the_number_it_needs() -> None:
    room = Room(*some("a:1", "b:1"))
    estimate = await room.estimate(ANA, DebateSpec(question="Is it so?", cap=Cap(tokens=100)))
    assert not estimate.fits
    assert any("The first pair takes" in note for note in estimate.notes)

    with pytest.raises(BudgetTooSmall) as refused:
        await room.begin(cap=Cap(tokens=100))
    needed = int("".join(filter(str.isdigit, str(refused.value.fix))))

    assert (await room.begin(cap=Cap(tokens=needed))).cap.tokens == needed


async def test_a_budget_in_dollars_is_told_in_dollars_and_leaves_that_in_tokens(room: Room) -> None:
    price = {"tariff": Tariff(input=Decimal(10), output=Decimal(30))}
    room = Room(*[ScriptedDebater(name=name, changes=price) for name in ("a:1", "b:1")])

    with pytest.raises(BudgetTooSmall, match="dollars"):
        await room.begin(cap=Cap(money=Decimal("0.0001")))

    assert (await room.begin(cap=Cap(money=Decimal(1)))).cap == Cap(
        tokens=100_000, money=Decimal(1)
    )


async def test_the_rows_of_an_estimate_add_up_to_its_total() -> None:
    price = {"tariff": Tariff(input=Decimal(10), output=Decimal(30))}
    room = Room(*[ScriptedDebater(name=f"{f}:1", changes=price) for f in "abc"])
    wishes: list[dict[str, Any]] = [
        {"preset": preset, "kind": kind, "thoroughness": how}
        for preset in Preset
        for kind in (QuestionKind.YES_NO, QuestionKind.TEXT, QuestionKind.OPEN)
        for how in (0.0, 1.0)
    ]
    wishes.append({"analyze": True})
    for wish in wishes:
        estimate = await room.estimate(ANA, DebateSpec(question="Is it so?", **wish))

        assert sum(row.tokens for row in estimate.debaters) == estimate.most_tokens, wish
        assert sum(row.money for row in estimate.debaters) == estimate.most_money, wish
        assert sum(row.calls for row in estimate.debaters) == estimate.most_calls, wish
        assert 0 < estimate.likely_tokens <= estimate.most_tokens, wish
        assert 0 < estimate.likely_calls <= estimate.most_calls, wish


async def test_what_is_estimated_at_most_is_not_passed() -> None:
    voices = [ScriptedDebater(name="a:1", again="no"), ScriptedDebater(name="b:1", answer="no")]
    room = Room(*voices, *some("c:1"))
    wish: dict[str, Any] = {"preset": Preset.DEBATE, "thoroughness": 1.0}
    estimate = await room.estimate(ANA, DebateSpec(question="Is it so?", **wish))

    whole = await room.held("Is it so?", **wish)

    assert whole.debate.spent.calls <= estimate.most_calls
    assert whole.debate.spent.tokens <= estimate.most_tokens


async def test_an_estimate_says_what_it_had_to_guess() -> None:
    wild = ScriptedDebater(name="c:1", changes={"bounded": False})
    room = Room(*some("a:1", "b:1"), wild)

    wish = DebateSpec(
        question="Is it so?",
        debaters=("a:1", "b:1", "c:1"),
        unbounded=True,
        cap=Cap(tokens=1_800, money=Decimal(1)),
    )
    notes = (await room.estimate(ANA, wish)).notes

    assert any("Nothing can hold c:1" in note for note in notes)
    assert any("Nobody knows what a:1, b:1, c:1 costs" in note for note in notes)
    assert any("holds it to less" in note for note in notes)


async def test_the_same_key_is_the_same_debate(room: Room) -> None:
    wish = DebateSpec(question="Is it so?", key="k")
    first = await room.start(ANA, wish)

    again = await room.start(ANA, wish)

    assert (again.debate.id, again.replayed) == (first.debate.id, True)
    with pytest.raises(KeyReused):
        await room.start(ANA, replace(wish, question="Is it otherwise?"))
    for other in ({"thoroughness": 0.9}, {"topic": "law"}, {"material": "a file"}):
        with pytest.raises(KeyReused):
            await room.start(ANA, replace(wish, **other))
    odd = DebateSpec(question="Is \x00it so?", material=" a file ", key="odd")
    assert not (await room.start(ANA, odd)).replayed
    assert (await room.start(ANA, odd)).replayed
    with pytest.raises(KeyReused):
        await room.start(ANA, replace(odd, material=" b file "))
    assert (await room.start(BEN, wish)).debate.id != first.debate.id


async def test_who_may_only_look_starts_nothing(room: Room) -> None:
    with pytest.raises(NotPermitted):
        await room.begin(by=VERA)
    with pytest.raises(NotPermitted):
        await room.estimate(VERA, DebateSpec(question="Is it so?"))
    assert (await room.begin("Is it so?")).rules.preset is Preset.VOTE
    assert (await room.begin("What should we do")).rules.preset is Preset.DEBATE


async def test_a_debate_is_as_secret_as_all_that_it_begins_with(room: Room) -> None:
    project = str(ANA.space).replace("spc_", "prj_")
    room.material = MemoryMaterial({project: TEAM}, {"plan": ("the plan", SECRET, True)})
    put(room.purse, "project", _no_cap)  # there is no such project
    put(room.blackboard, "add", _nothing)
    room.assemble()

    plain = await room.begin(label=PUBLIC)
    inside = await room.begin(project=project)
    knowing = await room.begin(project=project, memory=("plan",), material="and this")

    assert (plain.label, inside.label, knowing.label) == (PUBLIC, TEAM, SECRET)
    assert knowing.question.material == "and this\n\nthe plan"
    assert knowing.untrusted
    assert (await room.begin(project=project)).label == SECRET  # its memory was read there


async def _no_cap(*_: object) -> tuple[Cap, object, Label]:
    return Cap(), NOTHING, PUBLIC


async def _nothing(*_: object) -> None:
    return None


async def test_who_was_left_out_is_written_down_and_told_first() -> None:
    room = Room(ScriptedDebater(name="a:1", available=False), *some("b:1", "c:1"))

    begun = await room.whole((await room.begin()).id)
    whole = await room.held()

    told = "a:1 is left out: It is switched off. Switch it on."
    assert [(note.name, note.kind) for note in begun.notes] == [
        ("skipped:voice:a:1", NoteKind.SKIPPED)
    ]
    assert told in log_text(whole)
    assert whole.debate.status is DebateStatus.DECIDED

    heard = [each.event async for each in room.follow(ANA, whole.debate.id)]

    why = "It is switched off. Switch it on."
    assert heard[0] == Skipped(what="voice:a:1", why=why, saved_tokens=0)
    assert [type(each) for each in heard].count(Skipped) == 1


async def test_of_two_that_begin_the_same_at_once_both_are_told_of_the_one_that_is_there() -> None:
    room = Room(ScriptedDebater(name="a:1", available=False), *some("b:1", "c:1"))
    wish = DebateSpec(question="Is it so?", key="k")
    first = await room.start(ANA, wish)
    read, looked = room.blackboard.read, []

    async def not_yet(*given: Any) -> Any:
        """As it looks to somebody who has looked before it was there."""
        looked.append(given)
        if len(looked) == 1:
            raise DebateNotFound("dbt_1")
        return await read(*given)

    put(room.blackboard, "read", not_yet)
    room.voices.debaters["d:1"] = ScriptedDebater(name="d:1", available=False)
    other = await room.start(ANA, wish)

    assert other.replayed
    assert other.debate == first.debate
    assert [note.name for note in (await read(ANA, first.debate.id)).notes] == ["skipped:voice:a:1"]
    assert len(room.told(first.debate.id)) == 1


async def test_who_stops_what_has_just_ended_is_told_so_and_leaves_no_note(room: Room) -> None:
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
    room = Room(*[ScriptedDebater(name=name, parts=parts) for name in ("a:1", "b:1")])
    task = "Look into it."
    with pytest.raises(BudgetTooSmall, match="The first pair takes") as pair:
        await room.begin(task, cap=Cap(tokens=10))

    with pytest.raises(BudgetTooSmall, match="The plan, a pair and the text takes") as refused:
        await room.begin(task, analyze=True, cap=Cap(tokens=_needed(pair.value)))
    assert room.voices.asks == []
    needed = Cap(tokens=_needed(refused.value))
    short = await room.estimate(
        ANA, DebateSpec(question=task, analyze=True, cap=Cap(tokens=_needed(refused.value) - 1))
    )

    whole = await room.held(task, analyze=True, cap=needed)
    assert whole.debate.status is DebateStatus.DECIDED
    assert len(await room.look.parts(ANA, whole.debate.id)) == 1
    assert not short.fits
    assert any("The plan, a pair and the text takes" in note for note in short.notes)


def _needed(error: BudgetTooSmall) -> int:
    return int("".join(filter(str.isdigit, str(error.fix))))
