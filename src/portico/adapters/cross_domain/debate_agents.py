"""Voices of a debate that are agents: each answer is a run of theirs, with their tools.

The run is found again by what was asked, so that whoever carries the debate on after a crash waits
for the same run and pays for no second one. What it has read comes back with its answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol

from portico.adapters.cross_domain.debate_families import family_of
from portico.adapters.cross_domain.debate_models import tariff_of
from portico.agents.core.agents import Agent, AgentFilter, Limits
from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import (
    AgentNotCleared,
    AgentNotFound,
    BadModelRef,
    ModelKeyMissing,
    ModelNotCleared,
    ModelNotFound,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.events import RunEnded, TextAdded, Told, ToolWaits
from portico.agents.core.model_requests import ModelInfo, ModelRef
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.ports import Agents, ModelBook, Tasks, Traces
from portico.agents.runs import AgentRunWish, StartedAgentRun, inside
from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind, VoiceReply, VoiceState
from portico.debate.core.errors import (
    VoiceAway,
    VoiceBroke,
    VoiceNotCleared,
    VoiceNotFound,
    VoiceRefused,
)
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import meet
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokens

PREFIX: Final = "agent:"
USUAL_TOKENS: Final = 16_000
"""Of a whole run beside its question, where the agent's own limits are no less."""
_LOT: Final = 200
_TO_STOP: Final = 5.0
"""Seconds that are waited until a run is told to stop."""
_NO_MODEL: Final = (ModelNotFound, ProviderNotFound, BadModelRef, ModelUnavailable, ModelKeyMissing)
_UNFINISHED: Final = {AgentRunStatus.STOPPED, AgentRunStatus.CANCELLED}


class Following(Protocol):
    def __call__(
        self, caller: Principal, run: RunId, *, after: str | None = None
    ) -> AsyncGenerator[Told, None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVoices:
    agents: Agents
    book: ModelBook
    traces: Traces
    tasks: Tasks
    start: Callable[[Principal, AgentRunWish], Awaitable[StartedAgentRun]]
    follow: Following
    stop: Callable[[Principal, RunId], Awaitable[None]]
    most_tokens: int = USUAL_TOKENS

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[VoiceState]:  # noqa: ARG002 # agents are always as they are
        """None for whoever may start none."""
        if not caller.may(Scope.AGENTS_RUN):
            return []
        found: list[Agent] = []
        after: str | None = None
        while True:
            page = await self.agents.page(caller, AgentFilter(), after=after, limit=_LOT)
            found += page
            if len(page) < _LOT:
                return [await self._state(caller, agent) for agent in found]
            after = page[-1].name

    async def named(self, caller: Principal, target: str) -> Voice:
        """Raises `NotPermitted`, `VoiceNotFound`, `VoiceAway`."""
        permit(caller, Scope.AGENTS_RUN)
        try:
            agent = await self.agents.get(caller, target.removeprefix(PREFIX))
        except AgentNotFound as error:
            raise VoiceNotFound(target) from error
        state = await self._state(caller, agent)
        if not state.available:
            raise VoiceAway(target, state.why or "")
        return state.voice

    async def ask(
        self, caller: Principal, ask: VoiceAsk, hear: Callable[[str], None]
    ) -> VoiceReply:
        """To be cut off, or to be too late, stops its run."""
        run = await self._run(caller, ask)
        answer = _Answer(hear)
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()):
                await self._follow(caller, run, answer)
        except TimeoutError as error:
            # what it is asking its model at this moment is in no trace yet
            await self._stop(caller, run)
            raise VoiceBroke(ask.voice.name, answer.too_late(ask)) from error
        except PorticoError as error:
            await self._stop(caller, run)
            raise VoiceBroke(ask.voice.name, _told(error)) from error
        except BaseException:
            await self._stop(caller, run)
            raise
        return await self._replied(caller, ask, run, answer)

    async def _state(self, caller: Principal, agent: Agent) -> VoiceState:
        """By its model: an agent whose model does not answer, or may not be told what is in its
        instructions, does not, either."""
        info, why, spec = None, None, agent.spec
        try:
            info = await self.book.get(caller, ModelRef.parse(spec.model))
        except _NO_MODEL as error:
            why = _told(error)
        if info is not None and not info.clearance.covers(spec.brings):
            why = (
                f"The agent is {spec.label}, and its model {spec.model} may know at most "
                f"{info.clearance}. Give it a model of this machine, lower its label, or raise the "
                "clearance of the model's provider."
            )
        voice = agent_voice(agent, info, self.most_tokens)
        return VoiceState(voice=voice, available=why is None, why=why)

    async def _run(self, caller: Principal, ask: VoiceAsk) -> RunId:
        """Raises what a voice raises that was not asked."""
        wish = _wish(ask)
        try:
            started = await self.start(caller, wish)
            while started.replayed and await self._unfinished(caller, started.run):
                again = _wish(ask, again=str(started.run))
                started = await self.start(caller, again)
        except AgentNotCleared as error:
            raise VoiceNotCleared(ask.voice.name, ask.label) from error
        except AgentNotFound as error:
            why = f"{error} Another agent, or a model, can be asked in its place."
            raise VoiceAway(ask.voice.name, why) from error
        except PorticoError as error:
            raise VoiceRefused(ask.voice.name, _told(error), NOTHING) from error
        return started.run

    async def _unfinished(self, caller: Principal, run: RunId) -> bool:
        """Somebody was cut off while they waited for it, and it was stopped: it has no answer."""
        return (await self.traces.read(caller, run)).run.status in _UNFINISHED

    async def _follow(self, caller: Principal, run: RunId, answer: "_Answer") -> None:
        async with aclosing(self.follow(caller, run)) as telling:
            async for told in telling:
                answer.take(told)

    async def _stop(self, caller: Principal, run: RunId) -> None:
        """It may be over already; that it goes on for a while spends no more than it may."""
        with suppress(PorticoError, TimeoutError):
            async with asyncio.timeout(_TO_STOP):
                await self.stop(caller, run)

    async def _replied(
        self, caller: Principal, ask: VoiceAsk, run: RunId, answer: "_Answer"
    ) -> VoiceReply:
        """Raises `VoiceBroke`, `VoiceRefused`, `VoiceNotCleared`."""
        try:
            trace = (await self.traces.read(caller, run)).run
        except PorticoError as error:
            raise VoiceBroke(ask.voice.name, _told(error)) from error
        cost = _cost(ask, trace)
        text = answer.text(ask, cost)
        read = await self.tasks.take_over(caller, after=inside(caller, trace))
        prompt = min(ask.prompt_tokens, cost.tokens)
        return VoiceReply(
            text=text,
            prompt_tokens=prompt,
            output_tokens=cost.tokens - prompt,
            cost=cost,
            label=read.label,
            untrusted=read.untrusted,
            model=trace.model,
        )


