"""Debates by chance: no cap is ever passed, none goes on past its deadline, each one ends."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from portico.debate.core.debaters import DebaterKind, DebaterReply, DebaterRequest, Tariff
from portico.debate.core.debates import Debate, DebateId, GuestAnswer, NoteKind, WholeDebate
from portico.debate.core.errors import (
    BudgetTooSmall,
    DebateOver,
    DebaterInterrupted,
    DebaterRefused,
    DebaterUnavailable,
    DebaterUnbounded,
    InvalidDebate,
    NoAnswerExpected,
    NoDebaters,
)
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.engine.core.runs import Run, RunStatus
from portico.kernel.budget import Cost, Tokens
from portico.kernel.principal import Principal
from portico.testing.debate_fakes import ScriptedDebater, a_reply
from portico.testing.debates import MemoryBudgetLedger
from tests.debate.room import ANA, BEN, Room
from tests.debate.virtual_time import LoopClock, in_no_time

FOR_EVER = timedelta(days=400)
Behaviour = Callable[[DebaterRequest], Awaitable[DebaterReply]]


class WatchedPurse(MemoryBudgetLedger):
    """Looks at the caps whenever anything is written down."""

    worst: dict[DebateId, Cost]

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        passed = await super().reserve(caller, debate, name, cost)
        await self._look(caller, debate)
        return passed

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        await super().settle(caller, debate, name, cost)
        await self._look(caller, debate)

    async def _look(self, caller: Principal, debate: DebateId) -> None:
        its = self._world.debates[caller.space, debate]
        for which in {debate, its.part_of or debate}:
            now = await self.committed(caller, which)
            was = self.worst.get(which, Cost())
            self.worst[which] = Cost(
                tokens=Tokens(max(was.tokens, now.tokens)), money=max(was.money, now.money)
            )


class Chance:
    """All that is drawn for one debate."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.room = self._room()

    def _room(self) -> Room:
        voices = [self._voice(number) for number in range(self.dice.randint(2, 6))]
        room = Room(*voices, clock=LoopClock())
        purse = WatchedPurse(room.world)
        purse.worst = {}
        room.purse = purse
        room.meaning.on = self.dice.random() < 0.5
        room.assemble()
        return room

    @property
    def worst(self) -> dict[DebateId, Cost]:
        purse = self.room.purse
        assert isinstance(purse, WatchedPurse)
        return purse.worst

    def _voice(self, number: int) -> ScriptedDebater:
        dice = self.dice
        family = dice.choice("abc")
        changes: dict[str, object] = {"max_output_tokens": dice.choice([64, 200, 800])}
        if dice.random() < 0.5:
            price = Decimal(dice.randint(0, 30))
            changes["tariff"] = Tariff(input=price, output=price * 4)
        if dice.random() < 0.1:
            changes |= {"kind": DebaterKind.PROGRAM, "bounded": False}
        return ScriptedDebater(name=f"{family}:{number}", says=self._behaviour(), changes=changes)

    def _behaviour(self) -> Behaviour:
        dice = self.dice
        ways: list[Behaviour] = [
            self._answers,
            self._answers,
            self._answers,
            self._overruns,
            self._lies,
            self._stalls,
            self._crashes,
            self._babbles,
            self._is_slow,
        ]
        usual = dice.choice(ways)

        async def says(ask: DebaterRequest) -> DebaterReply:
            way = usual if dice.random() < 0.8 else dice.choice(ways)
            return await way(ask)

        return says

    async def _answers(self, ask: DebaterRequest) -> DebaterReply:
        await asyncio.sleep(self.dice.random() * 3)
        text = self._words(ask)
        return a_reply(text, prompt=ask.prompt_tokens, output=len(text.split()))

    async def _is_slow(self, ask: DebaterRequest) -> DebaterReply:
        await asyncio.sleep(self.dice.choice([5, 20, 60]))
        return await self._answers(ask)

    async def _overruns(self, ask: DebaterRequest) -> DebaterReply:
        reply = await self._answers(ask)
        much = "much " * (ask.max_output_tokens * 3)
        return replace(
            reply, text=reply.text + much, output_tokens=ask.max_output_tokens * 5, cut=True
        )

    async def _lies(self, ask: DebaterRequest) -> DebaterReply:
        reply = await self._answers(ask)
        huge = self.dice.choice([-5, 0, 10**6, 10**12])
        money = Cost(money=Decimal(self.dice.choice([0, 1000])))
        return replace(reply, prompt_tokens=huge, output_tokens=huge, cost=money)

    async def _stalls(self, ask: DebaterRequest) -> DebaterReply:
        await asyncio.sleep(FOR_EVER.total_seconds())
        raise AssertionError(ask.key)

    async def _crashes(self, ask: DebaterRequest) -> DebaterReply:
        await asyncio.sleep(self.dice.random())
        cost = Cost(tokens=Tokens(10**9), money=Decimal(10**6), calls=1)
        raise self.dice.choice(
            [
                DebaterUnavailable(ask.debater.name, "nobody answers."),
                DebaterInterrupted(ask.debater.name, "it broke off.", cost),
                DebaterRefused(ask.debater.name, "it would not."),
                RuntimeError("a fault of its adapter"),
                RecursionError(),
            ]
        )

    async def _babbles(self, ask: DebaterRequest) -> DebaterReply:
        texts = [
            "",
            "\x00",
            "{" * 500,
            '{"answer": ',
            "\ud800",
            '{"answer": "elephant"}',
            "I think.",
        ]
        return a_reply(self.dice.choice(texts), prompt=ask.prompt_tokens)

    def _words(self, ask: DebaterRequest) -> str:
        fields = (ask.schema or {}).get("properties")
        assert isinstance(fields, dict)
        drawn: dict[str, Any] = {
            "same": self.dice.random() < 0.5,
            "better": self.dice.choice(["A", "B", "tie"]),
            "text": "One text out of all of it.",
            "parts": [
                {"question": f"Is part {number} so?", "kind": self.dice.choice([*QuestionKind])}
                for number in range(self.dice.randint(0, 4))
            ],
            "answer": self._answer(fields.get("answer")),
            "rationale": "since it follows.",
            "evidence": [],
            "confidence": self.dice.choice([0.1, 0.9, 1e999, None, "90%"]),
            "veto": self.dice.choice([None, None, "it leaks."]),
            "changed_because": self.dice.choice([None, "a case was left out."]),
        }
        return json.dumps({name: drawn[name] for name in fields if name in drawn})

    def _answer(self, schema: Any) -> str:
        """One that could be counted, most of the time."""
        listed = schema.get("enum") if isinstance(schema, dict) else None
        if listed and self.dice.random() < 0.8:
            return str(self.dice.choice(listed))
        return self.dice.choice(["yes", "no", "12", "red", "Red!", "blue"])

    def wish(self) -> dict[str, Any]:
        dice = self.dice
        kind = dice.choice([*QuestionKind])
        analyze = dice.random() < 0.15
        cap = Cap(
            tokens=dice.choice([None, 900, 2_000, 5_000, 20_000]),
            money=dice.choice([None, None, Decimal("0.01"), Decimal("0.2")]),
        )
        wish: dict[str, Any] = {
            "question": "What of it?",
            "debaters": tuple(self.room.voices.debaters),
            "kind": None if analyze else kind,
            "choices": ("red", "blue") if kind is QuestionKind.CHOICE and not analyze else (),
            "preset": dice.choice([None, *Preset]),
            "thoroughness": dice.choice([0.0, 0.3, 0.5, 0.8, 1.0]),
            "cap": cap,
            "deadline": timedelta(seconds=dice.choice([1, 10, 60, 300, 3_000])),
            "unbounded": dice.random() < 0.5,
            "material": dice.choice(["", "", "word " * 800]),
            "roles": dice.choice([(), (), ("critic",), ("security", "architect+critic")]),
            "analyze": analyze,
            "guests": 0 if analyze else dice.choice([0, 0, 0, 1, 2]),
        }
        return wish

    async def held(self) -> tuple[Debate, datetime] | None:
        """To its end; None where it was not even begun."""
        try:
            debate = await self.room.begin(**self.wish())
        except (BudgetTooSmall, InvalidDebate, NoDebaters, DebaterUnbounded):
            return None
        async with asyncio.TaskGroup() as group:
            guest = group.create_task(self._guest(debate))
            resumed = await self._carried_on(debate)
            guest.cancel()
        return (await self.room.whole(debate.id)).debate, resumed

    async def _guest(self, debate: Debate) -> None:
        """Joins now and then, and answers now and then."""
        if not debate.guests or self.dice.random() < 0.4:
            return
        await asyncio.sleep(self.dice.random() * 20)
        with suppress(DebateOver, NoAnswerExpected):
            await self.room.join(BEN, debate.id)
            await asyncio.sleep(self.dice.random() * 20)
            if self.dice.random() < 0.6:
                answer = self.dice.choice(["red", "blue"])
                if debate.question.kind is QuestionKind.YES_NO:
                    answer = "yes"
                await self.room.answer(BEN, debate.id, GuestAnswer(answer=answer))

    async def _carried_on(self, debate: Debate) -> datetime:
        """By one process after another; when the last of them took it up."""
        while True:
            began = self.room.clock.now()
            run = await self._leg(debate)
            if run.status.over:
                return began
            if run.status is RunStatus.WAITING:
                await self._slept_till(run)
            else:
                await asyncio.sleep(self.dice.choice([0.1, 5, 100]))

    async def _leg(self, debate: Debate) -> Run:
        killed = self.dice.choice([None, None, None, 0.5, 3, 30])
        with suppress(TimeoutError):
            async with asyncio.timeout(killed):
                await self.room.leg(debate)
        return await self.room.runs.get(ANA, debate.run)

    async def _slept_till(self, run: Run) -> None:
        """It takes up no process; whoever signals it or its time wakes it."""
        while (now := await self.room.runs.get(ANA, run.id)).status is RunStatus.WAITING:
            assert now.wakes_at is not None
            await asyncio.sleep(1)
            self.room.runs.due(self.room.clock.now())


