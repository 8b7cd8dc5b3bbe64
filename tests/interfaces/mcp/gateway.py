"""A gateway whose tools do what a test says, behind the real face: on a socket, with keys."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from portico.gateway.core.calls import CallId, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import OfferNotFound, ServerNotFound, ToolNotFound
from portico.gateway.core.resources_and_prompts import Offers, whose_uri
from portico.gateway.core.surface import HotTool, fixed_tools
from portico.gateway.ports import ClientChannel
from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.http.app import LineProtocol
from portico.interfaces.http.middleware import HostGuard, allowed
from portico.interfaces.mcp.bridge.server import BridgeFace
from portico.interfaces.mcp.debate.server import DebateFace
from portico.interfaces.mcp.mount import McpFace
from portico.interfaces.mcp.request_context import GatewayUses
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal, PrincipalKind
from portico.learning.core.suggestions import Suggestion
from portico.testing.engine import MemoryBus
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan_report import WorkflowReport
from portico.workflows.core.programs import ProgramReport, ProgramSpec
from portico.workflows.runs import RunWorkflowSpec

HOME = SpaceId(UUID(int=1))
RUN = RunId(UUID(int=5))
Tool = Callable[[JsonObject, ClientChannel], Awaitable[ToolResult]]


def said(text: str, **more: Any) -> ToolResult:
    return ToolResult([{"type": "text", "text": text}], **more)


def entry(name: str, number: int) -> Entry:
    principal = Principal(
        id=PrincipalId(UUID(int=number)), space=HOME, kind=PrincipalKind.PERSON, name=name
    )
    return Entry(principal, name)


@dataclass
class Gateway:
    """Stands where the use cases are."""

    tools: dict[str, Tool] = field(default_factory=dict)
    """Of the only server, `box`."""
    keys: dict[str, Entry] = field(
        default_factory=lambda: {"ana": entry("ana", 1), "bob": entry("bob", 2)}
    )
    hot: list[HotTool] = field(default_factory=list)
    schemas: dict[str, JsonObject] = field(default_factory=dict)
    promises: dict[str, JsonObject] = field(default_factory=dict)
    """The forms of what tools give."""
    offers: Offers = field(default_factory=lambda: Offers([], [], []))
    prompts: dict[str, Callable[[Mapping[str, str], ClientChannel], Awaitable[JsonObject]]] = field(
        default_factory=dict
    )
    resources: dict[str, JsonObject] = field(default_factory=dict)
    reports: list[WorkflowReport | ProgramReport | PorticoError] = field(default_factory=list)
    suggestions: list[Suggestion] = field(default_factory=list)
    """What whoever waits is told, one after the other; the last one for good."""
    asked: list[Any] = field(default_factory=list)
    bus: MemoryBus = field(default_factory=MemoryBus)

    def uses(self) -> GatewayUses:
        made = {
            "authenticate": self._authenticate,
            "enter_context": self._enter_context,
            "show_surface": self._surface,
            "list_server_tools": self._server_tools,
            "find_tools": self._find,
            "describe_tools": self._describe,
            "call_tool": self._call,
            "read_result": self._read_result,
            "read_approved": self._read_approved,
            "list_offers": self._offers,
            "read_resource": self._read_resource,
            "get_prompt": self._get_prompt,
            "complete": self._complete,
            "workflows": SimpleNamespace(
                run_workflow=self._run_workflow,
                suggest_workflow=self._suggest_workflow,
                give_feedback=self._give_feedback,
                wait_for_workflow=self._wait_for_workflow,
                start_program=self._start_program,
                wait_for_program=self._wait_for_program,
                wait_timeout=timedelta(seconds=50),
            ),
            "changes": lambda space: self.bus.listen(space, "catalogue"),
            "version": "1.2.3",
        }
        return GatewayUses(**cast("Any", made))

    async def _authenticate(self, shown: str) -> Entry:
        if shown not in self.keys:
            raise NotAuthenticated
        return self.keys[shown]

    async def _enter_context(self, caller: Principal, context: ContextId) -> Principal:
        return replace(caller, context=context)

    async def _surface(self, caller: Principal) -> object:
        hot = list(self.hot)
        refs = {each.name: each.ref for each in hot}
        listed = [*fixed_tools("Find tools."), *(each.listed() for each in hot)]
        return SimpleNamespace(hot=hot, tools=listed, hot_ref=refs.get)

    async def _server_tools(self, _caller: Principal, server: str) -> object:
        if server != "box":
            raise ServerNotFound(server)
        tools = [
            {
                "name": name,
                "inputSchema": self.schemas.get(name, {"type": "object"}),
                **({"outputSchema": self.promises[name]} if name in self.promises else {}),
            }
            for name in self.tools
        ]
        return SimpleNamespace(tools=tools, said="Only boxes.", schema=self.schemas.get)

    async def _find(
        self, caller: Principal, queries: Sequence[str], *, budget: int | None
    ) -> object:
        self.asked.append(("find", caller.name, list(queries), budget))
        return SimpleNamespace(text="found box.echo")

    async def _describe(
        self, caller: Principal, names: Sequence[str], *, budget: int | None
    ) -> object:
        self.asked.append(("describe", caller.name, list(names), budget))
        return SimpleNamespace(text="box.echo takes text")

    async def _read_result(self, caller: Principal, result: object, *, page: int) -> object:
        self.asked.append(("read", caller.name, str(result), page))
        return SimpleNamespace(text="page two")

    async def _read_approved(
        self, caller: Principal, approval: object, *, line: ClientChannel
    ) -> object:
        self.asked.append(("approved", caller.name, str(approval)))
        answer = await self.tools["approved"]({}, line)
        return SimpleNamespace(answer=answer, call=CallId(UUID(int=7)), kept=None)

    async def _call(
        self,
        caller: Principal,
        ref: ToolRef,
        arguments: JsonObject,
        *,
        verb: object = None,
        line: ClientChannel,
        whole: bool = False,
    ) -> object:
        self.asked.append(("call", caller.name, str(ref), dict(arguments), verb, whole))
        if ref.server != "box" or ref.name not in self.tools:
            raise ToolNotFound(str(ref))
        answer = await self.tools[ref.name](arguments, line)
        return SimpleNamespace(answer=answer, call=CallId(UUID(int=7)), kept=None)

    async def _run_workflow(self, caller: Principal, wish: RunWorkflowSpec) -> object:
        self.asked.append(("workflow", caller.name, wish))
        if isinstance(found := self.reports[0], PorticoError):
            raise found
        return SimpleNamespace(run=SimpleNamespace(id=RUN))

    async def _suggest_workflow(self, caller: Principal, intent: str) -> object:
        self.asked.append(("suggest", caller.name, intent))
        return self.suggestions[0]

    async def _give_feedback(self, caller: Principal, of: object, outcome: object) -> object:
        self.asked.append(("feedback", caller.name, str(of), outcome))
        return SimpleNamespace(id=of, outcome=outcome)

    async def _start_program(self, caller: Principal, wish: ProgramSpec) -> object:
        self.asked.append(("program", caller.name, wish))
        return SimpleNamespace(run=SimpleNamespace(id=RUN))

    async def _wait_for_workflow(
        self, caller: Principal, run: RunId, *, patience: timedelta, line: ClientChannel
    ) -> object:
        self.asked.append(("wait", caller.name, run, patience))
        for number, report in enumerate(self.reports[:-1], 1):
            assert isinstance(report, WorkflowReport)
            await line.progress(float(number), float(len(report.steps)), "running")
        if not isinstance(found := self.reports[-1], WorkflowReport):
            raise NotAWorkflow(str(run), "program")
        return found

    async def _wait_for_program(
        self, caller: Principal, run: RunId, *, patience: timedelta, line: ClientChannel
    ) -> object:
        self.asked.append(("wait for program", caller.name, run, patience))
        await line.progress(1.0, None, "1 call so far")
        return self.reports[-1]

    async def _offers(self, _caller: Principal, server: str | None = None) -> Offers:
        self.asked.append(("offers", server))
        return self.offers

    async def _read_resource(
        self, _caller: Principal, uri: str, *, server: str | None, line: ClientChannel
    ) -> JsonObject:
        if uri not in self.resources:
            raise OfferNotFound("resource", uri)
        its_own = uri if server is not None else whose_uri(uri)[1]
        return {"contents": [{"uri": its_own, **self.resources[uri]}]}

    async def _get_prompt(
        self,
        _caller: Principal,
        name: str,
        arguments: Mapping[str, str],
        *,
        server: str | None,
        line: ClientChannel,
    ) -> JsonObject:
        if name not in self.prompts:
            raise OfferNotFound("prompt", name)
        return await self.prompts[name](arguments, line)

    async def _complete(
        self, _caller: Principal, params: JsonObject, *, server: str | None
    ) -> JsonObject:
        self.asked.append(("complete", dict(params), server))
        return {"completion": {"values": ["paris"], "total": 1, "hasMore": False}}


def hot_tool(name: str, schema: JsonObject | None = None) -> HotTool:
    return HotTool(
        f"box__{name}",
        ToolRef("box", name),
        "Used often.",
        schema or {"type": "object"},
        Effect.LOCAL_READ,
    )


@dataclass
class Socket:
    """On which a face is served, and how clients reach it."""

    port: int
    server: uvicorn.Server

    def http(self, key: str = "ana") -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=30,
            trust_env=False,
            verify=False,  # nothing here is encrypted, and a TLS context takes 40 ms to make
        )

    @asynccontextmanager
    async def client(
        self, mode: str = "auto", *, key: str = "ana", path: str = "/mcp", **more: Any
    ) -> AsyncIterator[Client]:
        async with self.http(key) as http:
            transport = streamable_http_client(
                f"http://127.0.0.1:{self.port}{path}", http_client=http
            )
            async with Client(transport, mode=mode, **more) as client:
                yield client


@dataclass
class Site(Socket):
    gateway: Gateway
    face: McpFace

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@asynccontextmanager
async def on_a_socket(face: McpFace | BridgeFace | DebateFace) -> AsyncIterator[Socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            HostGuard(face, allowed(port, None)),
            http=LineProtocol,
            lifespan="off",
            log_config=None,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        async with face.running():
            config.load()
            server.lifespan = config.lifespan_class(config)
            await server.startup([listener])
            try:
                yield Socket(port, server)
            finally:
                await server.shutdown()


@asynccontextmanager
async def serving(gateway: Gateway) -> AsyncIterator[Site]:
    face = McpFace(gateway.uses())
    async with on_a_socket(face) as made:
        yield Site(made.port, made.server, gateway, face)


async def until(so: Callable[[], object]) -> None:
    """Looks until it is so, or gives up."""
    async with asyncio.timeout(30):
        while not so():  # noqa: ASYNC110 # nothing rings when this becomes so
            await asyncio.sleep(0.01)


ERAS = ("auto", "legacy")
"""As the official client calls them; the first meets the later era."""