def agent_voice(agent: Agent, info: ModelInfo | None, most_tokens: int = USUAL_TOKENS) -> Voice:
    """What it costs at most is the whole of its run, not one answer of its model."""
    spec, (provider, _, model) = agent.spec, agent.spec.model.partition(":")
    return Voice(
        name=f"{PREFIX}{agent.name}",
        kind=VoiceKind.AGENT,
        target=agent.name,
        family=family_of(provider, model),
        most_output=min(spec.limits.tokens, most_tokens),
        tariff=None if info is None else tariff_of(info),
        clearance=spec.label if info is None else meet(spec.label, info.clearance),
    )


@dataclass(slots=True)
class _Answer:
    """What is heard of a run."""

    hear: Callable[[str], None]
    spoken: Spoken = field(default_factory=Spoken)
    waits: ToolWaits | None = None
    ended: RunEnded | None = None

    def take(self, told: Told) -> None:
        match told.happening:
            case TextAdded() as piece:
                self.spoken = self.spoken.after(piece)
                if self.spoken.fresh:
                    self.hear(self.spoken.fresh)
                self.waits = None
            case ToolWaits() as waits:
                self.waits = waits
            case RunEnded() as ended:
                self.ended = ended
            case _:
                self.waits = None

    def too_late(self, ask: VoiceAsk) -> str:
        seconds = ask.timeout.total_seconds()
        if self.waits is not None:
            return (
                f"nobody approved {self.waits.tool} ({self.waits.approval}) within {seconds:.0f} "
                "seconds, which it waited for."
            )
        return f"it was not done within {seconds:.0f} seconds, and was stopped."

    def text(self, ask: VoiceAsk, cost: Cost) -> str:
        """Raises `VoiceNotCleared`, `VoiceRefused`, `VoiceBroke`."""
        ended, name = self.ended, ask.voice.name
        if ended is None:
            raise VoiceBroke(name, "its run ended without an end.", cost)
        if ended.error_code in {ModelNotCleared.code, AgentNotCleared.code}:
            raise VoiceNotCleared(name, ask.label, cost)
        if ended.status is AgentRunStatus.COMPLETED and ended.answer.strip():
            return ended.answer
        why = " ".join(filter(None, [ended.error, ended.fix])) or "it gave no answer."
        kind = VoiceRefused if ended.status is AgentRunStatus.EXHAUSTED else VoiceBroke
        raise kind(name, f"its run {ended.run} is {ended.status}: {why}", cost)


def _cost(ask: VoiceAsk, trace: RunTrace) -> Cost:
    """Of all of its turns; a run is never beyond its limits, whatever a server says."""
    tokens = min(trace.usage.input + trace.usage.output, ask.prompt_tokens + ask.most_output)
    return Cost(tokens=Tokens(tokens), money=trace.money, calls=1)


def _wish(ask: VoiceAsk, again: str = "") -> AgentRunWish:
    """How long there is for it is no part of it: that is less each time it is asked again."""
    cost = ask.voice.cost(prompt=ask.prompt_tokens, output=ask.most_output)
    money = Limits().money if ask.voice.tariff is None else cost.money
    its = Limits(turns=1_000, tokens=cost.tokens, money=money, seconds=86_400.0, calls=1_000_000)
    wish = AgentRunWish(
        agent=ask.voice.target,
        message=f"{ask.system}\n\n{ask.prompt}",
        limits=its,
        label=ask.label,
        clearance=ask.ceiling,
    )
    limits = (  # spelled out: a renamed class must not start the same run a second time
        f"Limits(turns={its.turns}, tokens={its.tokens}, money={its.money!r}, "
        f"seconds={its.seconds}, calls={its.calls})"
    )
    what = (ask.key, wish.message, limits, wish.label, wish.clearance, again)
    digest = sha256("\0".join(map(str, what)).encode("utf-8", "surrogatepass")).hexdigest()
    return replace(wish, key=f"debate:{digest[:40]}")


def _told(problem: PorticoError) -> str:
    return str(problem) if problem.fix is None else f"{problem} {problem.fix}"
