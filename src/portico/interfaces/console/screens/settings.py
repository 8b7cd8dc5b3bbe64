"""Settings: secrets, about, and the routes of all their pages."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.guard.core.principals import Scope
from portico.guard.secrets import SecretDetails
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context
from portico.interfaces.console.screens import keys, policy, principals
from portico.interfaces.console.screens.settings_form import tabs
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError

_SAID: Final = {
    "set": "Kept. A server that runs is given it when it is started again.",
    "unset": "Gone. A server that is to be given it does not start any more.",
}


async def show_secrets(request: Request) -> Response:
    return await _drawn(request, page_context(request))


async def set_secret(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        name, value = form.text("name", most=64), _value(form)
        await desk.services.gateway.secrets.set_secret(desk.caller, name, value)
    except PorticoError as error:
        return await _drawn(request, desk, problem=error, name=form.maybe("name", most=64))
    return done("/settings/secrets", "set")


async def unset_secret(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    try:
        await desk.services.gateway.secrets.unset_secret(desk.caller, form.text("name", most=64))
    except PorticoError as error:
        return await _drawn(request, desk, problem=error)
    return done("/settings/secrets", "unset")


def _value(form: Form) -> str:
    """Exactly as it was typed, but for how browsers end lines. Raises `InvalidForm`, which does not
    repeat it."""
    sent = form.fields.get("value", ())
    if len(sent) != 1 or not sent[0].strip():
        raise InvalidForm("value", "must be filled in")
    return sent[0].replace("\r\n", "\n")


async def _drawn(
    request: Request,
    desk: PageContext,
    *,
    problem: PorticoError | None = None,
    name: str | None = None,
) -> Response:
    found, unreachable = await _listed(desk)
    values = {
        "tabs": tabs(desk.caller),
        "secrets": found,
        "unreachable": unreachable,
        "problem": problem,
        "name": name or request.query_params.get("name", "")[:64],
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "settings/secrets.html", values, title="Secrets", status=status)


async def _listed(desk: PageContext) -> tuple[list[SecretDetails], PorticoError | None]:
    """Where they cannot be reached, the page says so. Raises `NotPermitted`."""
    try:
        return [*await desk.services.gateway.secrets.list_secrets(desk.caller)], None
    except PorticoError as error:
        if status_of(error) != 503:
            raise
        return [], error


secrets_routes: Final = [
    Route("/settings/secrets", show_secrets, methods=["GET"]),
    Route("/settings/secrets", set_secret, methods=["POST"]),
    Route("/settings/secrets/unset", unset_secret, methods=["POST"]),
]


async def show_about(request: Request) -> Response:
    desk = page_context(request)
    use, caller = desk.services.use, desk.caller
    values = {
        "tabs": tabs(caller),
        "status": await use.show_status(caller),
        "home": await use.show_space(caller) if caller.may(Scope.SPACE_READ) else None,
        "base_url": use.base_url,
    }
    return await page(request, "settings/about.html", values, title="About")


about_routes: Final = [Route("/settings/about", show_about, methods=["GET"])]

routes: Final = [
    *principals.account_routes,
    *keys.routes,
    *principals.routes,
    *policy.routes,
    *secrets_routes,
    *about_routes,
]
