"""What is above a debater does not exist: houses that differ in nothing else tell them the same."""

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project
from portico.debate.core.debates import Debate, DebateId, DebateSpec, OutcomeSpec, ReplaySpec
from portico.debate.core.events import DebateProgress, DebateStreamItem
from portico.debate.core.questions import Cap, Preset
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.debate_fakes import ScriptedDebater
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.copies import Template
from tests.storm.bridge_bugs import Bug
from tests.storm.debate_house import DebateHouse, debate_house
from tests.storm.deck import name_of
from tests.storm.leak_oracle import plain, refusal
from tests.storm.twins import Hidden, Step, Twin
from tests.storm.walled_house import without_waiting_for_the_disk

TEAM, SECRET = Label.parse("team"), Label.parse("restricted+law")
TOP = Label.parse("restricted+finance+law")
CAP = 3_000
_HURRIED = {"time", "seconds", "at", "spent_tokens", "reserved_tokens"}
NAMES = ("alpha:one", "beta:one", "gamma:one")


def twin_voices() -> Sequence[ScriptedDebater]:
    """Who do not agree, so that it matters how they are weighed."""
    answers = ("yes", "no", "yes")
    made = [
        ScriptedDebater(name=name, answer=said) for name, said in zip(NAMES, answers, strict=True)
    ]
    for each in made:
        each.debater = replace(each.debater, clearance=TOP)
    return made


@dataclass(kw_only=True)
class DebateTwin(Twin):
    house: DebateHouse
    debates: list[Debate] = field(default_factory=list)
    hidden: list[Debate] = field(default_factory=list)

    async def move_in(self) -> None:
        bridge = self.house.house
        self.reader = await bridge.enters("reader", "team")
        self.writer = await bridge.enters("writer", "team")
        self.above = await bridge.enters("secret", str(TOP))
        self.project = await self._project("apollo")
        await self.house.doors.budget_ledger.cap_project(
            self.fresh(self.writer), str(self.project.id), Cap(tokens=CAP)
        )
        await self._remember(self.fresh(self.writer), "It is open.", TEAM)

    def hides(self, hidden: Sequence[Hidden], random: Random) -> Hidden:
        return super().hides(hidden, random) if self.hidden else hidden_debate

    async def _project(self, name: str) -> Project:
        bridge = self.house.house
        return await bridge.talk.create_project(self.fresh(self.writer), name, "", TEAM)

    async def _remember(self, by: Principal, value: str, label: Label) -> None:
        wanted = ToRemember(project=self.project.id, key="plan", value=value, label=label)
        await self.house.house.things.remember(by, wanted)

    def fresh(self, who: Principal) -> Principal:
        return self.house.house.afresh(who)

    async def held(self, who: Principal, *, apart: bool = False, **wish: Any) -> Debate:
        """In the project, or in none; with a key that opens, since that is looked at again."""
        who = await self.house.house.another_key(who, TOP)
        wished = DebateSpec(
            question="Is it so?",
            project=None if apart else str(self.project.id),
            debaters=NAMES,
            preset=Preset.VOTE,
            cap=Cap(tokens=9_000),
            **wish,
        )
        started = await self.house.use_cases.start_debate(who, wished)
        await self.house.carried_out(started.debate)
        return (await self.house.doors.blackboard.read(who, started.debate.id)).debate

    def some(self) -> DebateId:
        if not self.debates:
            return DebateId.mint(BEGINNING, SeededEntropy("nothing yet"))
        return self.low_life.choice(self.debates).id


async def debates(twin: DebateTwin) -> object:
    """Until the project's budget is spent: it has to be spent at the same moment."""
    shared = twin.low_life.random() < 0.5
    debate = await twin.held(twin.fresh(twin.reader), shared=shared)
    twin.debates.append(debate)
    return _told(debate)


async def debates_about(twin: DebateTwin) -> object:
    debate = await twin.held(twin.fresh(twin.reader), memory=("plan",))
    twin.debates.append(debate)
    return _told(debate)


