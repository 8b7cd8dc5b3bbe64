"""What several subjects of the agents need from the outside world."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from portico.agents.core.agents import Agent, AgentFilter, AgentId, AgentVersion
from portico.agents.core.events import AgentEvent, AgentStreamItem
from portico.agents.core.model_requests import (
    ModelAsk,
    ModelInfo,
    ModelRef,
    ProviderState,
    ResponseChunk,
)
from portico.agents.core.tool_calls import (
    Early,
    Offer,
    RenderedToolResult,
    RequestedToolCall,
    RunIdentity,
)
from portico.agents.core.traces import (
    AgentRunStatus,
    RunTrace,
    ToolUse,
    TraceUpdates,
    TurnTrace,
    UserInput,
    WholeTrace,
)
from portico.guard.core.access_request import TaintContext
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal


class Models(Protocol):
    """Whoever can be asked something. One question is one try: whoever asks decides about more."""

    def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        """Its last piece is the `Reply`; to close it is to hang up.

        Raises `ProviderNotFound`, `ModelNotFound`, `ModelKeyMissing`, `ModelUnavailable`,
        `ModelRefused`, `ModelBroke`, `ModelOverflow`, `ModelTruncated`.
        """
        ...


class ModelRegistry(Protocol):
    """Which models there are, as their servers say; remembered for a while."""

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        """Of whoever answers; `providers` says who does not."""
        ...

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        """Also one that its provider does not list, but answers for. Raises `ProviderNotFound`,
        `ModelNotFound`, `ModelUnavailable`."""
        ...

    async def providers(
        self, caller: Principal, *, fresh: bool = False
    ) -> Sequence[ProviderState]: ...


class Agents(Protocol):
    """The agents of a space; above the caller's clearance there are none."""

    async def add(self, caller: Principal, agent: Agent) -> None:
        """Raises `AgentNameTaken`."""
        ...

    async def get(self, caller: Principal, name: str) -> Agent:
        """By its name or its id. Raises `AgentNotFound`."""
        ...

    async def put(self, caller: Principal, agent: Agent, *, was: int) -> None:
        """As its next version. Raises `AgentNotFound`, `AgentNameTaken`, and `AgentChanged` if
        it is not at version `was` any more."""
        ...

    async def remove(self, caller: Principal, agent: AgentId) -> None:
        """With its versions; its runs stay. Raises `AgentNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        which: AgentFilter,
        *,
        after: str | None,
        limit: int,
    ) -> Sequence[Agent]:
        """By name."""
        ...

    async def versions(self, caller: Principal, agent: AgentId) -> Sequence[AgentVersion]:
        """Newest first."""
        ...


class Traces(Protocol):
    """What is written down of runs. Each method that adds does nothing the second time."""

    async def add(self, caller: Principal, run: RunTrace, said: UserInput) -> None: ...

    async def add_turn(self, caller: Principal, turn: TurnTrace) -> TurnTrace:
        """The one that is there afterwards: this one, or an earlier one of this number."""
        ...

    async def add_use(self, caller: Principal, use: ToolUse, *, after: int = 0) -> TraceUpdates:
        """The news since the message of this number, as well: they are looked for next."""
        ...

    async def say(self, caller: Principal, run: RunId, text: str, at: datetime) -> UserInput:
        """Raises `AgentRunNotFound`, `AgentRunOver`."""
        ...

    async def stop(self, caller: Principal, run: RunId, at: datetime) -> None:
        """Written down that it is to stop. Raises `AgentRunNotFound`, `AgentRunOver`."""
        ...

    async def stop_asked(self, caller: Principal, run: RunId) -> bool: ...

    async def news(self, caller: Principal, run: RunId, *, after: int) -> TraceUpdates:
        """What people have said since the message of this number, and whether it is to stop."""
        ...

    async def mark(
        self, caller: Principal, run: RunId, status: AgentRunStatus, *, label: Label
    ) -> None:
        """That it waits for people, or goes on; nothing, of one that is over."""
        ...

    async def reopen(self, caller: Principal, run: RunId) -> None:
        """One that failed, was stopped or had spent its limits is on again, as if it had not ended;
        nothing, of any other."""
        ...

    async def end(self, caller: Principal, run: RunTrace, *, heard: int | None = None) -> bool:
        """Whether it is over. If somebody has said more than `heard` messages, where that is given,
        it is not ended."""
        ...

    async def at(self, caller: Principal, context: ContextId) -> RunId | None:
        """The run whose task this is."""
        ...

    async def read(self, caller: Principal, run: RunId) -> WholeTrace:
        """Raises `AgentRunNotFound`."""
        ...


class Toolbox(Protocol):
    """The tools that an agent may use, past the guard, each call."""

    async def offered(self, acts: RunIdentity, *, words: str, most: int, tokens: int) -> Offer:
        """What its model is shown: each tool itself where they are at most `most` and fit into
        `tokens`; else a search over all of them, a way to call what it finds, and those that fit
        `words` best. The same words give the same offer for as long as the catalogue is the same.
        """
        ...

    async def named(self, acts: RunIdentity, name: str) -> str:
        """`server.tool` of a name by which models are shown tools, also of one that this agent may
        not use; any other name as it is."""
        ...

    async def effect(self, acts: RunIdentity, tool: str) -> Effect:
        """Raises `ToolNotFound`."""
        ...

    async def early(self, acts: RunIdentity, wanted: RequestedToolCall) -> Early | None:
        """Make a read now, outside of any step; None where that is not possible. It never raises
        for what the tool or the guard says: the step itself will be told the same."""
        ...

    async def call(
        self, acts: RunIdentity, wanted: RequestedToolCall, *, early: Early | None
    ) -> RenderedToolResult:
        """In a durable step of its own, named `wanted.step`; waits for people if it must, and makes
        nothing twice. A refusal is `RenderedToolResult` as a failure. Raises only what breaks the
        run."""
        ...


class RunContexts(Protocol):
    """The task contexts that runs happen in: what has been read in each."""

    async def open(
        self, acts_as: Principal, name: str, *, after: Principal, label: Label = PUBLIC
    ) -> ContextId:
        """A new one, that has read already what the task of `after` has, and something as secret
        as `label`."""
        ...

    async def take_over(self, caller: Principal, *, after: Principal) -> TaintContext:
        """The task that the caller is at has read, from now on, what that of `after` has, which is
        given."""
        ...

    async def label(self, caller: Principal) -> Label:
        """Of the task that the caller is at."""
        ...


class Identities(Protocol):
    """Agents as principals."""

    async def add(self, caller: Principal, agent: Agent) -> None:
        """Raises `AgentNameTaken`, `Overreach`."""
        ...

    async def change(self, caller: Principal, agent: Agent) -> None: ...

    async def remove(self, caller: Principal, agent: Agent) -> None:
        """It asks for nothing more."""
        ...

    async def acting(self, starter: Principal, agent: Agent) -> Principal:
        """The agent, with no more than its starter has now: scopes, clearance, tools.
        Raises `PrincipalDisabled`."""
        ...


class Speaking(Protocol):
    """A text while the model is saying it."""

    def add(self, piece: str) -> None: ...

    def think(self, piece: str) -> None: ...


class AgentEventSink(Protocol):
    """What happens in a run, told to whoever follows it; it is their own, and no other's who may
    merely see that there is a run."""

    async def publish(
        self, caller: Principal, run: RunId, *happenings: AgentEvent, label: Label
    ) -> None:
        """Several are written down at once."""
        ...

    def speaking(
        self, caller: Principal, run: RunId, *, turn: int, attempt: int, label: Label
    ) -> AbstractAsyncContextManager[Speaking]:
        """Each piece live, and the text so far kept every quarter of a second."""
        ...

    async def ended_calls(self, caller: Principal, run: RunId) -> Collection[str]:
        """The ids of those calls of which it was told that they had ended."""
        ...

    async def went_on(self, caller: Principal, run: RunId, *, after: str) -> bool:
        """Whether anything was told after that. Raises `InvalidCursor`."""
        ...

    def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        """From where one left off, until the run has ended. Pieces of text that are told twice
        have the same offset. Raises `InvalidCursor`."""
        ...


class ToolNames(Protocol):
    """What there is for an agent to be allowed."""

    async def names(self, caller: Principal) -> Sequence[str]:
        """Each tool that the caller may know of, as `server.tool`."""
        ...

    async def servers(self, caller: Principal) -> Sequence[str]:
        """Also those whose tools nobody has listed yet."""
        ...


class AgentFiles(Protocol):
    """Agents as files that people read and write."""

    def write(self, agent: JsonObject) -> str:
        """One table, long texts over several lines."""
        ...

    def read(self, text: str) -> JsonObject:
        """Raises `InvalidAgentFile`."""
        ...
