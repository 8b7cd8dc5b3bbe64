"""Conversations: take a question."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.agents.core.conversations import Question, ResumePoint
from portico.agents.core.errors import AgentRunNotFound, AgentRunOver
from portico.agents.core.events import RunFinished
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.ports import Traces
from portico.agents.runs import AgentRunSpec, AnswerOf, StartAgentRun, SteerRun
from portico.engine.core.errors import KeyReused
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.principal import Principal

_REPEATS: Final = 8
"""How often the same question is looked for among what was asked before. Whoever asks it more
often than this hears a new answer each time, and finds no run of theirs by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedMessage:
    run: RunId
    at: datetime
    past: ApprovalId | None = None
    """Up to where it waited for this it has been told already."""
    waits: bool = False
    """Still, when it was taken up."""
    before: str = ""
    """What came meanwhile of the run that the talk left off at, if this is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeQuestion:
    start_agent_run: StartAgentRun
    steer_run: SteerRun
    answer_of: AnswerOf
    traces: Traces
    clock: Clock

    async def __call__(self, caller: Principal, question: Question) -> RoutedMessage:
        """Raises what starting a run raises, and what saying something to it does."""
        if question.left_off is None:
            return await self._asked(caller, question)
        found = await self._own(caller, question, question.left_off)
        if found is None:
            return await self._asked(caller, question)
        return await self._taken_up(caller, question, question.left_off, found)

    async def _own(
        self, caller: Principal, question: Question, left_off: ResumePoint
    ) -> RunTrace | None:
        """Only their own, of this agent: what stands in a text can have been written by anybody."""
        try:
            run = (await self.traces.read(caller, left_off.run)).run
        except AgentRunNotFound:
            return None
        own = run.started_by == caller.id and question.agent in {run.agent_name, str(run.agent)}
        return run if own else None

    async def _taken_up(
        self, caller: Principal, question: Question, left_off: ResumePoint, found: RunTrace
    ) -> RoutedMessage:
        if left_off.approval is None:
            return await self._asked(caller, question, continues=found.run)
        if question.only_goes_on:
            return self._on(found, left_off)
        if not found.status.over:
            with suppress(AgentRunOver):  # it may have ended just now
                await self.steer_run(caller, found.run, question.message)
                return self._on(found, left_off)
        taken = await self._asked(caller, question, continues=found.run)
        ended = await self.answer_of(caller, found.run, patience=timedelta(0))
        before = ended.answer if isinstance(ended, RunFinished) else ""
        return replace(taken, before=before)

    async def _asked(
        self, caller: Principal, question: Question, continues: RunId | None = None
    ) -> RoutedMessage:
        """The run of the same question that is still on, or another. One that is over has been
        heard: whoever asks the same then wants it answered anew, unless they say otherwise."""
        if question.keyed:
            return await self._started(caller, _wish(question, continues, question.key))
        for number in range(_REPEATS):
            wish = _wish(question, continues, f"{question.key}-{number}")
            try:
                started = await self.start_agent_run(caller, wish)
            except KeyReused:
                continue
            if not started.replayed or question.again or await self._on_still(caller, started.run):
                return RoutedMessage(run=started.run, at=self.clock.now())
        return await self._started(caller, _wish(question, continues, None))

    async def _started(self, caller: Principal, wish: AgentRunSpec) -> RoutedMessage:
        started = await self.start_agent_run(caller, wish)
        return RoutedMessage(run=started.run, at=self.clock.now())

    async def _on_still(self, caller: Principal, run: RunId) -> bool:
        now = await self.answer_of(caller, run, patience=timedelta(0))
        return not isinstance(now, RunFinished)

    def _on(self, found: RunTrace, left_off: ResumePoint) -> RoutedMessage:
        waits = found.status is AgentRunStatus.WAITING
        return RoutedMessage(
            run=found.run, at=self.clock.now(), past=left_off.approval, waits=waits
        )


def _wish(question: Question, continues: RunId | None, key: str | None) -> AgentRunSpec:
    """What a run continues is known to it better than the talk tells it."""
    return AgentRunSpec(
        agent=question.agent,
        message=question.message,
        history=question.history if continues is None else (),
        continues=continues,
        max_output_tokens=question.max_output_tokens,
        key=key,
    )
