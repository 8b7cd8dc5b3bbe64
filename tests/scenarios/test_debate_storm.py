"""Debates and an analysis are carried out by servers that are killed after every step: they go on
elsewhere to the same decision, nothing that is written down is paid for again, and what was lost
between an answer and its note stays charged."""

import asyncio
import json
import os
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.scenarios.voting_models import MODELS, VotingModels, vote, voting_models
from tests.storm.conductor import AtPoint, killed_at_points
from tests.storm.debate_worker import ANSWERED, NOTED, RESERVED, SETTLED, main
from tests.storm.plan_house import PlanHouse, plan_house

CHOICES: Final = ("tabs", "spaces")
FIRST: Final = dict(zip(MODELS, ("tabs", "spaces", "tabs", "spaces"), strict=True))
"""Two against two, which no answer wins."""
CHANGES: Final = MODELS[1]
"""Finds an error in its own answer."""
_NAME: Final = re.compile(r"\[([a-z0-9-]+)\]")
"""In the question of each debate, so that one can tell whose it is."""
_PLANNING: Final = '{"parts":'
_WRITING: Final = '{"text":'
_CRITIQUE: Final = "Others have answered otherwise"
"""By which one knows what a question is for."""


@dataclass(frozen=True, slots=True)
class Asking:
    debate: str
    model: str
    text: str
    came: float

    @property
    def what(self) -> tuple[str, str]:
        """The same for the same question."""
        return self.model, self.text

    @property
    def note(self) -> str:
        """The name of the note that its answer becomes."""
        if _PLANNING in self.text:
            return "plan"
        if _WRITING in self.text:
            return "synthesis"
        return f"said:{2 if _CRITIQUE in self.text else 1}:storm:{self.model}"

    def is_about(self, debate: Mapping[str, Any]) -> bool:
        return f"Question: {debate['question']['text']}\n" in self.text


@dataclass(slots=True)
class Votes:
    """Hands each model its words, and remembers who was asked what."""

    asked: list[Asking] = field(default_factory=list)

    def __call__(self, model: str, text: str) -> str:
        found = _NAME.search(text)
        self.asked.append(Asking(found[1] if found else "", model, text, time.monotonic()))
        if _PLANNING in text:
            return _plan(found[1] if found else "")
        if _WRITING in text:
            return json.dumps({"text": "Use tabs, and an editor that shows them."})
        if _CRITIQUE in text and model == CHANGES:
            return vote("tabs", 0.9, changed_because="Spaces cannot be set by each reader.")
        return vote(FIRST[model], 0.7, f"{model} thinks so.", changed_because=None)

    def of(self, debate: str) -> Sequence[Asking]:
        return [each for each in self.asked if each.debate == debate]

    def often(self, debate: str) -> Counter[tuple[str, str]]:
        return Counter(each.what for each in self.of(debate))


def question(name: str) -> str:
    return f"[{name}] Tabs or spaces?"


def say(models: VotingModels) -> Votes:
    votes = Votes()
    models.says = votes
    return votes


def _plan(name: str) -> str:
    parts = [
        {"question": f"[{name}] {text}", "kind": "choice", "choices": list(CHOICES), "role": None}
        for text in ("What is better for people?", "What is better for machines?")
    ]
    return json.dumps({"parts": parts})


