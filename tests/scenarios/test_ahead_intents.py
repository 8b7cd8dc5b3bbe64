"""Whatever somebody says that they want, nothing unsafe is read ahead for it.

The same worlds, the same oracle, the real way from words to what is read: what is put together of
a past that whoever means no good has made up, of words that a stranger may have said before."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import pytest

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level, may_read
from portico.kernel.principal import Principal
from portico.learning.core.intents import Calibration, Kind
from portico.learning.core.past_plans import (
    Constant,
    FromIntent,
    Near,
    PastPlan,
    PastStep,
    Searched,
    StoredArgument,
    SuggestionRequest,
    ToolStatistics,
)
from portico.learning.core.suggestions import Mode, Suggestion
from portico.learning.suggestions import Evidence, GatherEvidence, OfferedTools, SuggestWorkflow
from portico.testing.gateway import MemoryResults
from portico.testing.guard import an_identity
from portico.testing.learning import MemorySuggestions, a_past_plan
from portico.testing.memory_store import RowRefused, SeededEntropy
from portico.workflows.core.plan import Reference
from tests.scenarios.ahead_gates_out import INTENTS_OUT
from tests.scenarios.ahead_house import AheadHouse, lived_in
from tests.scenarios.ahead_moves import MOVES, Foretold, Move, Play, foresee, go_on, in_an_intent
from tests.scenarios.ahead_oracle import Asked as Told
from tests.scenarios.ahead_scene import a_scene, as_foretold
from tests.scenarios.effect_oracle import Place, covers
from tests.scenarios.effect_world import secrecy
from tests.scenarios.test_ahead_safety import Found

SURE: Final = Calibration(slope=0.0, start=9.0)
UNSURE: Final = Calibration(slope=0.0, start=1.0)
"""Of nothing so much as it takes: 0.73."""
_LABELS: Final = (PUBLIC, PUBLIC, Label(Level.TEAM), Label(Level.RESTRICTED, frozenset({"hr"})))
_JUST_THAT: Final = 0.99
_PAST: Final = "past.plans"


@dataclass
class Intents:
    """In place of `GatherEvidence`, and around `SuggestWorkflow`."""

    play: Play
    house: AheadHouse
    said: int = 0
    ran: int = 0
    _steps: Sequence[PastStep] = ()
    _label: Label = PUBLIC

    def __post_init__(self) -> None:
        rows = self.house.rows
        for person in self.house.scene.world.people:
            rows.identities[person.space, person.id] = an_identity(person.name)
        self.suggest = SuggestWorkflow(
            gather=cast("GatherEvidence", self._gather),
            read_first=self.house.read_first,
            suggestions=MemorySuggestions(rows),
            results=MemoryResults(rows),
            contexts=self.house.contexts,
            say=self.house.watching.say,
            clock=self.house.scene.clock,
            entropy=SeededEntropy("intents"),
        )

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        """Nobody foretells but by what somebody says that they want."""
        others = {name: move for name, move in MOVES.items() if name not in {"foretell", "suggest"}}
        return {**others, "intent": (30, self.say)}

    async def say(self, play: Play) -> None:
        """One value for each step, in quotes, so that the past can say which it takes."""
        scene, dice = play.scene, play.dice
        caller = scene.as_now(play.caller())
        if (str(caller.id), caller.key) in scene.revoked:
            return
        sure = dice.random() < 0.8
        values = [in_an_intent(play, caller, anew=not sure) for _ in range(dice.randint(1, 4))]
        self._label = dice.choice(_LABELS)
        self._steps = [self._step(number) for number in range(len(values))]
        said = " and ".join(f'do it with "{value}"' for value in values)
        found = await self._suggested(caller, said, SURE if sure else UNSURE)
        self.said += 1
        if found is not None:
            self.ran += found.mode is Mode.RAN_AHEAD
            await self._look_at(caller, found, sure=sure)

    async def _suggested(
        self, caller: Principal, words: str, calibration: Calibration
    ) -> Suggestion | None:
        scene, task = self.house.scene, asyncio.current_task()
        caller = replace(caller, scopes=caller.scopes | {"tools:read"})
        scene.saying.add(task)
        try:
            return await replace(self.suggest, calibration=calibration)(caller, words)
        except (PorticoError, RowRefused):  # who may less by now than their task has read
            return None
        finally:
            scene.saying.discard(task)

    async def _gather(self, caller: Principal, intent: str, _task: Label) -> Evidence:
        """What is above a caller's clearance, the database does not give them."""
        shelf = await self.house.catalogues.offered(caller)
        kept = a_past_plan(caller, intent, label=self._label)
        plan = PastPlan(id=str(kept.id), steps=self._steps, times=5, accepted=5)
        near = [Near(plan, _JUST_THAT)] if may_read(caller.clearance, self._label) else []
        hits = {step.tool: 0.9 for step in self._steps}
        return Evidence(
            snapshot=shelf,
            asked=SuggestionRequest(intent=intent, searched=[Searched(intent, hits)], near=near),
            learned=ToolStatistics.of([it.plan for it in near]),
            offered=OfferedTools(shelf),
            communities={},
            past={str(kept.id): kept},
        )

    def _step(self, number: int) -> PastStep:
        dice = self.play.dice
        ways: dict[str, StoredArgument] = {
            "said": FromIntent(Kind.QUOTED, number),
            "value": Constant(self._value()),
        }
        if number:
            ways["step"] = Reference(f"s{number - 1}", "json.next")
        which = dice.choices(["said", "step", "value"], (5, 3 if number else 0, 2))[0]
        return PastStep(f"s{number}", str(self.play.tool()), {"path": ways[which]})

    def _value(self) -> str:
        """As secret as the plan that it stands in."""
        oracle = self.house.scene.oracle
        number = len(oracle.asked)
        learnt = Told(
            number=number,
            tool=_PAST,
            server="",
            arguments="",
            version="",
            who="",
            task="",
            moment=oracle.moment + 1,
            ahead=False,
        )
        oracle.ask(learnt, Place(_PAST, usable=True, secrecy=secrecy(self._label), trusted=True))
        return f"zqpastzq{number}zq"

    async def _look_at(self, caller: Principal, found: Suggestion, *, sure: bool) -> None:
        """Before anything that was begun for it is asked of a server."""
        scene, told = self.house.scene, json.dumps(found.as_json())
        who = scene.world.somebody(caller)
        read = secrecy((await self.house.contexts.get(caller)).label)
        scene.written.append(told)
        past = [place for place in scene.oracle.sources(told) if place.name == _PAST]
        if not all(covers(who.cleared_for, place.secrecy) for place in past):
            scene.find_wrong(f"clearance: {who} was told what is above them")
        if not all(covers(read, place.secrecy) for place in past):
            scene.find_wrong(f"shown: the task of {who} has not taken in what it was told")
        self._foresee(caller, found, sure=sure)

    def _foresee(self, caller: Principal, found: Suggestion, *, sure: bool) -> None:
        """What it reads first may be read, if it is sure enough, and nothing behind a change."""
        scene, changed = self.house.scene, False
        who = scene.world.somebody(caller)
        for step in _steps_of(found):
            ref = ToolRef.parse(str(step["tool"]))
            given = cast("JsonObject", step.get("arguments", {}))
            changed = changed or not scene.only_reads(ref)
            if not isinstance(given.get("path"), str):
                continue
            if sure:
                foresee(self.play, Foretold(caller, ref, given), staged=changed)
            else:
                why = "unsure: nobody was sure enough of it"
                scene.foretold_wrongly[as_foretold(who, str(ref), given)] = why


