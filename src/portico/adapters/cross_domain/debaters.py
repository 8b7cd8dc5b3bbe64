"""Debaters that are models, agents or programs, and material for debates from the bridge."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Final, Protocol

from portico.adapters.cli_debaters.debaters import PREFIX as PROGRAM
from portico.adapters.cli_debaters.debaters import ProgramDebaters
from portico.agents.core.agents import Agent, AgentFilter, Limits
from portico.agents.core.budgets import WIDEST_MARGIN
from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import (
    AgentNotCleared,
    AgentNotFound,
    InvalidModelRef,
    ModelBroke,
    ModelKeyMissing,
    ModelNotCleared,
    ModelNotFound,
    ModelOverflow,
    ModelRefused,
    ModelTruncated,
    ModelUnavailable,
    ProviderNotFound,
)
from portico.agents.core.events import (
    AgentStreamItem,
    RunFinished,
    TextDelta,
    ToolCallAwaitingApproval,
)
from portico.agents.core.model_requests import (
    Finish,
    ModelAsk,
    ModelInfo,
    ModelRef,
    ResponseChunk,
    Support,
    TextChunk,
    Usage,
    UserMessage,
)
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.agents.model_calls import Hearing
from portico.agents.ports import Agents, ModelRegistry, Models, RunContexts, Traces
from portico.agents.runs import AgentRunSpec, StartedAgentRun, inside
from portico.bridge.core.memory import MemoryEntry
from portico.bridge.ports import Memory, Projects
from portico.debate.core.debaters import (
    Debater,
    DebaterKind,
    DebaterReply,
    DebaterRequest,
    DebaterStatus,
    Tariff,
)
from portico.debate.core.errors import (
    DebaterInterrupted,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterRefused,
    DebaterUnavailable,
)
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.budget import NOTHING, Cost, Tokenizer, Tokens
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import Label, join, meet
from portico.kernel.principal import Principal

# Whose errors a model shares: by its name, since the same weights are served by many.

_FAMILIES: Final = (
    ("openai", r"gpt|chatgpt|codex|davinci|o[1-9](?:-|$)"),
    ("anthropic", r"claude"),
    ("google", r"gemini|gemma|palm"),
    ("deepseek", r"deepseek"),
    ("qwen", r"qwen|qwq"),
    ("mistral", r"mistral|mixtral|ministral|codestral|magistral|devstral|pixtral"),
    ("smollm", r"smollm"),
    ("llama", r"llama|vicuna|alpaca"),
    ("microsoft", r"phi-?\d|wizardlm"),
    ("xai", r"grok"),
    ("cohere", r"command|aya"),
    ("zhipu", r"glm|chatglm"),
    ("moonshot", r"kimi|moonshot"),
    ("ibm", r"granite"),
    ("tii", r"falcon"),
    ("01-ai", r"yi-\d"),
)
_KNOWN: Final = tuple(
    (family, re.compile(rf"(?<![a-z])(?:{names})", re.IGNORECASE)) for family, names in _FAMILIES
)


def family_of(provider: str, model: str) -> str:
    """Of what nobody knows, whoever provides it. `meta-llama/Llama-3` is known by what stands
    behind the last stroke, or else by all of it."""
    for name in (model.rpartition("/")[2], model):
        for family, known in _KNOWN:
            if known.search(name):
                return family
    return provider


USUAL_OUTPUT: Final = 1_024
"""Tokens of one answer, where the model can say as much."""
_AWAY: Final = (ModelUnavailable, ModelKeyMissing, ProviderNotFound, ModelNotFound, InvalidModelRef)
_REFUSED: Final = (ModelRefused, ModelOverflow)
_BROKE: Final = (ModelBroke, ModelTruncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDebaters:
    book: ModelRegistry
    models: Models
    tokenizer: Tokenizer
    clock: Clock

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:
        """Whoever provides them and does not answer is said in the list of providers, not here."""
        known = await self.book.all(caller, fresh=fresh)
        return [DebaterStatus(debater=model_voice(each), available=True) for each in known]

    async def named(self, caller: Principal, target: str) -> Debater:
        """Raises `DebaterNotFound`, `DebaterUnavailable`."""
        try:
            return model_voice(await self.book.get(caller, ModelRef.parse(target)))
        except (InvalidModelRef, ModelNotFound, ProviderNotFound) as error:
            raise DebaterNotFound(target) from error
        except (ModelUnavailable, ModelKeyMissing) as error:
            if await self._lists_others(caller, target):
                raise DebaterNotFound(target) from error
            raise DebaterUnavailable(target, _told(error)) from error

    async def _lists_others(self, caller: Principal, target: str) -> bool:
        """Its provider answers, and has not named it: it is taken for a slip of the pen, also where
        the provider cannot say that it has no such model."""
        provider = target.partition(":")[0]
        return any(each.ref.provider == provider for each in await self.book.all(caller))

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        name = ask.debater.name
        try:
            info = await self.book.get(caller, ModelRef.parse(ask.debater.target))
        except _AWAY as error:
            raise DebaterUnavailable(name, _told(error)) from error
        if not info.clearance.covers(ask.label):
            raise DebaterNotCleared(name, ask.label)
        hearing = _Listening.to(ask, self.tokenizer, self.clock, hear)
        try:
            await self._heard(caller, _asked(info, ask), hearing)
        except TimeoutError as error:
            seconds = ask.timeout.total_seconds()
            why = f"there was no whole answer within {seconds:.0f} seconds."
            raise DebaterInterrupted(name, why, _paid(ask, hearing)) from error
        except _AWAY as error:
            paid = _paid(ask, hearing) if hearing.hearing.started else NOTHING
            raise DebaterUnavailable(name, _told(error), paid) from error
        except _REFUSED as error:
            raise DebaterRefused(name, _told(error), NOTHING) from error
        except _BROKE as error:
            raise DebaterInterrupted(name, _told(error), _paid(ask, hearing)) from error
        return _replied(ask, hearing)

    async def _heard(self, caller: Principal, ask: ModelAsk, listening: "_Listening") -> None:
        """Raises `TimeoutError`, and what asking a model raises."""
        async with (
            asyncio.timeout(ask.timeout.total_seconds()),
            aclosing(self.models.ask(caller, ask)) as pieces,
        ):
            async for piece in pieces:
                if not listening.take(piece):
                    return
        raise ModelBroke(str(ask.model), "it ended without an end.")


def model_voice(info: ModelInfo) -> Debater:
    name = str(info.ref)
    return Debater(
        name=name,
        kind=DebaterKind.MODEL,
        target=name,
        family=family_of(info.ref.provider, info.ref.name),
        max_output_tokens=min(USUAL_OUTPUT, info.max_output_tokens or USUAL_OUTPUT),
        window=info.window,
        tariff=tariff_of(info),
        clearance=info.clearance,
    )


def tariff_of(info: ModelInfo) -> Tariff | None:
    price = info.price
    return None if price is None else Tariff(input=price.input, output=price.output)


@dataclass(slots=True)
class _Listening:
    """What is heard of one answer, and of its last piece as much as was still allowed."""

    hearing: Hearing
    hear: Callable[[str], None]
    rest: str = ""

    @classmethod
    def to(
        cls, ask: DebaterRequest, tokenizer: Tokenizer, clock: Clock, hear: Callable[[str], None]
    ) -> "_Listening":
        hearing = Hearing(
            limit=ask.max_output_tokens,
            tokenizer=tokenizer,
            clock=clock,
            speaking=_Aloud(hear),
            called=_no_tools,
        )
        return cls(hearing, hear)

    def take(self, piece: ResponseChunk) -> bool:
        """Whether to go on listening."""
        its = self.hearing
        goes_on = its.take(piece)
        if its.cut and isinstance(piece, TextChunk):
            self.rest = self._fitting(piece.text)
            self.hear(self.rest)
        return goes_on

    @property
    def text(self) -> str:
        reply = self.hearing.reply
        return self.hearing.said.text + self.rest if reply is None else reply.text

    @property
    def read(self) -> int:
        """Tokens, by our count; of one that was cut off, all that it was allowed."""
        return self.hearing.limit if self.hearing.cut else self.hearing.read

    def _fitting(self, piece: str) -> str:
        """As much of it as there is still room for; each half is looked at once."""
        its, low, high = self.hearing, 0, len(piece)
        room = its.limit - its.read
        while low < high:
            middle = (low + high + 1) // 2
            if its.tokenizer.count(piece[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return piece[:low]


@dataclass(frozen=True, slots=True)
class _Aloud:
    hear: Callable[[str], None]

    def add(self, piece: str) -> None:
        self.hear(piece)

    def think(self, piece: str) -> None:
        """It is paid for, and no part of the answer."""


def _no_tools(_place: int, _call: object) -> None:
    """It was shown none."""


def _asked(info: ModelInfo, ask: DebaterRequest) -> ModelAsk:
    """Only a server that is known to hold answers to a form is given one: others refuse it, or
    take it and do as they like. What it is to be is said in words in any case."""
    return ModelAsk(
        model=info.ref,
        instructions=ask.system,
        messages=[UserMessage(ask.prompt)],
        schema=ask.schema if info.structured is Support.YES else None,
        max_output_tokens=min(
            ask.max_output_tokens, info.max_output_tokens or ask.max_output_tokens
        ),
        prompt_tokens=ask.prompt_tokens,
        timeout=ask.timeout,
    )


def _replied(ask: DebaterRequest, listening: _Listening) -> DebaterReply:
    """Raises `DebaterRefused`, `DebaterInterrupted`."""
    name, reply = ask.debater.name, listening.hearing.reply
    if reply is not None and reply.finish is Finish.FILTERED:
        why = "its server's filter let no answer through."
        raise DebaterRefused(name, why, _paid(ask, listening, reply.usage))
    if not listening.text.strip():
        why = "its answer is empty."
        raise DebaterInterrupted(
            name, why, _paid(ask, listening, None if reply is None else reply.usage)
        )
    prompt, output = _tokens(ask, listening.read, None if reply is None else reply.usage)
    return DebaterReply(
        text=listening.text,
        prompt_tokens=prompt,
        output_tokens=output,
        cost=ask.debater.cost(prompt=prompt, output=output),
        cut=reply is None or reply.finish is Finish.LENGTH,
        model=ask.debater.target if reply is None else reply.model,
        notes=() if reply is None else reply.notes,
    )


def _tokens(ask: DebaterRequest, read: int, usage: Usage | None) -> tuple[int, int]:
    """What the server says or what we counted, whichever is more, as far as it can be believed."""
    said = usage if usage is not None and usage.reported else Usage(reported=False)
    most = ask.prompt_tokens * WIDEST_MARGIN // 100
    prompt = min(max(said.input, ask.prompt_tokens), most)
    return prompt, min(max(said.output, read), ask.max_output_tokens)


def _paid(ask: DebaterRequest, listening: _Listening, usage: Usage | None = None) -> Cost:
    prompt, output = _tokens(ask, listening.read, usage)
    return ask.debater.cost(prompt=prompt, output=output)


def _told(problem: PorticoError) -> str:
    return str(problem) if problem.fix is None else f"{problem} {problem.fix}"


# Voices of a debate that are agents: each answer is a run of theirs, with their tools.
#
# The run is found again by what was asked, so that whoever carries the debate on after a crash
# waits for the same run and pays for no second one. What it has read comes back with its answer.

PREFIX: Final = "agent:"
USUAL_TOKENS: Final = 16_000
"""Of a whole run beside its question, where the agent's own limits are no less."""
_LOT: Final = 200
_TO_STOP: Final = 5.0
"""Seconds that are waited until a run is told to stop."""
_NO_MODEL: Final = (
    ModelNotFound,
    ProviderNotFound,
    InvalidModelRef,
    ModelUnavailable,
    ModelKeyMissing,
)
_UNFINISHED: Final = {AgentRunStatus.STOPPED, AgentRunStatus.CANCELLED}


