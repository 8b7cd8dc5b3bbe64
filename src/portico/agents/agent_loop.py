"""The loop of an agent: take a turn, run to the end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.agents.activation import (
    Activation,
    EagerCalls,
    StopWatch,
    Turn,
    tell_left_over,
    tell_untold,
)
from portico.agents.core.activation import (
    TURN,
    CallModel,
    CallTarget,
    End,
    Failed,
    MakeCalls,
    RunInput,
    RunState,
    TurnNoted,
    Wasted,
    answer_of,
    next_move,
    stop_topic,
    usage_of,
)
from portico.agents.core.errors import BudgetSpent
from portico.agents.core.events import (
    AgentEvent,
    InputReceived,
    RunFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_calls import Ledger, ModelOutcome, ModelResponse
from portico.agents.core.model_requests import ModelRef, ToolCall
from portico.agents.core.tool_calls import CALL, Offer, RunIdentity
from portico.agents.core.traces import AgentRunStatus, RunTrace, TraceUpdates, TurnTrace, UserInput
from portico.agents.model_calls import AskModel, PrepareQuestion
from portico.agents.ports import AgentEventSink, Toolbox, Traces
from portico.agents.tool_calls import MakeCalls as MakeTheCalls
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Bus
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.errors import Kind, PorticoError, type_name
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import join
from portico.kernel.principal import Principal

# Take one turn of a run: ask the model, and write down what it said before anybody notes that it
# was asked, so that no answer is paid for twice.

Hears = Callable[[Principal, str], object]
"""Somebody who is told what people say, as they say it."""


def deaf(_caller: Principal, _words: str) -> None:
    pass


@dataclass(slots=True)
class TurnOutcome:
    """What a turn left in memory, beside what is noted of it."""

    state: RunState
    failed: Failed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTurn:
    prepare: PrepareQuestion
    ask_model: AskModel
    traces: Traces
    event_sink: AgentEventSink
    clock: Clock
    entropy: Entropy
    hears: Hears = deaf

    async def __call__(
        self, leg: Activation, state: RunState, number: int, early: EagerCalls
    ) -> RunState:
        taken = TurnOutcome(state)

        async def action(_key: str) -> JsonValue:
            try:
                return (await self._taken(leg, taken, number, early)).as_json()
            except Exception as error:  # any error may quote what was said
                raise Discreet(_kind_of(error)) from error

        noted = TurnNoted.from_json(await leg.durable.step(f"{TURN}{number}", action))
        if number in leg.turns:
            return taken.state.after_turn(leg.turns[number], noted)
        return taken.state.without_answer(noted, _why(noted, taken, f"{TURN}{number}"))

    async def _taken(
        self, leg: Activation, taken: TurnOutcome, number: int, early: EagerCalls
    ) -> TurnNoted:
        began = self.clock.now()
        if number in leg.turns:
            return await self._written_already(leg, taken.state, leg.turns[number], early)
        state = taken.state
        heard = state.turns[-1].inputs_seen if state.turns else 0
        news = await self._news(leg, state)
        taken.state = state = state.with_input(news.said)
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

    async def _news(self, leg: Activation, state: RunState) -> TraceUpdates:
        """Whoever wrote down the last call has looked, unless somebody has called since."""
        news, leg.news = leg.news, None
        if news is not None and not leg.to_be_looked_at:
            return news
        after = len(state.said)
        return await retry_while_unavailable(
            lambda: self.traces.news(leg.writer, leg.run, after=after)
        )

    async def _begin(
        self, leg: Activation, state: RunState, number: int, new: Sequence[UserInput]
    ) -> None:
        for said in new:
            self.hears(leg.acts.caller, said.text)
        told: list[AgentEvent] = [
            InputReceived(number=s.number, text=s.text) for s in new if s.number > 1
        ]
        told.append(TurnStarted(turn=number, model=leg.given.model))
        leg.untold.extend(told)
        await tell_untold(self.event_sink, leg, state.label)

    async def _turn(self, leg: Activation, state: RunState, number: int, early: EagerCalls) -> Turn:
        return Turn(
            activation=leg,
            number=number,
            lines=await retry_while_unavailable(lambda: leg.lines(self.traces, state)),
            label=state.label,
            eager_calls=early,
            stop=StopWatch(traces=self.traces, activation=leg),
        )

    def _trace(
        self, turn: Turn, state: RunState, ledger: Ledger, answer: ModelResponse, began: datetime
    ) -> TurnTrace:
        calls = told_apart(answer.calls, turn.number, turn.activation)
        return TurnTrace(
            run=turn.activation.run,
            number=turn.number,
            model=answer.model,
            attempts=ledger.attempts,
            inputs_seen=max((said.number for said in state.said), default=0),
            text=answer.text,
            thought=answer.thought,
            calls=calls,
            stored=answer.stored if calls == answer.calls else None,
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

    async def _write(self, turn: Turn, trace: TurnTrace, answer: ModelResponse) -> TurnNoted:
        leg = turn.activation
        written = await retry_while_unavailable(lambda: self.traces.add_turn(leg.writer, trace))
        leg.turns[turn.number] = written
        noted = TurnNoted(
            aims=await self._aims(leg, answer.offer, written.calls),
            lost=turn.eager_calls.lost,
            stopped=answer.stopped,
        )
        await self._tell(leg, written, noted)
        return noted

    async def _tell(self, leg: Activation, turn: TurnTrace, noted: TurnNoted) -> None:
        ended = TurnFinished(
            turn=turn.number,
            model=turn.model,
            usage=turn.usage,
            money=turn.money,
            finish=turn.finish,
            notes=turn.notes,
        )
        made = turn.calls if turn.number < leg.given.limits.turns else ()  # the last are not made
        began = [
            ToolCallStarted(
                turn=turn.number,
                call=call.id,
                tool=call.name if aim is None else aim.tool,
                arguments=call.arguments if aim is None else aim.arguments(call),
            )
            for call, aim in zip(made, noted.aims, strict=False)
        ]
        leg.untold.extend([ended, *began])
        await tell_untold(self.event_sink, leg, turn.label)

    async def _aims(
        self, leg: Activation, offer: Offer, calls: Sequence[ToolCall]
    ) -> tuple[CallTarget | None, ...]:
        """A tool has one name in all that is told of it, also where it will be refused."""
        found: list[CallTarget | None] = []
        for call in calls:
            aim = _aim(offer, call)
            name = call.name if aim is None else aim.tool
            real = await self.prepare.toolbox.named(leg.acts, name)
            inside = aim is not None and aim.inside
            found.append(aim if real == name else CallTarget(real, inside))
        return tuple(found)

    async def _written_already(
        self, leg: Activation, state: RunState, turn: TurnTrace, early: EagerCalls
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


def _unanswered(taken: TurnOutcome, asked: ModelOutcome) -> TurnNoted:
    problem = asked.ledger.problems[0]
    taken.failed = Failed(problem.code, str(problem), problem.fix, problem.kind)
    taken.state = replace(
        taken.state,
        spending=asked.ledger.spending,
        wasted=taken.state.wasted + Wasted(asked.ledger.tokens, asked.ledger.money),
    )
    return TurnNoted(error=problem.code)


def _aim(offer: Offer, call: ToolCall) -> CallTarget | None:
    found = offer.aimed_at(call)
    if found is None:
        return None
    inside = call.name == CALL and call.name not in offer.names
    return CallTarget(found[0], inside)


def told_apart(calls: Sequence[ToolCall], turn: int, leg: Activation) -> tuple[ToolCall, ...]:
    """No two calls of a run have the same id, also where a server gives none."""
    taken = {call.id for known in leg.turns.values() for call in known.calls}
    apart: list[ToolCall] = []
    for place, call in enumerate(calls):
        own = call if call.id and call.id not in taken else replace(call, id=f"call-{turn}-{place}")
        taken.add(own.id)
        apart.append(own)
    return tuple(apart)


def _why(noted: TurnNoted, taken: TurnOutcome, step: str) -> Failed | None:
    if noted.error is None:
        return None
    kind = Kind.EXHAUSTED if noted.error == BudgetSpent.code else Kind.UNAVAILABLE
    unknown = Failed(noted.error, f"It could not go on: {noted.error}.", kind=kind)
    return replace(taken.failed or unknown, step=step)


# Carry out a run of an agent: turn by turn, until it has answered, is stopped, or has spent what it
# may. It begins anew each time it is taken up, and does nothing twice that is written down.

_FRESH: Final = timedelta(seconds=1)
"""So long it is not looked up again who acts."""

Acting = Callable[[Durable, RunInput], Awaitable[Principal]]
"""Who acts in a run, as they and its starter are now. Raises `KeyEnded`, `PrincipalDisabled`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAgent:
    take_turn: RunTurn
    make_calls: MakeTheCalls
    toolbox: Toolbox
    acting: Acting
    traces: Traces
    event_sink: AgentEventSink
    clock: Clock
    bus: Bus | None = None
    """That wakes it when somebody wants it to stop."""
    early_start: bool = True
    """Whether a read is begun while the model still speaks."""

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """How it ended, without a word of what was said. Raises `Discreet` where it failed."""
        asked = RunInput.from_json(given)
        whole = await retry_while_unavailable(lambda: self.traces.read(durable.caller, durable.run))
        leg = Activation.of(durable, asked, whole)
        await tell_left_over(self.event_sink, leg)
        if whole.run.status.over:
            return await self._told(leg, whole.run, None)
        label = join([asked.label, whole.run.label])
        state = RunState.beginning(asked.limits, label, whole)
        with self._listening(leg):
            return await self._carried_out(leg, state)

    @contextmanager
    def _listening(self, leg: Activation) -> Iterator[None]:
        if self.bus is None:
            yield
            return
        with self.bus.listen(leg.writer.space, stop_topic(leg.run)) as leg.ear:
            yield

    async def _carried_out(self, leg: Activation, state: RunState) -> JsonValue:
        while True:
            try:
                while not isinstance(move := next_move(state), End):
                    state = await self._round(leg, state, move)
            except PorticoError as error:
                move = End(AgentRunStatus.FAILED, _broken_by(error))
            ended = self._trace(leg, state, move)
            if await self._ended(leg, state, ended):
                return await self._told(leg, ended, move.failed)
            state = await self._heard(leg, state)

    async def _heard(self, leg: Activation, state: RunState) -> RunState:
        after = len(state.said)
        news = await retry_while_unavailable(
            lambda: self.traces.news(leg.writer, leg.run, after=after)
        )
        return state.with_input(news.said)

    async def _acts(self, leg: Activation) -> RunIdentity:
        """Looked up once a second at most."""
        now = self.clock.now()
        if leg.acts_since is not None and now - leg.acts_since < _FRESH:
            return leg.acts
        leg.acts_since = now
        caller = await retry_while_unavailable(lambda: self.acting(leg.durable, leg.given))
        return RunIdentity(
            durable=leg.durable, agent=leg.given.agent, caller=caller, label=leg.given.label
        )

    async def _round(
        self, leg: Activation, state: RunState, move: CallModel | MakeCalls
    ) -> RunState:
        """A turn, and the calls that the model wants in it."""
        leg.acts = await self._acts(leg)
        left = state.spending.calls_left if self.early_start else 0
        try:
            async with asyncio.TaskGroup() as group:
                early = EagerCalls(
                    toolbox=self.toolbox,
                    acts=leg.acts,
                    group=group,
                    clock=self.clock,
                    left=left,
                )
                if isinstance(move, CallModel):
                    state = await self.take_turn(leg, state, move.turn, early)
                wanted = next_move(state)
                if isinstance(wanted, MakeCalls):
                    state = await self.make_calls(leg, state, wanted, early)
                early.void()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return state

    def _trace(self, leg: Activation, state: RunState, end: End) -> RunTrace:
        turns, failed, wasted = leg.turns.values(), end.failed, state.wasted
        usage = usage_of(turns)
        return replace(
            leg.trace,
            status=end.status,
            ended_at=self.clock.now(),
            label=join([state.label, *(use.label for use in leg.uses.values())]),
            turns=len(turns),
            tool_uses=len(leg.uses),
            usage=replace(usage, input=usage.input + wasted.tokens),
            money=sum((turn.money for turn in turns), start=wasted.money),
            answer=answer_of(turns),
            error_code=None if failed is None else failed.code,
            error=None if failed is None else failed.message,
        )

    async def _ended(self, leg: Activation, state: RunState, ended: RunTrace) -> bool:
        """Not, if somebody has said something just now that an answer did not know of."""
        heard: int | None = None
        if ended.status is AgentRunStatus.COMPLETED:
            heard = state.turns[-1].inputs_seen
        return await retry_while_unavailable(
            lambda: self.traces.end(leg.writer, ended, heard=heard)
        )

    async def _told(self, leg: Activation, ended: RunTrace, failed: Failed | None) -> JsonValue:
        told = RunFinished(
            run=ended.run,
            status=ended.status,
            answer=ended.answer,
            error_code=ended.error_code,
            error=ended.error,
            fix=None if failed is None else failed.fix,
            usage=ended.usage,
            money=ended.money,
        )
        leg.untold.append(told)
        await tell_untold(self.event_sink, leg, ended.label)
        if ended.status is AgentRunStatus.FAILED:
            what = f"The agent could not go on ({ended.error_code})."
            step = failed.step if failed is not None else f"{TURN}{ended.turns + 1}"
            raise Discreet(Failure("AgentFailed", what, ended.error_code, step))
        return {
            "status": str(ended.status),
            "turns": ended.turns,
            "tool_uses": ended.tool_uses,
            "tokens": ended.usage.input + ended.usage.output,
            "money": str(ended.money),
        }


def _broken_by(error: PorticoError) -> Failed:
    step = error.failure.step if isinstance(error, StepFailed) else None
    return Failed(error.code, str(error), error.fix, error.kind, step)
