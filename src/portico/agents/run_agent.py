"""Carry out a run of an agent: turn by turn, until it has answered, is stopped, or has spent what
it may. It begins anew each time it is taken up, and does nothing twice that is written down."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.agents.core.calling import Acts
from portico.agents.core.given import RunGiven, stop_topic
from portico.agents.core.happening import RunEnded
from portico.agents.core.loop import (
    AskModel,
    End,
    Failed,
    MakeCalls,
    RunState,
    answer_of,
    next_move,
    usage_of,
)
from portico.agents.core.noted import TURN
from portico.agents.core.trace import AgentRunStatus, RunTrace
from portico.agents.early_calls import EarlyCalls
from portico.agents.leg import Leg
from portico.agents.make_calls import MakeCalls as MakeTheCalls
from portico.agents.ports import Talk, Toolbox, Traces
from portico.agents.take_turn import TakeTurn
from portico.agents.tell_untold import tell_left_over, tell_untold
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import patiently
from portico.engine.ports import Bus
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import join
from portico.kernel.principal import Principal

_FRESH: Final = timedelta(seconds=1)
"""So long it is not looked up again who acts."""

Acting = Callable[[Durable, RunGiven], Awaitable[Principal]]
"""Who acts in a run, as they and its starter are now. Raises `KeyEnded`, `PrincipalDisabled`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAgent:
    take_turn: TakeTurn
    make_calls: MakeTheCalls
    toolbox: Toolbox
    acting: Acting
    traces: Traces
    talk: Talk
    clock: Clock
    bus: Bus | None = None
    """That wakes it when somebody wants it to stop."""
    early_start: bool = True
    """Whether a read is begun while the model still speaks."""

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """How it ended, without a word of what was said. Raises `Discreet` where it failed."""
        asked = RunGiven.from_json(given)
        whole = await patiently(lambda: self.traces.read(durable.caller, durable.run))
        leg = Leg.of(durable, asked, whole)
        await tell_left_over(self.talk, leg)
        if whole.run.status.over:
            return await self._told(leg, whole.run, None)
        label = join([asked.label, whole.run.label])
        state = RunState.beginning(asked.limits, label, whole)
        with self._listening(leg):
            return await self._carried_out(leg, state)

    @contextmanager
    def _listening(self, leg: Leg) -> Iterator[None]:
        if self.bus is None:
            yield
            return
        with self.bus.listen(leg.writer.space, stop_topic(leg.run)) as leg.ear:
            yield

    async def _carried_out(self, leg: Leg, state: RunState) -> JsonValue:
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

    async def _heard(self, leg: Leg, state: RunState) -> RunState:
        after = len(state.said)
        news = await patiently(lambda: self.traces.news(leg.writer, leg.run, after=after))
        return state.heard(news.said)

    async def _acts(self, leg: Leg) -> Acts:
        """Looked up once a second at most."""
        now = self.clock.now()
        if leg.acts_since is not None and now - leg.acts_since < _FRESH:
            return leg.acts
        leg.acts_since = now
        caller = await patiently(lambda: self.acting(leg.durable, leg.given))
        return Acts(
            durable=leg.durable, agent=leg.given.agent, caller=caller, label=leg.given.label
        )

    async def _round(self, leg: Leg, state: RunState, move: AskModel | MakeCalls) -> RunState:
        """A turn, and the calls that the model wants in it."""
        leg.acts = await self._acts(leg)
        left = state.spending.calls_left if self.early_start else 0
        try:
            async with asyncio.TaskGroup() as group:
                early = EarlyCalls(
                    toolbox=self.toolbox,
                    acts=leg.acts,
                    group=group,
                    clock=self.clock,
                    left=left,
                )
                if isinstance(move, AskModel):
                    state = await self.take_turn(leg, state, move.turn, early)
                wanted = next_move(state)
                if isinstance(wanted, MakeCalls):
                    state = await self.make_calls(leg, state, wanted, early)
                early.void()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return state

    def _trace(self, leg: Leg, state: RunState, end: End) -> RunTrace:
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

    async def _ended(self, leg: Leg, state: RunState, ended: RunTrace) -> bool:
        """Not, if somebody has said something just now that an answer did not know of."""
        heard: int | None = None
        if ended.status is AgentRunStatus.COMPLETED:
            heard = state.turns[-1].heard
        return await patiently(lambda: self.traces.end(leg.writer, ended, heard=heard))

    async def _told(self, leg: Leg, ended: RunTrace, failed: Failed | None) -> JsonValue:
        told = RunEnded(
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
        await tell_untold(self.talk, leg, ended.label)
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
