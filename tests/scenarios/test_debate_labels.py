"""A debate is as secret as what it is about: from the memory that it reads to the synthesis."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.bridge.core.errors import LoweredOtherwise, NotLower
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project
from portico.debate.core.debaters import DebaterReply, DebaterRequest
from portico.debate.core.debates import (
    Debate,
    DebateSpec,
    DebateStatus,
    NoteKind,
    ReplaySpec,
    WholeDebate,
)
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Preset, QuestionKind
from portico.guard.core.errors import OwnRequest
from portico.guard.core.principals import Role
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.debate_fakes import ScriptedDebater, ScriptedDebaters, a_reply, a_vote
from tests.storm.debate_house import DebateHouse, debate_house

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]

TEAM, CONFIDENTIAL = Label.parse("team"), Label.parse("confidential+finance")
TOP = Label.parse("restricted+finance+law")
SECRET = "the price is zq0000001k"
KEY = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


async def repeating(ask: DebaterRequest) -> DebaterReply:
    """It says what it was told, and prefers what alpha said."""
    fields = (ask.schema or {}).get("properties", {})
    assert isinstance(fields, dict)
    if "answer" not in fields:
        first = "alpha:one" in ask.prompt.partition("Answer B:")[0]
        return await ScriptedDebater(name="judge", better="A" if first else "B").reply(ask)
    told = f"as {SECRET}" if SECRET in ask.prompt else "nothing is known"
    return a_reply(a_vote(f"{ask.debater.name} says: {told}."))


async def reading(ask: DebaterRequest) -> DebaterReply:
    """An agent that has read something besides, unless it may not."""
    ceiling = ask.ceiling or TOP
    label = CONFIDENTIAL if ceiling.covers(CONFIDENTIAL) else PUBLIC
    said = SECRET if label == CONFIDENTIAL else "nothing"
    return replace(a_reply(a_vote("yes", rationale=said)), label=label)


@dataclass
class Place:
    house: DebateHouse
    voices: ScriptedDebaters
    project: Project
    boss: Principal
    low: Principal

    async def debated(self, question: str, **wish: Any) -> WholeDebate:
        wished = DebateSpec(question=question, project=str(self.project.id), **wish)
        started = await self.house.use_cases.start_debate(self.boss, wished)
        await self.house.carried_out(started.debate)
        return await self.house.use_cases.look.one(self.boss, started.debate.id)

    async def hidden_from_low(self, debate: Debate) -> None:
        cases = self.house.use_cases
        with pytest.raises(DebateNotFound):
            await cases.look.one(self.low, debate.id)
        assert debate.id not in {each.id for each in await cases.look.page(self.low)}


@pytest.fixture
async def place(embedded_database: Addresses) -> AsyncIterator[Place]:
    scripts = [
        *(ScriptedDebater(name=f"{family}:one", says=repeating) for family in ("alpha", "beta")),
        *(ScriptedDebater(name=f"{family}:two", says=reading) for family in ("gamma", "delta")),
    ]
    for voice in scripts:
        voice.debater = replace(voice.debater, clearance=TOP)
    async with debate_house(embedded_database, *scripts) as house:
        bridge = house.house
        boss = await bridge.enters(
            "boss", str(TOP), kind=PrincipalKind.PERSON, roles=[Role.OPERATOR]
        )
        low = await bridge.enters("low", "team")
        project = await bridge.talk.create_project(bridge.afresh(boss), "apollo", "", TEAM)
        wanted = ToRemember(project=project.id, key="price", value=SECRET, label=CONFIDENTIAL)
        author = await bridge.enters("author", str(TOP))
        await bridge.things.remember(author, wanted)
        voices = house.doors.debaters
        assert isinstance(voices, ScriptedDebaters)
        yield Place(house, voices, project, boss, low)


OPEN: dict[str, Any] = {"kind": QuestionKind.OPEN, "debaters": ("alpha:one", "beta:one")}


@pytest.mark.requirement("debate:labels:confidential")
async def test_a_debate_on_confidential_memory_gives_a_confidential_synthesis(
    place: Place,
) -> None:
    whole = await place.debated("What is the price?", memory=("price",), shared=True, **OPEN)

    assert whole.debate.label == CONFIDENTIAL
    assert whole.debate.status is DebateStatus.DECIDED
    assert {NoteKind.SAID, NoteKind.SYNTHESIS} <= {note.kind for note in whole.notes}
    assert SECRET in str([note.body for note in whole.notes])
    await place.hidden_from_low(whole.debate)


@pytest.mark.requirement("debate:promotion:a-person")
async def test_a_debate_is_promoted_once_another_person_has_said_yes(place: Place) -> None:
    whole = await place.debated(f"What is the price? My key is {KEY}.", memory=("price",), **OPEN)
    cases, root = place.house.use_cases, place.house.house.root

    approval = await cases.promote_debate(place.boss, whole.debate.id, TEAM)
    assert await cases.look.page(place.low) == []
    with pytest.raises(OwnRequest):
        await place.house.allowed(approval, place.boss)
    await place.house.allowed(approval, place.house.house.afresh(root))

    [copy] = await cases.look.page(place.low)
    told = await cases.look.one(place.low, copy.id)
    assert (copy.label, copy.private, copy.status) == (TEAM, False, whole.debate.status)
    assert copy.id != whole.debate.id
    assert KEY not in str(told)
    assert copy.question.material == ""
    assert SECRET in str(told)
    assert copy.decision is not None
    assert {note.kind for note in told.notes} >= {NoteKind.SAID, NoteKind.SYNTHESIS}
    replayed = await cases.replay_debate(place.boss, whole.debate.id, ReplaySpec())
    again = await cases.replay_debate(place.low, copy.id, ReplaySpec())
    assert (again.now, again.notes) == (replayed.now, replayed.notes)
    await place.hidden_from_low(whole.debate)


@pytest.mark.nightly
async def test_what_was_changed_after_it_was_asked_for_is_not_promoted(
    place: Place, embedded_database: Addresses
) -> None:
    whole = await place.debated("Is it so?", debaters=("gamma:two", "delta:two"))
    cases, house = place.house.use_cases, place.house
    approval = await cases.promote_debate(place.boss, whole.debate.id, TEAM)
    boss = replace(house.house.afresh(place.boss), context=whole.debate.context)
    async with open_pool(embedded_database.app, 1) as pool, Transactions(pool).begin(boss) as held:
        changed = "UPDATE portico.debate SET decision = NULL WHERE debate_id = %s"
        assert (await held.execute(changed, [whole.debate.id.value])).rowcount == 1

    await house.allowed(approval, house.house.afresh(house.house.root))

    assert await cases.look.page(place.low) == []
    ended = await house.house.approvals.get(house.house.root, approval)
    assert ended.error == str(LoweredOtherwise(str(whole.debate.id)))


@pytest.mark.nightly
async def test_nothing_is_promoted_upwards(place: Place) -> None:
    whole = await place.debated(
        "Is it so?", debaters=("gamma:two", "delta:two"), preset=Preset.VOTE
    )

    for label in (TOP, whole.debate.label):
        with pytest.raises(NotLower):
            await place.house.use_cases.promote_debate(place.boss, whole.debate.id, label)