PROOF = bool(os.environ.get("PORTICO_PROOF"))
MANY = 10_000 if PROOF else 150
_A_MOMENT = timedelta(seconds=2)
"""In which an end is written down, and a process that was just put away is taken up again."""


def within(cost: Cost, debate: Debate) -> bool:
    cap = debate.cap
    return (cap.tokens is None or cost.tokens <= cap.tokens) and (
        cap.money is None or cost.money <= cap.money
    )


def overrun(*wholes: WholeDebate) -> bool:
    """Only by a voice that cannot be held to a maximum, where that was allowed, and it is shown."""
    wild = []
    for whole in wholes:
        free = {voice.name for voice in whole.debate.debaters if not voice.bounded}
        assert not free or whole.debate.unbounded
        assert all(note.voice in free for note in whole.notes if note.overrun)
        wild += [note for note in whole.notes if note.voice in free]
    return any(note.overrun or note.cost.money for note in wild)


async def one(seed: int) -> str:
    chance = Chance(seed)
    ended = await chance.held()
    if ended is None:
        return "refused"
    debate, taken_up = ended
    whole = await chance.room.whole(debate.id)
    notes = whole.notes
    assert debate.status.over, seed
    assert debate.ended_at is not None, seed
    assert debate.ended_at <= max(debate.deadline, taken_up) + _A_MOMENT, seed
    assert [note.kind for note in notes].count(NoteKind.DECISION) == 1, seed
    parts = [await chance.room.whole(p.id) for p in await chance.room.look.parts(ANA, debate.id)]
    for each in (whole, *parts):
        its = each.debate
        worst = chance.worst.get(its.id, Cost())
        assert within(worst, its) or overrun(whole, *parts), (seed, its.id, worst, its.cap)
        assert its.status.over, (seed, its.id)
    assert await chance.room.purse.committed(ANA, debate.id) == debate.spent, seed
    return str(debate.status)


@pytest.mark.timeout(3_600 if PROOF else 60)
def test_no_debate_passes_its_cap_or_its_deadline_whatever_voices_do() -> None:
    came_to = Counter(in_no_time(one(seed)) for seed in range(MANY))

    assert came_to.total() == MANY
    assert came_to["decided"] > MANY / 20
    assert came_to["no_decision"] > MANY / 20
    assert came_to["refused"] > 0
