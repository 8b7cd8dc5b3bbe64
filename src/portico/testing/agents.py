"""Models, tools and listeners of agents, in memory: each says what it was told to say."""

# ruff: noqa: ARG002 # a double need not look at all that it is given

import asyncio
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from portico.agents.core.agents import Agent
from portico.agents.core.errors import (
    AgentRunOver,
    ModelNotFound,
    ModelUnavailable,
    ToolNotAllowed,
)
from portico.agents.core.events import (
    AgentEvent,
    AgentStreamItem,
    ReasoningDelta,
    TextDelta,
    ToolCallFinished,
)
from portico.agents.core.model_requests import (
    FREE,
    Finish,
    ModelAsk,
    ModelInfo,
    ModelInfoSource,
    ModelRef,
    ProviderState,
    ReasoningChunk,
    Reply,
    ResponseChunk,
    Support,
    TextChunk,
    ToolCall,
    ToolCallChunk,
    ToolShown,
    Usage,
)
from portico.agents.core.tool_calls import (
    CALL,
    SEARCH,
    Early,
    Offer,
    RenderedToolResult,
    RequestedToolCall,
    RunIdentity,
)
from portico.agents.ports import Speaking
from portico.guard.core.access_request import TaintContext
from portico.guard.core.policy import NO_TASK
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, Level, join, meet
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy

SMALL = ModelRef("local", "small")
SECOND = timedelta(seconds=1)


class Words:
    """A tokenizer for which each word is one token."""

    @property
    def name(self) -> str:
        return "words"

    def count(self, text: str) -> Tokens:
        return Tokens(len(text.split()))


Answering = Callable[[ModelAsk], AsyncIterator[ResponseChunk]]
ScriptedReply = Sequence[ResponseChunk | Exception] | Exception | Answering
"""What a model does when it is asked: it says this, it fails, or it does as it likes."""


def a_reply(
    text: str = "",
    *calls: ToolCall,
    usage: Usage | None = None,
    thought: str = "",
    finish: Finish | None = None,
) -> Reply:
    return Reply(
        text=text,
        calls=calls,
        thought=thought,
        usage=usage or Usage(input=10, output=5),
        finish=finish or (Finish.CALLS if calls else Finish.STOP),
        model="small",
        first_piece=SECOND,
        took=2 * SECOND,
    )


def says(text: str, *, usage: Usage | None = None, thought: str = "") -> Sequence[ResponseChunk]:
    """Word by word."""
    words = [TextChunk(f"{word} ") for word in text.split(" ")[:-1]]
    thoughts = [ReasoningChunk(thought)] if thought else []
    last = TextChunk(text.rpartition(" ")[2])
    return [*thoughts, *words, last, a_reply(text, usage=usage, thought=thought)]


def wants(*calls: ToolCall, text: str = "", usage: Usage | None = None) -> Sequence[ResponseChunk]:
    spoken = [TextChunk(text)] if text else []
    return [*spoken, *(ToolCallChunk(call) for call in calls), a_reply(text, *calls, usage=usage)]


def a_call(name: str = "files__read", id_: str = "c1", **arguments: JsonValue) -> ToolCall:
    return ToolCall(id_, name, arguments)


class ScriptedModels:
    """Says one thing after another; whoever asks more often than it has to say is refused."""

    def __init__(self, *said: ScriptedReply) -> None:
        self._said = list(said)
        self.asks: list[ModelAsk] = []
        self.closed = 0
        """How many answers were hung up on before their end."""

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        self.asks.append(ask)
        if not self._said:
            raise ModelUnavailable(str(ask.model), "it has nothing more to say.")
        said = self._said.pop(0)
        if isinstance(said, Exception):
            raise said
        whole = False
        try:
            async for piece in _recited(said) if isinstance(said, Sequence) else said(ask):
                whole = isinstance(piece, Reply)
                yield piece
        finally:
            self.closed += not whole


async def _recited(said: Sequence[ResponseChunk | Exception]) -> AsyncIterator[ResponseChunk]:
    for piece in said:
        if isinstance(piece, Exception):
            raise piece
        yield piece


def a_model(ref: ModelRef = SMALL, **changes: object) -> ModelInfo:
    info = ModelInfo(
        ref=ref,
        window=100_000,
        tools=Support.YES,
        structured=Support.YES,
        price=FREE,
        local=True,
        clearance=Label(Level.RESTRICTED),
        told_by=ModelInfoSource.SERVER,
    )
    return replace(info, **changes)  # type: ignore[arg-type] # each by its field's name


