"""What an MCP client is told before it calls anything, at each address that it may come to.

`portico stdio` hands on what these addresses say, and says nothing of its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx2

from portico.adapters.builtin.server import OFFERED
from portico.interfaces.mcp.bridge.server import BridgeFace
from portico.interfaces.mcp.debate.server import DebateFace
from portico.interfaces.mcp.mount import McpFace
from portico.testing.gateway import seen
from tests.interfaces.console.conftest import console_of
from tests.interfaces.console.shop import DROP, FIND, accepted
from tests.interfaces.http.conftest import built
from tests.interfaces.http.table import laid
from tests.interfaces.mcp.doors import BRIDGE, DEBATE, GATEWAY, ONE
from tests.interfaces.mcp.gateway import Socket, on_a_socket
from tests.interfaces.mcp.wire import greet, modern

_ASKED: Final = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
)


async def listings() -> Mapping[str, str]:
    """By the name of the file."""
    site = (await laid(await built())).site
    offered = seen(
        FIND,
        DROP,
        instructions="Customers of a shop.",
        resources=[{"uri": "file:///notes", "name": "notes"}],
        prompts=[{"name": "hello", "arguments": [{"name": "city", "required": True}]}],
    )
    await accepted(console_of(site), offered, server="box")
    told = {"builtin": {"tools": [dict(each.definition) for each in OFFERED]}}
    for face, paths in (
        (McpFace(site.over_mcp), {"mcp": GATEWAY.path, "mcp-server": ONE}),
        (BridgeFace(site.bridge_over_mcp), {"bridge": BRIDGE.path}),
        (DebateFace(site.debates_over_mcp), {"debate": DEBATE.path}),
    ):
        async with on_a_socket(face) as socket:
            for name, path in paths.items():
                told[name] = await _told(socket, site.key, path)
    return {f"{name}.json": json.dumps(each, indent=2) + "\n" for name, each in told.items()}


async def _told(socket: Socket, key: str, path: str) -> dict[str, Any]:
    found = {"initialize": _result(await greet(socket, key=key, path=path))}
    for method in _ASKED:
        found[method] = _result(await modern(socket, method, {}, key=key, path=path))
    return found


def _result(response: httpx2.Response) -> Any:
    lines: Sequence[str] = response.text.splitlines()
    sent = [line.removeprefix("data:") for line in lines if line.startswith("data:")]
    answer = json.loads(sent[-1] if sent else response.text)
    return answer.get("result", answer.get("error"))
