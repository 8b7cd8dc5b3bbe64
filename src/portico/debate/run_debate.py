"""Carry out the run of a debate: from its notes to its end. It begins anew each time it is taken
up, and asks nobody twice for what is written down."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.debate.ask_voice import PAID
from portico.debate.core.debate import Debate, DebateId, DebateStatus, WholeDebate
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.panel import panel_of
from portico.debate.core.persona import Persona
from portico.debate.core.personas import BUILT_IN
from portico.debate.hold_debate import HoldDebate, ended_of
from portico.debate.leg import Leg, Secrecy
from portico.debate.ports import Blackboard, Logs, Personas, Purse, Talk, Tasks
from portico.debate.starter import Starter
from portico.debate.stop_watch import StopWatch
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import patiently
from portico.engine.ports import Bus
from portico.guard.authentication import AsTheyAre
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import join
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

DEBATE: Final = "debate"
"""The kind of run that the engine knows it as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp:
    """What a debate is carried on with, in this process."""

    blackboard: Blackboard
    purse: Purse
    personas: Personas
    tasks: Tasks
    talk: Talk
    logs: Logs
    bus: Bus
    as_they_are: AsTheyAre
    clock: Clock
    tokenizer: Tokenizer

    async def whole(self, durable: Durable, given: JsonObject) -> tuple[Starter, WholeDebate]:
        """As whoever started it, at the debate's own task: what they read elsewhere meanwhile is
        none of its business."""
        which = DebateId.parse(str(given["debate"]))
        found = await patiently(lambda: self.blackboard.read(durable.caller, which))
        asker = given.get("asker")
        starter = Starter(
            worker=replace(durable.caller, context=found.debate.context),
            asker=asker if isinstance(asker, dict) else {},
            as_they_are=self.as_they_are,
        )
        return starter, found

    async def leg(
        self,
        durable: Durable,
        starter: Starter,
        whole: WholeDebate,
        watch: StopWatch,
        secrecy: Secrecy | None = None,
    ) -> Leg:
        """`secrecy` is that of the analysis that it is a part of."""
        its, caller = whole.debate, starter.worker
        lost = await self._lost(caller, whole) if durable.again else frozenset()
        return Leg(
            durable=durable,
            starter=starter,
            debate=its,
            notes=whole.notes,
            panel=panel_of(its.question, (), ()),
            personas=await self.known_personas(caller),
            secrecy=secrecy or Secrecy(its.label),
            lost=lost,
            watch=watch,
            tokenizer=self.tokenizer,
        )

    async def known_personas(self, caller: Principal) -> Mapping[str, Persona]:
        own = await patiently(lambda: self.personas.all(caller))
        return {**{each.name: each for each in own}, **BUILT_IN}

    def watch(self, caller: Principal, debate: DebateId) -> StopWatch:
        async def stopped() -> bool:
            whole = await self.blackboard.read(caller, debate)
            return any(note.kind is NoteKind.STOPPED for note in whole.notes)

        return StopWatch(stopped=stopped)

    async def _lost(self, caller: Principal, whole: WholeDebate) -> frozenset[str]:
        """What was reserved by somebody who is gone. Of what they had written down only the
        settling was left to do; of the rest nobody knows what it cost, and it stays charged."""
        debate = whole.debate.id
        names = await patiently(lambda: self.purse.outstanding(caller, debate))
        costs = {note.body.get(PAID): note.cost for note in whole.notes}
        lost = set()
        for name in names:
            if name not in costs:
                lost.add(name)
            else:
                cost = costs[name]
                await patiently(
                    lambda name=name, cost=cost: self.purse.settle(caller, debate, name, cost)  # type: ignore[misc] # bound now
                )
        return frozenset(lost)

    async def written(self, caller: Principal, debate: DebateId) -> None:
        """Its log, which nothing hangs on."""
        whole = await patiently(lambda: self.blackboard.read(caller, debate))
        with suppress(OSError):
            await asyncio.to_thread(self.logs.write, caller.space, whole)

    async def failed(self, caller: Principal, debate: Debate, error: Exception) -> Discreet:
        """It ends, whatever it was; nothing here raises in its turn."""
        code = error.code if isinstance(error, PorticoError) else None
        step = error.failure.step if isinstance(error, StepFailed) else None
        with suppress(PorticoError):
            await self._ended(caller, debate, code)
        what = f"The debate could not go on ({code or type(error).__name__})."
        return Discreet(Failure("DebateFailed", what, code, step))

    async def _ended(self, caller: Principal, debate: Debate, code: str | None) -> None:
        """With a note that is as secret as all that was read in it by then: else it could not be
        ended by somebody who has read that."""
        now, mark = self.clock.now(), await patiently(lambda: self.tasks.at(caller))
        body: JsonObject = {"code": code, "why": "the debate could not go on."}
        note = Note(name="failed", kind=NoteKind.FAILED, body=body, at=now)
        label = join([debate.label, mark.label])
        with suppress(PorticoError):
            await patiently(lambda: self.blackboard.note(caller, debate.id, note, label))
        ended = await patiently(
            lambda: self.blackboard.end(caller, debate.id, DebateStatus.FAILED, None, at=now)
        )
        await patiently(
            lambda: self.talk.tell(
                caller, debate.id, ended_of(ended), label=join([label, ended.label])
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDebate:
    take_up: TakeUp
    hold: HoldDebate

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Which debate it was: what came of it is there. Raises `Discreet` where it failed."""
        starter, whole = await self.take_up.whole(durable, given)
        caller, its = starter.worker, whole.debate
        if its.status.over:
            await patiently(
                lambda: self.take_up.talk.tell(caller, its.id, ended_of(its), label=its.label)
            )
            return result_of(its)
        watch = self.take_up.watch(caller, its.id)
        async with watch.watching(self.take_up.bus, caller.space, durable.run):
            try:
                leg = await self.take_up.leg(durable, starter, whole, watch)
                ended = await self.hold(leg)
            except Exception as error:  # whatever it was, it ends
                raise await self.take_up.failed(caller, its, error) from error
        await self.take_up.written(caller, its.id)
        return result_of(ended)


def result_of(debate: Debate) -> JsonObject:
    """Nothing of how it ended: whoever may see the run may not read what came of the debate."""
    return {"debate": str(debate.id)}