class MemoryModelRegistry:
    def __init__(self, *models: ModelInfo) -> None:
        self.models = {info.ref: info for info in models or (a_model(),)}

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        return list(self.models.values())

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        if ref not in self.models:
            raise ModelNotFound(str(ref))
        return self.models[ref]

    async def providers(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        names = sorted({ref.provider for ref in self.models})
        return [
            ProviderState(
                name=name,
                kind="scripted",
                url="memory",
                local=True,
                clearance=Label(Level.RESTRICTED),
                reachable=True,
                models=sum(ref.provider == name for ref in self.models),
                asked_at=BEGINNING,
            )
            for name in names
        ]


Gives = Callable[[RequestedToolCall], Awaitable[str]]


@dataclass(kw_only=True)
class ScriptedTool:
    name: str
    gives: str | Exception | Gives = "done"
    effect: Effect = Effect.LOCAL_READ
    description: str = ""
    schema: JsonObject = field(default_factory=lambda: {"type": "object"})


class ScriptedToolbox:
    """Each tool gives what it was told to. What a call came to is kept by its step, as a real one
    keeps it, so that it is made once however often the run is taken up; a read that was begun
    early and never handed over is made again."""

    def __init__(self, *tools: ScriptedTool, label: Label = PUBLIC) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.label = label
        self.others: set[str] = set()
        """That there are, and this agent may not use."""
        self.made: list[RequestedToolCall] = []
        """Calls that were really made, early ones among them."""
        self.early_ones: list[RequestedToolCall] = []
        self._gave: dict[tuple[RunId, str], RenderedToolResult] = {}

    async def offered(self, acts: RunIdentity, *, words: str, most: int, tokens: int) -> Offer:
        every = [
            ToolShown(tool.name.replace(".", "__"), tool.description, tool.schema)
            for tool in self.tools.values()
        ]
        shown, searched = every[:most], len(every) > most
        if searched:
            table: JsonObject = {"type": "object"}
            ways = [ToolShown(SEARCH, "Find tools.", table), ToolShown(CALL, "Use one.", table)]
            shown = [*ways, *every[: most - 2]]
        names = {tool.name: tool.name.replace("__", ".", 1) for tool in shown if "__" in tool.name}
        return Offer(shown=shown, names=names, searched=searched)

    async def named(self, acts: RunIdentity, name: str) -> str:
        real = name.replace("__", ".", 1)
        return real if real in self.tools or real in self.others else name

    async def effect(self, acts: RunIdentity, tool: str) -> Effect:
        return self.tools[tool].effect if tool in self.tools else Effect.UNKNOWN

    async def early(self, acts: RunIdentity, wanted: RequestedToolCall) -> Early | None:
        if wanted.tool not in self.tools:
            return None
        self.early_ones.append(wanted)
        return Early(await self._given(wanted))

    async def call(
        self, acts: RunIdentity, wanted: RequestedToolCall, *, early: Early | None
    ) -> RenderedToolResult:
        async def action(_key: str) -> JsonValue:
            if acts.stopping:
                return {"text": "The run was stopped.", "failed": True, "code": AgentRunOver.code}
            given = await self._once(acts.durable.run, wanted) if early is None else early.given
            return {"text": given.text, "failed": given.failed, "code": given.code}

        match await acts.durable.step(wanted.step, action):
            case {"text": str(text), "failed": bool(failed), "code": None | str() as code}:
                return RenderedToolResult(text=text, failed=failed, code=code, label=self.label)
            case other:
                raise AssertionError(other)

    async def _once(self, run: RunId, wanted: RequestedToolCall) -> RenderedToolResult:
        place = (run, wanted.step)
        if place not in self._gave:
            self._gave[place] = await self._given(wanted)
        return self._gave[place]

    async def _given(self, wanted: RequestedToolCall) -> RenderedToolResult:
        if wanted.tool == SEARCH:
            return RenderedToolResult(text=json.dumps([*self.tools]), label=self.label)
        if wanted.tool not in self.tools:
            refused = ToolNotAllowed(wanted.tool, "agent")
            return RenderedToolResult(
                text=str(refused), failed=True, code=refused.code, label=self.label
            )
        self.made.append(wanted)
        gives = self.tools[wanted.tool].gives
        if isinstance(gives, Exception):
            return RenderedToolResult(text=str(gives), failed=True, label=self.label)
        gave = gives if isinstance(gives, str) else await gives(wanted)
        return RenderedToolResult(text=gave, label=self.label)


@dataclass(slots=True)
class _Speaking:
    tell: Callable[[AgentEvent], None]
    turn: int
    attempt: int
    said: int = 0
    thought: int = 0

    def add(self, piece: str) -> None:
        self.tell(TextDelta(turn=self.turn, attempt=self.attempt, offset=self.said, text=piece))
        self.said += len(piece)

    def think(self, piece: str) -> None:
        self.tell(
            ReasoningDelta(turn=self.turn, attempt=self.attempt, offset=self.thought, text=piece)
        )
        self.thought += len(piece)


class MemoryAgentEvents:
    """All that was told of each run, in order."""

    def __init__(self) -> None:
        self.told: dict[RunId, list[AgentEvent]] = {}
        self.labels: dict[RunId, Label] = {}
        self._news = asyncio.Condition()

    async def publish(
        self, caller: Principal, run: RunId, *happenings: AgentEvent, label: Label
    ) -> None:
        self.labels[run] = join([self.labels.get(run, PUBLIC), label])
        self.told.setdefault(run, []).extend(happenings)
        async with self._news:
            self._news.notify_all()

    @asynccontextmanager
    async def speaking(
        self, caller: Principal, run: RunId, *, turn: int, attempt: int, label: Label
    ) -> AsyncIterator[Speaking]:
        yield _Speaking(self.told.setdefault(run, []).append, turn, attempt)

    async def ended_calls(self, caller: Principal, run: RunId) -> Collection[str]:
        return {each.call for each in self.told.get(run, []) if isinstance(each, ToolCallFinished)}

    async def went_on(self, caller: Principal, run: RunId, *, after: str) -> bool:
        return len(self.told.get(run, [])) > int(after)

    async def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        place = int(after or 0)
        while True:
            told = self.told.get(run, [])
            for happening in told[place:]:
                place += 1
                yield AgentStreamItem(happening, str(place))
            async with self._news:
                while len(self.told.get(run, [])) <= place:
                    await self._news.wait()

    def texts(self, run: RunId) -> str:
        """What was said live, over all turns."""
        pieces = [each.text for each in self.told[run] if isinstance(each, TextDelta)]
        return "".join(pieces)


class MemoryTasks:
    """What has been read at each task."""

    def __init__(self, labels: Mapping[ContextId | None, Label] | None = None) -> None:
        self.labels: dict[ContextId | None, Label] = dict(labels or {})
        self.strangers: set[ContextId | None] = set()
        """Where something was read that they wrote."""
        self.taken_over: list[ContextId | None] = []
        self._entropy = SeededEntropy("tasks")

    async def open(
        self, acts_as: Principal, name: str, *, after: Principal, label: Label = PUBLIC
    ) -> ContextId:
        context = ContextId.mint(BEGINNING, self._entropy)
        self.labels[context] = join([await self.label(after), label])
        return context

    async def take_over(self, caller: Principal, *, after: Principal) -> TaintContext:
        label, untrusted = await self.label(after), after.context in self.strangers
        self.labels[caller.context] = join([await self.label(caller), label])
        if untrusted:
            self.strangers.add(caller.context)
        self.taken_over.append(after.context)
        return TaintContext(id=after.context or NO_TASK, label=label, untrusted=untrusted)

    async def label(self, caller: Principal) -> Label:
        return self.labels.get(caller.context, PUBLIC)


class MemoryIdentities:
    """Agents as principals: each is its starter, narrowed to what the agent may."""

    def __init__(self) -> None:
        self.agents: dict[object, Agent] = {}

    async def add(self, caller: Principal, agent: Agent) -> None:
        self.agents[agent.principal] = agent

    async def change(self, caller: Principal, agent: Agent) -> None:
        self.agents[agent.principal] = agent

    async def remove(self, caller: Principal, agent: Agent) -> None:
        self.agents.pop(agent.principal, None)

    async def acting(self, starter: Principal, agent: Agent) -> Principal:
        return replace(
            starter,
            id=agent.principal,
            name=agent.name,
            clearance=meet(starter.clearance, agent.spec.label),
            tools=(*starter.tools, agent.spec.tools),
        )
