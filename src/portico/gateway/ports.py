"""What several subjects of the gateway need from the outside world."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.calls import (
    Call,
    CallClaim,
    CallId,
    CallStats,
    ClientCapability,
    Question,
    ResultId,
    ServerHealth,
    ServerListing,
    StoredResult,
    ToolResult,
    UpstreamTarget,
)
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.config_documents import Described
from portico.gateway.core.inferred_schema import ObservedSchema, ToolPlace
from portico.gateway.core.search_text import EmbeddingModel
from portico.gateway.core.servers import Server, ServerId, Stdio, ToolCounts
from portico.guard.core.principals import Scope
from portico.kernel.errors import FieldError, PorticoError
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal, PrincipalKind
from portico.sandbox.core.profile import Profile


class Servers(Protocol):
    """The servers that a space knows."""

    async def all(self, caller: Principal) -> Sequence[Server]:
        """By name."""
        ...

    async def get(self, caller: Principal, name: str) -> Server:
        """Raises `ServerNotFound`."""
        ...

    def changing(self, caller: Principal, name: str) -> AbstractAsyncContextManager[Server]:
        """As it is, for whoever is about to change it or its tools: nobody else does so until
        this ends, and what is written in between is written together or not at all.

        Raises `ServerNotFound`."""
        ...

    async def add(self, caller: Principal, server: Server) -> None:
        """Raises `ServerExists`."""
        ...

    async def put(self, caller: Principal, server: Server) -> None: ...

    async def remove(self, caller: Principal, server: ServerId) -> None:
        """And its tools."""
        ...


class Tools(Protocol):
    """The tools of a space's servers: as last seen, and as approved."""

    async def all(self, caller: Principal) -> Mapping[ServerId, Sequence[Tool]]: ...

    async def of(self, caller: Principal, server: Server) -> Sequence[Tool]:
        """In the order in which the server names them."""
        ...

    async def tally(self, caller: Principal) -> Mapping[ServerId, ToolCounts]:
        """Of each server that has any, without reading them."""
        ...

    async def put(self, caller: Principal, server: ServerId, tools: Sequence[Tool]) -> None:
        """These are its tools now; whatever else was there is not kept."""
        ...


class Sources(Protocol):
    """The files in which somebody describes servers: read as they are, and never written."""

    async def read(self) -> Sequence[Described]:
        """What they say now, each server once and each under a name of its own; nothing of a
        file that is not there."""
        ...

    def changes(self) -> AsyncGenerator[object, None]:
        """Comes back each time that one of them has changed."""
        ...


class ClientChannel(Protocol):
    """The way back to whoever is calling, while the call is under way."""

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        """What this caller can be asked for; a server is told of no more."""
        ...

    @property
    def log_level(self) -> str | None:
        """From which level on this caller wants lines of the server's log; None: not at all."""
        ...

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, params: JsonObject) -> None:
        """A line of the server's own log, as the protocol has it; who did not ask for it, and
        a caller that has gone, hear nothing."""
        ...

    async def ask(self, question: Question) -> JsonObject:
        """What the caller answers, which may take minutes; several may be asked at once. Raises
        `InputUnsupported`, `InputRefused`."""
        ...


class ServerConfinement(Protocol):
    """What holds the servers that are started here."""

    async def offered(self) -> bool:
        """Whether this machine has a box that stood all probes; waits while it is being tried."""
        ...

    async def lacking(self) -> bool:
        """Whether it has none at all, as opposed to one that does not work at the moment."""
        ...

    @property
    def named(self) -> Collection[str]:
        """What the configuration lets run without one, as `let_out` names it."""
        ...

    @property
    def home(self) -> str:
        """Of whoever Portico runs as; paths below it are shown with ~."""
        ...

    async def default(self, launch: Stdio) -> Profile:
        """What a server may reach beside its own program and home if nobody has said: the
        folders and places that its launch names, and the public network."""
        ...

    async def check(self, profile: Profile) -> Profile:
        """With each path as what it really is now, links followed. Raises `InvalidProfile` if one
        is not there, or leads to what is Portico's own."""
        ...