async def raises_the_cap(twin: DebateTwin) -> object:
    _, spent, _ = await twin.house.doors.budget_ledger.project(twin.reader, str(twin.project.id))
    cap = Cap(tokens=spent.tokens + twin.low_life.choice([0, CAP]))
    by = twin.fresh(twin.writer)
    await twin.house.doors.budget_ledger.cap_project(by, str(twin.project.id), cap)
    return cap


async def lists(twin: DebateTwin) -> object:
    words = twin.low_life.choice([None, "so", "elephant"])
    found = await twin.house.use_cases.look.page(twin.fresh(twin.reader), words=words, limit=5)
    return [_told(each) for each in found]


async def shows(twin: DebateTwin) -> object:
    whole = await twin.house.use_cases.look.one(twin.fresh(twin.reader), twin.some())
    return [_told(whole.debate), _in_any_order(whole.notes)]


async def looks_for_what_is_hidden(twin: DebateTwin) -> object:
    """By its id, if there is one; else by one that is nobody's."""
    absent = DebateId.mint(BEGINNING, SeededEntropy("absent"))
    which = twin.hidden[-1].id if twin.hidden else absent
    cases = twin.house.use_cases
    asking: Sequence[Callable[[Principal, DebateId], Awaitable[object]]] = (
        cases.look.one,
        cases.join_debate,
    )
    ask = twin.low_life.choice(asking)
    try:
        return await ask(twin.fresh(twin.reader), which)
    except PorticoError as error:
        return json.dumps(plain(refusal(error))).replace(str(which), "what was asked for")


async def follows(twin: DebateTwin) -> object:
    following = twin.house.use_cases.follow_debate(twin.fresh(twin.reader), twin.some())
    heard: list[DebateStreamItem] = []
    async with aclosing(following) as telling:
        async for told in telling:
            heard.append(told)  # noqa: PERF401 # and closed in the end
    # How it stands after the first of two depends on which was first.
    every = [told.event for told in heard]
    return _in_any_order([each for each in every if not isinstance(each, DebateProgress)])


async def marks(twin: DebateTwin) -> object:
    wish = OutcomeSpec(answer=twin.low_life.choice(["yes", "no"]))
    return await twin.house.use_cases.mark_outcome(twin.fresh(twin.reader), twin.some(), wish)


async def replays(twin: DebateTwin) -> object:
    wish = ReplaySpec(preset=twin.low_life.choice([*Preset]))
    return await twin.house.use_cases.replay_debate(twin.fresh(twin.reader), twin.some(), wish)


async def sees_the_budget(twin: DebateTwin) -> object:
    return await twin.house.use_cases.budget.show(twin.fresh(twin.reader), twin.project.name)


async def estimates(twin: DebateTwin) -> object:
    wish = DebateSpec(question="Is it so?", project=twin.project.name, debaters=NAMES)
    return await twin.house.use_cases.estimate_debate(twin.fresh(twin.reader), wish)


async def hidden_debate(twin: DebateTwin, random: Random) -> None:
    by = twin.fresh(twin.above)
    label, apart = random.choice([SECRET, TOP]), random.random() < 0.5
    shared = not apart and random.random() < 0.5
    debate = await twin.held(by, label=label, shared=shared, apart=apart)
    twin.hidden.append(debate)


async def hidden_outcome(twin: DebateTwin, random: Random) -> None:
    """That some voices are always wrong above."""
    wish = OutcomeSpec(answer=random.choice(["no", "no", "yes"]))
    over = [debate for debate in twin.hidden if debate.status.over]
    which = random.choice(over or twin.hidden).id
    await twin.house.use_cases.mark_outcome(twin.fresh(twin.above), which, wish)


async def hidden_spending(twin: DebateTwin, random: Random) -> None:
    by = twin.fresh(twin.above)
    debate = random.choice(twin.hidden)
    cost = replace(debate.spent, calls=1)
    await twin.house.doors.budget_ledger.reserve(by, debate.id, f"{random.random()}", cost)


