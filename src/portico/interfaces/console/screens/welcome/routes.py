"""Welcome: what is set up, what is left to do, and how to connect a client."""

from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.model_requests import ProviderState
from portico.gateway.core.errors import ServerExists
from portico.gateway.servers import ServerWish
from portico.gateway.surface import WeighContext
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.welcome.clients import clients
from portico.interfaces.console.screens.welcome.first_steps import Weight, first_steps, weight
from portico.interfaces.console.screens.welcome.samples import SAMPLES, offered
from portico.interfaces.console.screens.welcome.server_steps import Progress, progress
from portico.interfaces.http.gateway_use_cases import GatewayUseCases
from portico.kernel.principal import PrincipalKind

_LOOKED_THROUGH: Final = 200
_SAID: Final = {
    "samples": "Added, and not started. Look at each of them, and allow it.",
}


async def show(request: Request) -> Response:
    desk = desk_of(request)
    servers, providers = await _servers(desk), await _providers(desk)
    values = {
        **await _of_servers(desk, servers),
        "providers": providers,
        "steps": first_steps(servers, providers, await _client_seen(desk)),
        "samples": offered([each.name for each in servers.steps]),
        "clients": clients(desk.house.use.base_url),
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    return await page(request, "welcome/page.html", values, title="Welcome")


async def show_servers(request: Request) -> Response:
    """How far they have come, asked for every few seconds."""
    desk = desk_of(request)
    values = await _of_servers(desk, await _servers(desk))
    return part(request, "welcome/_servers.html", values)


async def add_samples(request: Request) -> Response:
    """They are known then, and wait to be allowed as any other does. Raises `NotPermitted`."""
    desk, form = desk_of(request), await form_of(request)
    wanted = [each for each in SAMPLES if each.name in form.many("sample")]
    if not wanted:
        raise BadForm("sample", "must be ticked")
    for each in wanted:
        wish = ServerWish(name=each.name, launch=each.launch)
        try:
            await desk.house.gateway.add_server(desk.caller, wish)
        except ServerExists:
            continue  # it is there, as was asked
    return done("/welcome", "samples")


async def _servers(desk: Desk) -> Progress:
    if not desk.caller.may(Scope.SERVERS_READ):
        return progress([])
    return progress(await desk.house.gateway.list_servers(desk.caller))


async def _of_servers(desk: Desk, servers: Progress) -> dict[str, Any]:
    return {"servers": servers, "weight": await _weight(desk)}


async def _weight(desk: Desk) -> Weight | None:
    if not desk.caller.may(Scope.SERVERS_READ):
        return None
    return weight(await weighing(desk.house.gateway)(desk.caller))


def weighing(gateway: GatewayUseCases) -> WeighContext:
    """The same that `portico init` says at its end, of what the gateway has at hand."""
    return WeighContext(
        servers=gateway.list_servers.servers,
        tools=gateway.list_servers.tools,
        tokenizer=gateway.find_tools.tokenizer,
    )


async def _providers(desk: Desk) -> list[ProviderState]:
    if not desk.caller.may(Scope.MODELS_READ):
        return []
    return [*await desk.house.models.list_providers(desk.caller)]


async def _client_seen(desk: Desk) -> datetime | None:
    """When an agent's key was last used, as far as whoever looks may know."""
    use, caller = desk.house.use, desk.caller
    if not (caller.may(Scope.KEYS_READ) and caller.may(Scope.PRINCIPALS_READ)):
        return None
    people = await use.list_principals(caller, after=None, limit=_LOOKED_THROUGH)
    agents = {each.id for each in people if each.kind is PrincipalKind.AGENT}
    keys = await use.list_keys(caller, after=None, limit=_LOOKED_THROUGH)
    used = [key.last_used_at for key in keys if key.principal in agents and key.last_used_at]
    return max(used, default=None)


routes: Final = [
    Route("/welcome", show, methods=["GET"]),
    Route("/welcome/servers", show_servers, methods=["GET"]),
    Route("/welcome/samples", add_samples, methods=["POST"]),
]