class Following(Protocol):
    def __call__(
        self, caller: Principal, run: RunId, *, after: str | None = None
    ) -> AsyncGenerator[AgentStreamItem, None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDebaters:
    agents: Agents
    book: ModelRegistry
    traces: Traces
    tasks: RunContexts
    start: Callable[[Principal, AgentRunSpec], Awaitable[StartedAgentRun]]
    follow: Following
    stop: Callable[[Principal, RunId], Awaitable[None]]
    most_tokens: int = USUAL_TOKENS

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:  # noqa: ARG002 # agents are always as they are
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

    async def named(self, caller: Principal, target: str) -> Debater:
        """Raises `NotPermitted`, `DebaterNotFound`, `DebaterUnavailable`."""
        require_scope(caller, Scope.AGENTS_RUN)
        try:
            agent = await self.agents.get(caller, target.removeprefix(PREFIX))
        except AgentNotFound as error:
            raise DebaterNotFound(target) from error
        state = await self._state(caller, agent)
        if not state.available:
            raise DebaterUnavailable(target, state.why or "")
        return state.debater

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        """To be cut off, or to be too late, stops its run."""
        run = await self._run(caller, ask)
        answer = _Answer(hear)
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()):
                await self._follow(caller, run, answer)
        except TimeoutError as error:
            # what it is asking its model at this moment is in no trace yet
            await self._stop(caller, run)
            raise DebaterInterrupted(ask.debater.name, answer.too_late(ask)) from error
        except PorticoError as error:
            await self._stop(caller, run)
            raise DebaterInterrupted(ask.debater.name, _told(error)) from error
        except BaseException:
            await self._stop(caller, run)
            raise
        return await self._replied(caller, ask, run, answer)

    async def _state(self, caller: Principal, agent: Agent) -> DebaterStatus:
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
        return DebaterStatus(debater=voice, available=why is None, why=why)

    async def _run(self, caller: Principal, ask: DebaterRequest) -> RunId:
        """Raises what a voice raises that was not asked."""
        wish = _wish(ask)
        try:
            started = await self.start(caller, wish)
            while started.replayed and await self._unfinished(caller, started.run):
                again = _wish(ask, again=str(started.run))
                started = await self.start(caller, again)
        except AgentNotCleared as error:
            raise DebaterNotCleared(ask.debater.name, ask.label) from error
        except AgentNotFound as error:
            why = f"{error} Another agent, or a model, can be asked in its place."
            raise DebaterUnavailable(ask.debater.name, why) from error
        except PorticoError as error:
            raise DebaterRefused(ask.debater.name, _told(error), NOTHING) from error
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
        self, caller: Principal, ask: DebaterRequest, run: RunId, answer: "_Answer"
    ) -> DebaterReply:
        """Raises `DebaterInterrupted`, `DebaterRefused`, `DebaterNotCleared`."""
        try:
            trace = (await self.traces.read(caller, run)).run
        except PorticoError as error:
            raise DebaterInterrupted(ask.debater.name, _told(error)) from error
        cost = _cost(ask, trace)
        text = answer.text(ask, cost)
        read = await self.tasks.take_over(caller, after=inside(caller, trace))
        prompt = min(ask.prompt_tokens, cost.tokens)
        return DebaterReply(
            text=text,
            prompt_tokens=prompt,
            output_tokens=cost.tokens - prompt,
            cost=cost,
            label=read.label,
            untrusted=read.untrusted,
            model=trace.model,
        )