def outcome(debate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What must be the same however often it was cut off: not what it cost."""
    decision = debate["decision"]
    return {
        "status": debate["status"],
        "verdict": decision["verdict"],
        "why": decision["why"],
        "answer": _without_name(decision["answer"]),
        "probability": round(decision["probability"], 9),
        "asked": decision["asked"],
        "options": [
            (_without_name(each["answer"]), round(each["probability"], 9), sorted(each["voices"]))
            for each in decision["options"]
        ],
    }


def _without_name(text: str | None) -> str | None:
    return None if text is None else _NAME.sub("", text)


FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
POINTS = 10_000 if FULL_SIZE else 2
"""Of all that there are, evenly spread."""
PATIENCE = 120.0
CAP = 200_000

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(3600 if FULL_SIZE else 600),
]
WISHES: Mapping[str, Mapping[str, Any]] = {
    "debate": {"preset": "debate", "thoroughness": 1.0, "choices": list(CHOICES)},
    "analysis": {"analyze": True, "preset": "vote", "thoroughness": 0.2, "kind": "open"},
}
EACH = pytest.mark.parametrize("kind", sorted(WISHES))


@dataclass(frozen=True, slots=True)
class Storm:
    house: PlanHouse
    votes: Votes

    async def held(self, kind: str, name: str) -> dict[str, Any]:
        """Once it is over."""
        wish = {
            "question": question(name),
            "voices": [f"storm:{model}" for model in MODELS],
            "cap": {"tokens": CAP},
            "deadline_seconds": 600,
            **WISHES[kind],
        }
        started = await self.house.person.post(
            "/debates", json=wish, headers={"Idempotency-Key": name}
        )
        assert started.is_success, started.text
        which = started.json()["id"]
        deadline = time.monotonic() + PATIENCE
        while (found := await self.whole(which))["status"] == "running":
            assert time.monotonic() < deadline, (found, self.house.logs())
            await asyncio.sleep(0.05)
        return found

    async def whole(self, which: str) -> dict[str, Any]:
        answer = await self.house.person.get(f"/debates/{which}")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return {**found["debate"], "notes": found["notes"], "parts": found["parts"]}

    async def faults(self, name: str, found: dict[str, Any], wanted: Any) -> list[str]:
        """What is wrong with how it went, by what it says and by what the models have seen."""
        wrong = []
        if outcome(found) != wanted:
            wrong.append(f"it ended otherwise: {outcome(found)} instead of {wanted}")
        often = self.votes.often(name)
        wrong += [f"{what[0]} was asked {many} times" for what, many in often.items() if many > 2]
        parts = [await self.whole(each["id"]) for each in found.get("parts", ())]
        wrong += self._again(name, [found, *parts])
        wrong += self._charged(name, found, parts)
        return wrong

    def _again(self, name: str, debates: list[dict[str, Any]]) -> list[str]:
        """What came after the answer to it was written down: paid for twice."""
        written: dict[tuple[str, str], float] = {}
        for said in self.house.conductor.heard:
            if said["point"] == NOTED:
                written.setdefault((said["debate"], said["what"]), said["when"])
        wrong, main, asked = [], debates[0]["id"], self.votes.of(name)
        often = self.votes.often(name)
        for each in asked:
            where = next((its["id"] for its in debates if each.is_about(its)), main)
            at = written.get((where, each.note))
            # one who is killed may have written it down, and not come to say so: then nobody
            # else has asked for it before
            unsaid = at is None and often[each.what] > 1
            if unsaid or (at is not None and each.came > at):
                wrong.append(f"{each.note} was paid for twice")
        noted = sum(note["cost"]["calls"] for its in debates for note in its["notes"])
        if noted != len({each.what for each in asked}):
            wrong.append(f"{len(asked)} questions and {noted} answers")
        return wrong

    def _charged(self, name: str, found: dict[str, Any], parts: list[dict[str, Any]]) -> list[str]:
        """What was lost is charged with what was reserved for it, and no more than the cap is."""
        often = self.votes.often(name)
        lost = sum(often.values()) - len(often)
        noted = sum(note["cost"]["tokens"] for each in (found, *parts) for note in each["notes"])
        spent = found["spent"]["tokens"]
        wrong = [] if spent <= CAP else [f"{spent} tokens are spent"]
        if lost and spent <= noted:
            wrong.append(f"{lost} lost answers are not charged: {spent} spent, {noted} noted")
        return wrong


@asynccontextmanager
async def debate_storm() -> AsyncIterator[Storm]:
    with ExitStack() as around:
        models = around.enter_context(voting_models())

        def prepare(home: Path) -> None:
            with (home / "config" / "portico.toml").open("a", encoding="utf-8") as stream:
                stream.write(
                    "\n[models]\ndiscover = false\n\n[models.providers.storm]\n"
                    f'kind = "compatible"\nurl = "{models.url}"\nstructured = true\n'
                )

        async with plan_house(prepare=prepare, work=main) as house:
            yield Storm(house, say(models))


@pytest.fixture
async def storm() -> AsyncIterator[Storm]:
    async with debate_storm() as made:
        made.house.conductor.start_all()
        yield made


@EACH
@pytest.mark.nightly
@pytest.mark.requirement("debate:storm:every-step")
async def test_killed_after_any_step_it_comes_to_the_same_decision_and_pays_for_nothing_twice(
    storm: Storm, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    conductor = storm.house.conductor
    conductor.verdict = points = AtPoint()
    began = time.monotonic()
    whole = await storm.held(kind, "undisturbed")
    wanted, many = outcome(whole), len(points.seen)
    assert await storm.faults("undisturbed", whole, wanted) == []
    assert max(storm.votes.often("undisturbed").values()) == 1

    lost = Counter[str]()

    async def played(name: str) -> list[str]:
        wrong = await storm.faults(name, await storm.held(kind, name), wanted)
        often = storm.votes.often(name)
        lost[name] = sum(often.values()) - len(often)
        return wrong

    found, killed = await killed_at_points(conductor, many, POINTS, played)

    with capsys.disabled():
        print(
            f"\n{kind} of {len(storm.votes.of('undisturbed'))} calls has {many} points; killed at "
            f"{dict(killed)}; {lost.total()} answers lost before they were written down; "
            f"{len(found)} faults; {time.monotonic() - began:.0f} s"
        )
    assert found == []
    assert killed.total() - killed["never"] >= min(POINTS, 4)


@pytest.mark.requirement("debate:storm:every-step")
async def test_killed_around_a_note_only_what_was_not_written_down_is_asked_for_again(
    storm: Storm,
) -> None:
    wanted = outcome(await storm.held("debate", "undisturbed"))
    alone = f"said:1:storm:{MODELS[2]}"
    points = {RESERVED: 1, ANSWERED: 2, NOTED: 1, SETTLED: 1}
    for point, often in points.items():
        storm.house.conductor.verdict = executioner = AtPoint(point=point, what=alone)
        name = f"at-{point.replace(' ', '-')}"

        found = await storm.held("debate", name)

        assert executioner.killed is not None
        assert await storm.faults(name, found, wanted) == []
        first = next(each for each in storm.votes.of(name) if each.model == MODELS[2]).what
        assert storm.votes.often(name)[first] == often, point
        reserved = found["spent"]["tokens"] - sum(note["cost"]["tokens"] for note in found["notes"])
        assert (reserved > 0) is (point in {RESERVED, ANSWERED}), point


@pytest.mark.planted
async def test_one_that_forgets_what_is_written_down_is_caught(storm: Storm) -> None:
    """A red run: what the notes are for."""
    wanted = outcome(await storm.held("debate", "undisturbed"))
    conductor = storm.house.conductor
    conductor.replace_workers(remembers=False)
    conductor.verdict = executioner = AtPoint(point=NOTED, what=f"said:1:storm:{MODELS[0]}")

    found = await storm.faults("forgets", await storm.held("debate", "forgets"), wanted)

    assert executioner.killed is not None
    assert f"said:1:storm:{MODELS[0]} was paid for twice" in found
