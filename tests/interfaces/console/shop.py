"""A server with tools of several kinds, at a console."""

import re

from portico.gateway.core.calls import ServerListing, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen
from tests.interfaces.console.conftest import Browser

LAUNCH: JsonObject = {"type": "stdio", "command": "serve", "arguments": [], "environment": {}}
FIND: JsonObject = {
    "name": "find_customer",
    "description": "Finds a customer by name.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "As it is written."},
            "limit": {"type": "integer", "default": 10},
            "kind": {"enum": ["person", "firm"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
    },
    "annotations": {"readOnlyHint": True},
}
DROP: JsonObject = {
    "name": "delete_customer",
    "description": "Deletes a customer.",
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
}
HOSTILE = "<img src=x onerror=alert(1)>"


async def offers(console: Browser, *tools: JsonObject, server: str = "shop") -> None:
    """Let in with what is proposed."""
    await accepted(console, seen(*tools), server=server)


async def accepted(console: Browser, offered: ServerListing, *, server: str) -> None:
    """All that it offers, let in."""
    site = console.site
    site.upstreams.offers[server] = offered
    made = await site.ask("POST", "/api/v1/servers", {"name": server, "launch": LAUNCH})
    pin = {"launch_pin": made.json["launch_pin"]}
    await site.ask("POST", f"/api/v1/servers/{server}/approve-launch", pin)
    await site.ask("POST", f"/api/v1/servers/{server}/restart")
    review = await site.ask("GET", f"/api/v1/servers/{server}/review")
    body = {"pin": review.json["pin"], "proposed": "all"}
    await site.ask("POST", f"/api/v1/servers/{server}/accept", body)


async def handed_on(console: Browser, find: JsonObject = FIND, server: str = "shop") -> None:
    """A customer that was found is deleted: one edge is learnt."""
    site = console.site
    await offers(console, find, DROP, server=server)
    site.upstreams.replies[ToolRef(server, "find_customer")] = ToolResult(
        [], structured={"id": "cus-000017"}
    )
    for tool, arguments in (
        (f"{server}.find_customer", {"name": "Ana"}),
        (f"{server}.delete_customer", {"id": "cus-000017"}),
    ):
        made = await site.ask("POST", "/api/v1/calls", {"tool": tool, "arguments": arguments})
        assert made.status == 200, made.json
    await site.lessons.flush()


def pin_in(text: str) -> str:
    found = re.search(r'name="pin" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def once_in(text: str) -> str:
    found = re.search(r'name="once" value="([^"]+)"', text)
    assert found is not None
    return found[1]
