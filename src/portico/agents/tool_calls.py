"""Make the calls that a model asks for."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.agents.activation import Activation, EagerCalls, tell_untold, tool_ended
from portico.agents.core.activation import CallTarget, RunState
from portico.agents.core.activation import MakeCalls as Move
from portico.agents.core.errors import BudgetSpent
from portico.agents.core.model_requests import UNREADABLE
from portico.agents.core.tool_calls import RenderedToolResult, RequestedToolCall
from portico.agents.core.traces import ToolUse
from portico.agents.ports import AgentEventSink, Toolbox, Traces
from portico.engine.execution import retry_while_unavailable
from portico.kernel.clock import Clock, Entropy
from portico.kernel.label import join

BAD_ARGUMENTS: Final = "bad_arguments"
_LONG: Final = timedelta(milliseconds=500)
"""What took longer is told at once; the rest with the beginning of the next turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeCalls:
    toolbox: Toolbox
    traces: Traces
    event_sink: AgentEventSink
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, leg: Activation, state: RunState, move: Move, early: EagerCalls
    ) -> RunState:
        """What breaks the run is raised once all of them have ended: none is cut in its middle.
        Where it is to stop, those that somebody has begun before come to their end."""
        stops = await self._to_stop(leg, move)
        if stops and move.turn.number in leg.taken:
            return state.halted()
        leg.acts = replace(leg.acts, stopping=stops)
        uses: dict[int, ToolUse] = {}
        broken: dict[int, Exception] = {}

        async def one(place: int) -> None:
            try:
                uses[place] = await self._one(leg, state, move, place, early)
            except Exception as error:  # noqa: BLE001 # else it would tear the others down
                broken[place] = error

        async with asyncio.TaskGroup() as group:
            for place in move.places:
                group.create_task(one(place))
        if broken:
            raise broken[min(broken)]
        after = state.after_uses({place: uses[place] for place in sorted(uses)})
        return after.halted() if stops else after

    async def _to_stop(self, leg: Activation, move: Move) -> bool:
        """A turn that was taken just now looked by itself; an older one may have been waiting."""
        if move.turn.number in leg.taken and not leg.to_be_looked_at:
            return False
        return await retry_while_unavailable(lambda: self.traces.stop_asked(leg.writer, leg.run))

    async def _one(
        self, leg: Activation, state: RunState, move: Move, place: int, early: EagerCalls
    ) -> ToolUse:
        known = leg.uses.get((move.turn.number, place))
        if known is not None:
            return known
        call, began = move.turn.calls[place], self.clock.now()
        wanted = _wanted(move, place)
        refused = _refused(state, wanted)
        with leg.durable.busy():
            read = None if refused is not None else await early.of(place, call)
        if read is not None:
            began = read.started
        given = refused or await self.toolbox.call(
            leg.acts, wanted, early=None if read is None else read.early
        )
        use = ToolUse(
            run=leg.run,
            turn=wanted.turn,
            position=place,
            call=call.id,
            tool=wanted.tool,
            arguments=wanted.arguments,
            text=given.text,
            failed=given.failed,
            code=given.code,
            approval=given.approval,
            early=read is not None,
            started_at=began,
            took=self.clock.now() - began,
            label=join([state.label, given.label]),
            span_id=self.entropy(8).hex(),
        )
        with leg.durable.busy():
            await self._write(leg, state, use, beside=len(move.turn.calls))
        return use

    async def _write(self, leg: Activation, state: RunState, use: ToolUse, *, beside: int) -> None:
        """Of a call beside which another is still on it is told at once: that one may have to wait
        for people, and the leg ends there."""
        after = len(state.said)
        leg.news = await retry_while_unavailable(
            lambda: self.traces.add_use(leg.writer, use, after=after)
        )
        leg.uses[use.turn, use.position] = use
        leg.untold.append(tool_ended(use))
        over = sum(turn == use.turn for turn, _ in leg.uses)
        if use.took > _LONG or over < beside:
            await tell_untold(self.event_sink, leg, use.label)


def _wanted(move: Move, place: int) -> RequestedToolCall:
    """By a name that the model was not shown, it is asked for all the same: then the guard is the
    one to refuse it, and that it was asked for is on record."""
    call = move.turn.calls[place]
    aim = move.noted.aims[place] or CallTarget(call.name)
    return RequestedToolCall(
        turn=move.turn.number,
        position=place,
        call=call,
        tool=aim.tool,
        arguments=aim.arguments(call),
    )


def _refused(state: RunState, wanted: RequestedToolCall) -> RenderedToolResult | None:
    """What is not even tried, in words for the model."""
    if UNREADABLE in wanted.arguments:
        text = "The arguments were not a JSON object. Call it again, with one."
        return RenderedToolResult(text=text, failed=True, code=BAD_ARGUMENTS, label=state.label)
    late = state.spending.time_left.total_seconds() <= 0
    if late or wanted.position >= state.spending.calls_left:
        spent = BudgetSpent(["time" if late else "calls"], "no more calls are made.")
        return RenderedToolResult(text=str(spent), failed=True, code=spent.code, label=state.label)
    return None