def agent_voice(agent: Agent, info: ModelInfo | None, most_tokens: int = USUAL_TOKENS) -> Debater:
    """What it costs at most is the whole of its run, not one answer of its model."""
    spec, (provider, _, model) = agent.spec, agent.spec.model.partition(":")
    return Debater(
        name=f"{PREFIX}{agent.name}",
        kind=DebaterKind.AGENT,
        target=agent.name,
        family=family_of(provider, model),
        max_output_tokens=min(spec.limits.tokens, most_tokens),
        tariff=None if info is None else tariff_of(info),
        clearance=spec.label if info is None else meet(spec.label, info.clearance),
    )


@dataclass(slots=True)
class _Answer:
    """What is heard of a run."""

    hear: Callable[[str], None]
    spoken: Spoken = field(default_factory=Spoken)
    waits: ToolCallAwaitingApproval | None = None
    ended: RunFinished | None = None

    def take(self, told: AgentStreamItem) -> None:
        match told.event:
            case TextDelta() as piece:
                self.spoken = self.spoken.after(piece)
                if self.spoken.fresh:
                    self.hear(self.spoken.fresh)
                self.waits = None
            case ToolCallAwaitingApproval() as waits:
                self.waits = waits
            case RunFinished() as ended:
                self.ended = ended
            case _:
                self.waits = None

    def too_late(self, ask: DebaterRequest) -> str:
        seconds = ask.timeout.total_seconds()
        if self.waits is not None:
            return (
                f"nobody approved {self.waits.tool} ({self.waits.approval}) within {seconds:.0f} "
                "seconds, which it waited for."
            )
        return f"it was not done within {seconds:.0f} seconds, and was stopped."

    def text(self, ask: DebaterRequest, cost: Cost) -> str:
        """Raises `DebaterNotCleared`, `DebaterRefused`, `DebaterInterrupted`."""
        ended, name = self.ended, ask.debater.name
        if ended is None:
            raise DebaterInterrupted(name, "its run ended without an end.", cost)
        if ended.error_code in {ModelNotCleared.code, AgentNotCleared.code}:
            raise DebaterNotCleared(name, ask.label, cost)
        if ended.status is AgentRunStatus.COMPLETED and ended.answer.strip():
            return ended.answer
        why = " ".join(filter(None, [ended.error, ended.fix])) or "it gave no answer."
        kind = DebaterRefused if ended.status is AgentRunStatus.EXHAUSTED else DebaterInterrupted
        raise kind(name, f"its run {ended.run} is {ended.status}: {why}", cost)


