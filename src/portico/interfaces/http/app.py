"""The HTTP application put together, and the server that runs it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import FrameType
from typing import Any, Final, cast

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from portico.interfaces.http import (
    ag_ui,
    agent_runs,
    agents,
    approvals,
    audit,
    calls,
    conversations,
    debates,
    events,
    health,
    keys,
    messages,
    models,
    policy,
    prefetch,
    principals,
    projects,
    runs,
    secrets,
    servers,
    spaces,
    suggestions,
    tool_graph,
    tools,
    traces,
    work_items,
    workflows,
)
from portico.interfaces.http.authentication import Authentication, Challenging, ProtectedResource
from portico.interfaces.http.middleware import Allowed, BodyLimit, HostGuard
from portico.interfaces.http.problems import (
    Problem,
    on_http_error,
    on_invalid_request,
    on_portico_error,
    on_unexpected,
)
from portico.interfaces.http.schema_names import apply_schema_names
from portico.interfaces.http.streaming import MANNERS, Manners, RawConnection, put_line
from portico.interfaces.http.use_cases import GatewayUseCases, UseCases
from portico.interfaces.http.v1 import chat
from portico.interfaces.http.v1 import models as openai_models
from portico.interfaces.http.v1.shapes import OpenAIErrors
from portico.kernel.errors import PorticoError


class LineProtocol(H11Protocol):
    _line: RawConnection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._line = RawConnection(transport.abort)
        self.app = _with_line(cast("ASGIApp", self.app), self._line)

    def shutdown(self) -> None:
        super().shutdown()
        self._line.end()


def _with_line(app: ASGIApp, line: RawConnection) -> ASGIApp:
    async def lined(scope: Scope, receive: Receive, send: Send) -> None:
        put_line(scope, line)
        await app(scope, receive, send)

    return lined


class GracefulServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, asked: Callable[[], None]) -> None:
        super().__init__(config)
        self._asked = asked

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._asked()
        super().handle_exit(sig, frame)


API = "/api/v1"
PLACES: Final = frozenset(
    {"api", "v1", "healthz", "readyz", "metrics", "join", "oauth", ".well-known"}
)
"""What every address of the application begins with. A browser that asks for anything else is sent
to the console. Named one by one: the framework's own list of routes changes its form."""
_BESIDE: Final = "portico.beside"
"""For whoever observes requests: which of the applications answered."""
_SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""The framework would put addresses with their queries into traces, and could be told by the
environment to send them; requests are observed from outside, without what they carry."""


_ROUTERS: Final = (
    health.router,
    spaces.router,
    principals.router,
    principals.invitations_router,
    keys.router,
    principals.console_links_router,
    policy.router,
    runs.router,
    events.router,
    servers.profiles_router,
    servers.labels_router,
    secrets.logins_router,
    servers.router,
    tools.router,
    prefetch.router,
    tool_graph.router,
    suggestions.proposals_router,
    workflows.checks_router,
    workflows.router,
    workflows.programs_router,
    suggestions.router,
    workflows.saved_router,
    calls.router,
    approvals.router,
    keys.trust_router,
    spaces.contexts_router,
    audit.router,
    secrets.router,
    agent_runs.router,
    ag_ui.router,
    agents.router,
    models.router,
    traces.router,
    traces.stats_router,
    projects.router,
    projects.memory_router,
    projects.attachments_router,
    work_items.leases_router,
    work_items.router,
    conversations.router,
    messages.router,
    messages.declassifications_router,
    conversations.inbox_router,
    conversations.stream_router,
    debates.router,
    debates.guests_router,
    debates.stream_router,
    debates.panel_router,
)

Running = Callable[[], AbstractAsyncContextManager[None]]


def build(  # noqa: PLR0913 # what a face is built of, each named by its caller
    use: UseCases,
    gateway: GatewayUseCases,
    allowed: Allowed,
    running: Running,
    *,
    manners: Manners = MANNERS,
    beside: Mapping[str, ASGIApp] | None = None,
    resource: ProtectedResource | None = None,
    rooms: Mapping[str, object] | None = None,
) -> ASGIApp:
    """`running` is entered while the server runs. What is returned has every wall around it.

    `beside` are applications by the path that they begin at, each with a second wall of its own:
    what is called a thousand times a second does not go through the routes of everything else.
    `resource` is this server to those who give out tokens for it, if any are taken. `rooms` are
    the use cases of the other rooms, each by the name that its routes know it by.
    """
    api = routes(use, gateway, running, manners, resource, rooms=rooms)
    inside = BodyLimit(api, larger=[projects.ADDED])
    walled = Authentication(inside, use.authenticate, use.enter_context)
    every = OpenAIErrors(PathDispatcher(walled, beside) if beside else walled)
    return HostGuard(every if resource is None else Challenging(every, resource), allowed)


class PathDispatcher:
    """To what is `beside`; a person who typed an address that nobody has is shown so by whoever
    has the first page, `/`."""

    def __init__(self, app: ASGIApp, beside: Mapping[str, ASGIApp]) -> None:
        self._app = app
        self._pages = beside.get("/")
        self._beside = {path: (f"{path}/", other) for path, other in beside.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        for exact, (below, other) in self._beside.items():
            if path == exact or path.startswith(below):
                scope[_BESIDE] = exact
                await other(scope, receive, send)
                return
        if self._pages is not None and self._is_lost(scope):
            scope[_BESIDE] = "/"
            await self._pages(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_lost(self, scope: Scope) -> bool:
        """A browser at an address of nobody's; programs are told in their own words."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        headers = Headers(scope=scope)
        browses = "text/html" in headers.get("accept", "") and "authorization" not in headers
        return browses and scope["path"].lstrip("/").partition("/")[0] not in PLACES


def routes(
    use: UseCases,
    gateway: GatewayUseCases,
    running: Running,
    manners: Manners = MANNERS,
    resource: ProtectedResource | None = None,
    *,
    rooms: Mapping[str, object] | None = None,
) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with running():
            yield

    app = FastAPI(
        title="Portico",
        summary="One door for AI agents.",
        version=use.version,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        telemetry=_SILENT,
    )
    for kind, answer in {
        PorticoError: on_portico_error,
        RequestValidationError: on_invalid_request,
        HTTPException: on_http_error,
        Exception: on_unexpected,
    }.items():
        app.add_exception_handler(kind, answer)

    app.state.use_cases = use
    app.state.gateway = gateway
    app.state.manners = manners
    app.state.protected_resource = resource
    for name, use_cases in (rooms or {}).items():
        setattr(app.state, name, use_cases)
    for router in _ROUTERS:
        app.include_router(router, prefix=API)
    app.include_router(health.probes)
    app.include_router(health.metrics_router)
    app.include_router(principals.join_page)
    app.include_router(secrets.pages)
    app.include_router(openai_models.router)
    app.include_router(chat.router)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """The parts of the document that FastAPI cannot know: the bearer key, and our problems."""
    generate = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = generate()
            apply_schema_names(found)
            parts = found["components"]
            parts["schemas"].update(_schemas())
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            found["security"] = [{"key": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # FastAPI's documented way


def _schemas() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    found: dict[str, Any] = {**schema.pop("$defs"), "Problem": schema}
    ours = {"components": {"schemas": found}}
    apply_schema_names(ours)
    return ours["components"]["schemas"]