def _steps_of(found: Suggestion) -> Sequence[JsonObject]:
    plan = cast("Mapping[str, Sequence[JsonObject]]", found.plan or {"steps": []})
    return plan["steps"]


FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WORLDS = 17_500 if FULL_SIZE else 300
"""In each, somebody says six times what they want."""
TO_BE_CAUGHT = 2_000
STEPS = 20

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(7200 if FULL_SIZE else 300)]


async def wishes(seed: int, found: Found, **how: Any) -> None:
    house = AheadHouse(scene=a_scene(f"intents {seed}"), **how)
    async with lived_in(house):
        play = Play(house.scene, house)
        intents = Intents(play, house)
        await go_on(play, STEPS, intents.moves())
        found.look_through(house, play, seed)
        found.kinds.update(said=intents.said, suggested_and_run=intents.ran)


async def wished(worlds: int, until: str | None = None, **how: Any) -> Found:
    found = Found()
    for seed in range(worlds):
        await wishes(seed, found, **how)
        if until is not None and any(until in each for each in found.wrong):
            break
    return found


@pytest.mark.requirement("ahead:safety:intents")
async def test_whatever_is_wanted_nothing_unsafe_is_read_for_it() -> None:
    found = await wished(WORLDS)

    print(f"{WORLDS} worlds, {dict(found.kinds)}")
    assert found.wrong == []
    assert found.kinds["said"] > 4 * WORLDS
    assert min(found.kinds["suggested_and_run"], found.kinds["served"]) > WORLDS / 20


@pytest.mark.parametrize("gate", INTENTS_OUT)
@pytest.mark.planted
async def test_each_gate_of_an_intent_is_needed(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = INTENTS_OUT[gate]
    without.patch(monkeypatch)

    found = await wished(TO_BE_CAUGHT, without.found, **without.how())

    assert any(without.found in each for each in found.wrong)
