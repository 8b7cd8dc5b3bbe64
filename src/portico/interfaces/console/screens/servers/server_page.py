"""Everything that the page of one server shows."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from portico.gateway.logins import LoginLook
from portico.gateway.servers import ServerLook
from portico.guard.core.oauth_logins import LoginLink
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.servers.server_view import (
    TOOLS,
    Review,
    grants,
    review_view,
    server_view,
    tool_lines,
)
from portico.interfaces.console.screens.servers.view import server_row
from portico.kernel.errors import PorticoError
from portico.kernel.label import LEVELS

WITHIN: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a form on the page came to."""

    problem: PorticoError | None = None
    link: LoginLink | None = None
    start: int = 0


async def whole_page(desk: Desk, name: str, beside: Beside) -> dict[str, Any]:
    gateway, caller = desk.house.gateway, desk.caller
    look = await gateway.show_server(caller, name)
    tools = await gateway.list_tools(caller, server=name)
    start = beside.start
    return {
        **await vitals(desk, look),
        "view": server_view(look),
        "tools": tool_lines(tools, start),
        "tool_count": len(tools),
        "more": f"/servers/{name}?start={start + TOOLS}" if start + TOOLS < len(tools) else None,
        "review": await _review(desk, name),
        "grants": grants(look.held.confinement.profile),
        "login": await _login(desk, look),
        "beside": beside,
        "levels": [*LEVELS],
        "may_write": caller.may(Scope.SERVERS_WRITE),
        "may_approve": caller.may(Scope.SERVERS_APPROVE),
        "may_log_in": caller.may(Scope.TOOLS_WRITE),
    }


async def vitals(desk: Desk, look: ServerLook) -> dict[str, Any]:
    """What is asked for again every few seconds."""
    figures = await desk.house.gateway.show_figures(desk.caller, within=WITHIN)
    its = next((each for each in figures if each.name == look.server.name), None)
    return {
        "row": server_row(look, its),
        "vitals": look.vitals,
        "sees_words": desk.caller.may(Scope.SERVERS_APPROVE),
    }


async def _review(desk: Desk, name: str) -> Review | None:
    if not desk.caller.may(Scope.SERVERS_APPROVE):
        return None
    [found] = await desk.house.gateway.review_servers(desk.caller, name)
    return review_view(found)


async def _login(desk: Desk, look: ServerLook) -> LoginLook | None:
    try:
        return await desk.house.gateway.logins.show(desk.caller, look.server.name)
    except PorticoError:
        return None  # nobody logs in to it
