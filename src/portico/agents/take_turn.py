"""Take one turn of a run: ask the model, and write down what it said before anybody notes that it
was asked, so that no answer is paid for twice."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from portico.agents.ask_model import AskModel
from portico.agents.core.answer import Answer, Asked, Ledger
from portico.agents.core.calling import CALL, Offer
from portico.agents.core.errors import BudgetSpent
from portico.agents.core.happening import Happening, Heard, ToolBegan, TurnBegan, TurnEnded
from portico.agents.core.loop import Failed, RunState, Wasted
from portico.agents.core.message import ToolCall
from portico.agents.core.model import ModelRef
from portico.agents.core.noted import TURN, Aim, TurnNoted
from portico.agents.core.trace import News, PersonSaid, TurnTrace
from portico.agents.early_calls import EarlyCalls
from portico.agents.leg import Leg
from portico.agents.ports import Talk, Traces
from portico.agents.prepare_question import PrepareQuestion
from portico.agents.stop_watch import StopWatch
from portico.agents.tell_untold import tell_untold
from portico.agents.turn import Turn
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import patiently
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import Kind, PorticoError, type_name
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

Hears = Callable[[Principal, str], object]
"""Somebody who is told what people say, as they say it."""


def deaf(_caller: Principal, _words: str) -> None:
    pass


@dataclass(slots=True)
class Taken:
    """What a turn left in memory, beside what is noted of it."""

    state: RunState
    failed: Failed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeTurn:
    prepare: PrepareQuestion
    ask_model: AskModel
    traces: Traces
    talk: Talk
    clock: Clock
    entropy: Entropy
    hears: Hears = deaf

    async def __call__(self, leg: Leg, state: RunState, number: int, early: EarlyCalls) -> RunState:
        taken = Taken(state)

        async def action(_key: str) -> JsonValue:
            try:
                return (await self._taken(leg, taken, number, early)).as_json()
            except Exception as error:  # any error may quote what was said
                raise Discreet(_kind_of(error)) from error

        noted = TurnNoted.from_json(await leg.durable.step(f"{TURN}{number}", action))
        if number in leg.turns:
            return taken.state.after_turn(leg.turns[number], noted)
        return taken.state.without_answer(noted, _why(noted, taken, f"{TURN}{number}"))

    async def _taken(self, leg: Leg, taken: Taken, number: int, early: EarlyCalls) -> TurnNoted:
        began = self.clock.now()
        if number in leg.turns:
            return await self._written_already(leg, taken.state, leg.turns[number], early)
        state = taken.state
        heard = state.turns[-1].heard if state.turns else 0
        news = await self._news(leg, state)
        taken.state = state = state.heard(news.said)
        if news.stop:
            return TurnNoted(stopped=True)
        await self._begin(leg, state, number, [s for s in state.said if s.number > heard])
        turn = await self._turn(leg, state, number, early)
        ledger = Ledger(state.spending, under_way=leg.cut_off and not leg.taken)
        leg.taken.add(number)
        asked = await self.ask_model(turn, ledger)
        if asked.answer is None:
            return _unanswered(taken, asked)
        trace = self._trace(turn, state, asked.ledger, asked.answer, began)
        return await self._write(turn, trace, asked.answer)

    async def _news(self, leg: Leg, state: RunState) -> News:
        """Whoever wrote down the last call has looked, unless somebody has called since."""
        news, leg.news = leg.news, None
        if news is not None and not leg.to_be_looked_at:
            return news
        after = len(state.said)
        return await patiently(lambda: self.traces.news(leg.writer, leg.run, after=after))

    async def _begin(
        self, leg: Leg, state: RunState, number: int, new: Sequence[PersonSaid]
    ) -> None:
        for said in new:
            self.hears(leg.acts.caller, said.text)
        told: list[Happening] = [Heard(number=s.number, text=s.text) for s in new if s.number > 1]
        told.append(TurnBegan(turn=number, model=leg.given.model))
        leg.untold.extend(told)
        await tell_untold(self.talk, leg, state.label)

    async def _turn(self, leg: Leg, state: RunState, number: int, early: EarlyCalls) -> Turn:
        return Turn(
            leg=leg,
            number=number,
            lines=await patiently(lambda: leg.lines(self.traces, state)),
            label=state.label,
            early=early,
            stop=StopWatch(traces=self.traces, leg=leg),
        )

    def _trace(
        self, turn: Turn, state: RunState, ledger: Ledger, answer: Answer, began: datetime
    ) -> TurnTrace:
        calls = told_apart(answer.calls, turn.number, turn.leg)
        return TurnTrace(
            run=turn.leg.run,
            number=turn.number,
            model=answer.model,
            attempts=ledger.attempts,
            heard=max((said.number for said in state.said), default=0),
            text=answer.text,
            thought=answer.thought,
            calls=calls,
            kept=answer.kept if calls == answer.calls else None,
            usage=answer.usage,
            counted=ledger.tokens,
            money=ledger.money,
            finish=answer.finish,
            started_at=began,
            took=self.clock.now() - began,
            first_piece=None if answer.first_at is None else answer.first_at - began,
            notes=(*ledger.notes, *answer.notes),
            label=state.label,
            span_id=self.entropy(8).hex(),
        )

    async def _write(self, turn: Turn, trace: TurnTrace, answer: Answer) -> TurnNoted:
        leg = turn.leg
        written = await patiently(lambda: self.traces.add_turn(leg.writer, trace))
        leg.turns[turn.number] = written
        noted = TurnNoted(
            aims=await self._aims(leg, answer.offer, written.calls),
            lost=turn.early.lost,
            stopped=answer.stopped,
        )
        await self._tell(leg, written, noted)
        return noted

    async def _tell(self, leg: Leg, turn: TurnTrace, noted: TurnNoted) -> None:
        ended = TurnEnded(
            turn=turn.number,
            model=turn.model,
            usage=turn.usage,
            money=turn.money,
            finish=turn.finish,
            notes=turn.notes,
        )
        made = turn.calls if turn.number < leg.given.limits.turns else ()  # the last are not made
        began = [
            ToolBegan(
                turn=turn.number,
                call=call.id,
                tool=call.name if aim is None else aim.tool,
                arguments=call.arguments if aim is None else aim.arguments(call),
            )
            for call, aim in zip(made, noted.aims, strict=False)
        ]
        leg.untold.extend([ended, *began])
        await tell_untold(self.talk, leg, turn.label)

    async def _aims(
        self, leg: Leg, offer: Offer, calls: Sequence[ToolCall]
    ) -> tuple[Aim | None, ...]:
        """A tool has one name in all that is told of it, also where it will be refused."""
        found: list[Aim | None] = []
        for call in calls:
            aim = _aim(offer, call)
            name = call.name if aim is None else aim.tool
            real = await self.prepare.toolbox.named(leg.acts, name)
            inside = aim is not None and aim.inside
            found.append(aim if real == name else Aim(real, inside))
        return tuple(found)

    async def _written_already(
        self, leg: Leg, state: RunState, turn: TurnTrace, early: EarlyCalls
    ) -> TurnNoted:
        """Somebody was stopped between writing it down and noting it."""
        offer = Offer(names={})
        if turn.calls:
            known = await self._turn(leg, state, turn.number, early)
            with suppress(PorticoError):  # a name alone says enough in most cases
                offer = await self.prepare.offer(known, ModelRef.parse(turn.model))
        noted = TurnNoted(aims=await self._aims(leg, offer, turn.calls))
        await self._tell(leg, turn, noted)
        return noted


def _kind_of(error: Exception) -> Failure:
    """And no word of it: whoever may see runs may not read what they are about."""
    name = type_name(error)
    if isinstance(error, PorticoError):
        return Failure(name, f"{error.title}.", error.code)
    return Failure(name, f"{name}, and nobody knows more of it here.")


def _unanswered(taken: Taken, asked: Asked) -> TurnNoted:
    problem = asked.ledger.problems[0]
    taken.failed = Failed(problem.code, str(problem), problem.fix, problem.kind)
    taken.state = replace(
        taken.state,
        spending=asked.ledger.spending,
        wasted=taken.state.wasted + Wasted(asked.ledger.tokens, asked.ledger.money),
    )
    return TurnNoted(error=problem.code)


def _aim(offer: Offer, call: ToolCall) -> Aim | None:
    found = offer.aimed_at(call)
    if found is None:
        return None
    inside = call.name == CALL and call.name not in offer.names
    return Aim(found[0], inside)


def told_apart(calls: Sequence[ToolCall], turn: int, leg: Leg) -> tuple[ToolCall, ...]:
    """No two calls of a run have the same id, also where a server gives none."""
    taken = {call.id for known in leg.turns.values() for call in known.calls}
    apart: list[ToolCall] = []
    for place, call in enumerate(calls):
        own = call if call.id and call.id not in taken else replace(call, id=f"call-{turn}-{place}")
        taken.add(own.id)
        apart.append(own)
    return tuple(apart)


def _why(noted: TurnNoted, taken: Taken, step: str) -> Failed | None:
    if noted.error is None:
        return None
    kind = Kind.EXHAUSTED if noted.error == BudgetSpent.code else Kind.UNAVAILABLE
    unknown = Failed(noted.error, f"It could not go on: {noted.error}.", kind=kind)
    return replace(taken.failed or unknown, step=step)