async def hidden_memory(twin: DebateTwin, random: Random) -> None:
    await twin._remember(twin.fresh(twin.above), f"{random.random()}", SECRET)  # of this file


async def private_debate(twin: DebateTwin, random: Random) -> None:
    """As secret as the reader may know, and somebody else's: only what it costs is theirs to see,
    and this one costs nothing."""
    wished = DebateSpec(question=f"Is it {random.random()}?", debaters=NAMES, label=TEAM)
    started = await twin.house.use_cases.start_debate(twin.fresh(twin.above), wished)
    twin.hidden.append(started.debate)


LOW_STEPS: Sequence[Step] = (
    *[debates] * 3,
    debates_about,
    raises_the_cap,
    *[lists] * 2,
    shows,
    looks_for_what_is_hidden,
    follows,
    *[marks] * 2,
    replays,
    *[sees_the_budget] * 2,
    estimates,
)
HIDDEN_STEPS: Sequence[Hidden] = (
    *[hidden_debate] * 2,
    *[hidden_outcome] * 2,
    hidden_spending,
    hidden_memory,
    private_debate,
)


def _told(debate: Debate) -> object:
    """Chance shuffles what is shown to voices, and it takes as long as the database does."""
    return _calm(plain(replace(debate, seed=0)))


def _in_any_order(things: Sequence[object]) -> object:
    """Two that are asked at once may answer in either order."""
    return sorted((_calm(plain(each)) for each in things), key=json.dumps)


def _calm(told: Any) -> Any:
    """Without what depends on who was faster."""
    match told:
        case dict():
            return {name: _calm(each) for name, each in told.items() if name not in _HURRIED}
        case list():
            return sorted((_calm(each) for each in told), key=json.dumps)
        case _:
            return told


async def debated(
    house: DebateHouse, steps: int, low_life: Random, above: Random | None
) -> DebateTwin:
    twin = DebateTwin(house=house, low_life=low_life, hidden_life=above)
    await twin.move_in()
    await twin.live(steps, LOW_STEPS, HIDDEN_STEPS, 3)
    return twin


pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(1800)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
PAIRS, STEPS = (8, 200) if FULL_SIZE else (1, 48)


async def lived(
    template: Template, seed: int, hidden: int | None, bug: Bug | None = None
) -> DebateTwin:
    above = None if hidden is None else Random(hidden)
    with template.copy() as addresses:
        without_waiting_for_the_disk(addresses)
        async with debate_house(addresses, *twin_voices()) as whole:
            house: DebateHouse = whole if bug is None else bug.in_(whole)
            return await debated(house, STEPS, Random(seed), above)


@pytest.mark.requirement("debate:leaks:twins")
async def test_what_is_hidden_changes_nothing_for_who_may_not_see_it(
    embedded_template: Template,
) -> None:
    for seed in range(PAIRS):
        alone = await lived(embedded_template, seed, None)
        below = await lived(embedded_template, seed, seed + 100)

        assert below.transcript.lines == alone.transcript.lines
        assert {name_of(step) for step in LOW_STEPS} == set(alone.steps)
        assert {name_of(step) for step in HIDDEN_STEPS} == set(below.did)
        assert below.did.total() > STEPS // 2
        assert any("budget_too_small" in line for line in alone.transcript.lines)
        assert any("decided" in line for line in alone.transcript.lines)


@pytest.mark.parametrize(
    "bug",
    [
        Bug("outcomes", ("known",)),
        Bug("blackboard", ("page",)),
        Bug("purse", ("project",)),
    ],
    ids=lambda bug: bug.door,
)
@pytest.mark.planted
async def test_a_planted_bug_is_found(embedded_template: Template, bug: Bug) -> None:
    alone = await lived(embedded_template, 0, None, bug)
    below = await lived(embedded_template, 0, 100, bug)

    assert below.transcript.lines != alone.transcript.lines