def _cost(ask: DebaterRequest, trace: RunTrace) -> Cost:
    """Of all of its turns; a run is never beyond its limits, whatever a server says."""
    tokens = min(trace.usage.input + trace.usage.output, ask.prompt_tokens + ask.max_output_tokens)
    return Cost(tokens=Tokens(tokens), money=trace.money, calls=1)


def _wish(ask: DebaterRequest, again: str = "") -> AgentRunSpec:
    """How long there is for it is no part of it: that is less each time it is asked again."""
    cost = ask.debater.cost(prompt=ask.prompt_tokens, output=ask.max_output_tokens)
    money = Limits().money if ask.debater.tariff is None else cost.money
    its = Limits(turns=1_000, tokens=cost.tokens, money=money, seconds=86_400.0, calls=1_000_000)
    wish = AgentRunSpec(
        agent=ask.debater.target,
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


_NEAR: Final = 3
_LIKE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AllDebaters:
    """The room's `Debaters`."""

    models: ModelDebaters
    agents: AgentDebaters
    programs: ProgramDebaters

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:
        return [
            *await self.models.all(caller, fresh=fresh),
            *await self.agents.all(caller, fresh=fresh),
            *await self.programs.all(caller, fresh=fresh),
        ]

    async def named(self, caller: Principal, target: str) -> Debater:
        """Raises `NotPermitted`, `DebaterNotFound`, `DebaterUnavailable`."""
        try:
            if target.startswith(PREFIX):
                return await self.agents.named(caller, target)
            if target.startswith(PROGRAM):
                return await self.programs.named(caller, target)
            return await self.models.named(caller, target)
        except DebaterNotFound as error:
            raise DebaterNotFound(target, await self._near(caller, target)) from error

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        match ask.debater.kind:
            case DebaterKind.MODEL:
                return await self.models.ask(caller, ask, hear)
            case DebaterKind.AGENT:
                return await self.agents.ask(caller, ask, hear)
            case DebaterKind.PROGRAM:
                return await self.programs.ask(ask, hear)
            case DebaterKind.GUEST:
                raise DebaterUnavailable(ask.debater.name, "a guest answers at their seat.")

    async def _near(self, caller: Principal, target: str) -> Sequence[str]:
        """Whom was meant, perhaps: by the whole name, or by what stands behind the provider. No
        program is started to find out."""
        states = [*await self.models.all(caller), *await self.agents.all(caller)]
        names = [each.debater.name for each in states]
        names += [f"{PROGRAM}{name}" for name in self.programs.programs]
        short = {name.partition(":")[2]: name for name in names}
        found = get_close_matches(target, names, n=_NEAR, cutoff=_LIKE)
        also = get_close_matches(target.rpartition(":")[2], short, n=_NEAR, cutoff=_LIKE)
        return [*dict.fromkeys([*found, *(short[name] for name in also)])][:_NEAR]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateMaterial:
    projects: Projects
    memory: Memory

    async def project(self, caller: Principal, which: str) -> tuple[str, Label]:
        found = await self.projects.get(caller, which)
        return str(found.id), found.label

    async def of(
        self, caller: Principal, project: str, keys: Sequence[str]
    ) -> tuple[str, Label, bool]:
        """Of each key the most secret that the caller may read: a debate about it is as secret."""
        inside = await self.projects.get(caller, project)
        found = [await self.memory.get(caller, inside.id, key) for key in dict.fromkeys(keys)]
        label = join([inside.label, *(each.label for each in found)])
        return "\n\n".join(map(_material_text, found)), label, any(each.untrusted for each in found)


def _material_text(remembered: MemoryEntry) -> str:
    value = remembered.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return f"## {remembered.key}\n\n{text}"
