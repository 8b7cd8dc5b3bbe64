"""The HTTP face put together: walls outside, routes inside."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.interfaces.http import (
    ag_ui,
    agent_runs,
    agents,
    ahead,
    approvals,
    attachments,
    audit,
    bridge_stream,
    calls,
    console_links,
    contexts,
    conversations,
    debate_guests,
    debate_panel,
    debate_stream,
    debates,
    declassifications,
    events,
    graph,
    health,
    inbox,
    invitations,
    keys,
    leases,
    logins,
    memory,
    messages,
    metrics,
    models,
    openai_chat,
    openai_models,
    plan_checks,
    policy,
    principals,
    programs,
    projects,
    proposals,
    runs,
    saved_workflows,
    secrets,
    server_labels,
    server_profiles,
    servers,
    spaces,
    stats,
    suggestions,
    tools,
    traces,
    trust,
    work,
    workflows,
)
from portico.interfaces.http.authentication import Authentication
from portico.interfaces.http.body_limit import BodyLimit
from portico.interfaces.http.challenge import Challenging, ProtectedResource
from portico.interfaces.http.gateway_use_cases import GatewayUseCases
from portico.interfaces.http.host_guard import Allowed, HostGuard
from portico.interfaces.http.lasting import MANNERS, Manners
from portico.interfaces.http.openai_errors import OpenAIErrors
from portico.interfaces.http.problems import (
    Problem,
    on_http_error,
    on_invalid_request,
    on_portico_error,
    on_unexpected,
)
from portico.interfaces.http.schema_names import apply_schema_names
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.errors import PorticoError

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
    invitations.router,
    keys.router,
    console_links.router,
    policy.router,
    runs.router,
    events.router,
    server_profiles.router,
    server_labels.router,
    logins.router,
    servers.router,
    tools.router,
    ahead.router,
    graph.router,
    proposals.router,
    plan_checks.router,
    workflows.router,
    programs.router,
    suggestions.router,
    saved_workflows.router,
    calls.router,
    approvals.router,
    trust.router,
    contexts.router,
    audit.router,
    secrets.router,
    agent_runs.router,
    ag_ui.router,
    agents.router,
    models.router,
    traces.router,
    stats.router,
    projects.router,
    memory.router,
    attachments.router,
    leases.router,
    work.router,
    conversations.router,
    messages.router,
    declassifications.router,
    inbox.router,
    bridge_stream.router,
    debates.router,
    debate_guests.router,
    debate_stream.router,
    debate_panel.router,
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
    inside = BodyLimit(api, larger=[attachments.ADDED])
    walled = Authentication(inside, use.authenticate, use.enter_context)
    every = OpenAIErrors(Doors(walled, beside) if beside else walled)
    return HostGuard(every if resource is None else Challenging(every, resource), allowed)


class Doors:
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
    app.include_router(metrics.router)
    app.include_router(invitations.join_page)
    app.include_router(logins.pages)
    app.include_router(openai_models.router)
    app.include_router(openai_chat.router)
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