class Upstreams(Protocol):
    """The servers themselves: started when needed, never more than allowed, ended when idle.

    Everything here raises `UpstreamDown`, `UpstreamBusy` and `UpstreamTimedOut`.
    """

    async def look(self, target: UpstreamTarget) -> ServerListing:
        """Ask it for all that it offers."""
        ...

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        """A tool's own failure is an answer. Being cancelled cancels the call at the server."""
        ...

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        """The result in the protocol's own form."""
        ...

    async def get_prompt(
        self,
        target: UpstreamTarget,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject: ...

    async def complete(
        self, target: UpstreamTarget, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject: ...

    async def stop(self, space: SpaceId, server: str) -> None:
        """Whatever runs of it here; the next call starts it anew."""
        ...

    def health(self, space: SpaceId, server: str) -> ServerHealth: ...


class SchemaCheck(Protocol):
    """Whether arguments are what a schema asks for; the schema is a stranger's."""

    def field_errors(self, schema: JsonObject, arguments: JsonObject) -> Sequence[FieldError]:
        """All of them, none if it fits. Raises `SchemaRefused`."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors of length one."""

    @property
    def model(self) -> EmbeddingModel: ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text; a text without a word is a row of zeros. Raises
        `EmbedderUnavailable`."""
        ...


class Vectors(Protocol):
    """Vectors that were made before, so that none is made twice."""

    async def get(
        self, caller: Principal, model: str, keys: Sequence[str]
    ) -> Mapping[str, NDArray[np.float32]]: ...

    async def put(
        self, caller: Principal, model: str, vectors: Mapping[str, NDArray[np.float32]]
    ) -> None: ...


class CallHistory(Protocol):
    """Every call, for the record."""

    async def record_start(self, caller: Principal, call: Call) -> None:
        """Before it is made, where it may change something: should we go down in between, it
        stays there without an outcome."""
        ...

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        """As `record_start`, for one caller ever. Raises `BegunBefore`: the claim's own call was
        begun, or an earlier one of it that is not known to have failed; or its run is over, or a
        later leg of it is on, which may have begun it."""
        ...

    async def find_started(
        self, caller: Principal, claims: Sequence[CallClaim]
    ) -> Collection[CallId]:
        """Those for which `begin_once` would find it begun."""
        ...

    async def record(self, caller: Principal, call: Call) -> None:
        """What became of it. May be kept back for a moment and written with others."""
        ...

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None = None,
        ref: ToolRef | None,
        before: datetime | None,
        limit: int,
        beyond: Collection[str] = (),
    ) -> Sequence[Call]:
        """Newest first; `of` and `ref` of nothing are everybody's and every tool's. One that was
        begun by a process that went away has an uncertain outcome. Nothing that is labelled above
        the caller, and nothing of the servers `beyond`, which are so by now."""
        ...

    async def stats(
        self,
        caller: Principal,
        *,
        since: datetime,
        server: str | None,
        of: PrincipalId | None = None,
        task: ContextId | None = None,
        beyond: Collection[str] = (),
    ) -> Sequence[CallStats]:
        """One a server; with a server, one a tool of it; of what `page` would show."""
        ...


class Results(Protocol):
    """Results too long for a model, kept on our side; each only for whoever it was made for."""

    async def keep(
        self, caller: Principal, result: ResultId, kept: StoredResult, until: datetime
    ) -> None:
        """It is labelled at least as what its caller's task has taken in: it may say it again.
        What is kept under this name already stays as it is. Raises `VaultClosed`: nothing is kept
        that anybody could read."""
        ...

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> StoredResult:
        """Raises `ResultNotFound`, also where the caller is no longer cleared for it."""
        ...


class ToolUsageStore(Protocol):
    """What a principal has found and used: remembered here, because its context is not."""

    async def found(
        self, caller: Principal, refs: Sequence[ToolRef], query: str, at: datetime
    ) -> None: ...

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        """How many more times each."""
        ...

    async def known(self, caller: Principal, limit: int) -> Sequence[tuple[ToolRef, str]]:
        """What was found or used last, and for which query."""
        ...

    async def most_used(self, caller: Principal, limit: int) -> Sequence[ToolRef]:
        """A use counts half after a week."""
        ...


class Shapes(Protocol):
    """How the results of tools look. It knows of no labels: whoever asks has found the tool in
    what they may know of."""

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, ObservedSchema]) -> None:
        """Put to what is known of the same definition, or in the place of what was known of
        another. Of a server that is gone nothing is kept."""
        ...

    async def known(
        self, caller: Principal, wanted: Mapping[ToolPlace, str]
    ) -> Mapping[ToolPlace, ObservedSchema]:
        """Of each tool, if anything is known of the definition with this pin."""
        ...


async def keep_written(
    every: timedelta,
    write_down: Callable[[], Awaitable[None]],
    at_the_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Until it is cancelled; what is noted by then is still written."""
    try:
        while True:
            await asyncio.sleep(every.total_seconds())
            await write_down()
    finally:
        with suppress(PorticoError):
            await asyncio.shield((at_the_end or write_down)())


_SCOPES: Final = frozenset({Scope.SERVERS_READ, Scope.SERVERS_WRITE})
"""It never approves anything."""


_ITSELF: Final = PrincipalId(UUID(int=0))


def is_house(principal: PrincipalId) -> bool:
    return principal == _ITSELF


def house(space: SpaceId, login: PrincipalId | None = None) -> Principal:
    """With somebody's login, where a server answers nobody else."""
    return Principal(
        id=login or _ITSELF,
        space=space,
        kind=PrincipalKind.WORKER,
        name="portico",
        scopes=_SCOPES,
    )
