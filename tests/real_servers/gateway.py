"""A running Portico as tests use it: servers are added and approved over REST, called over MCP."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.installation import Installation
from tests.real_servers import scripted

SCRIPT = Path(scripted.__file__)
AT_ONCE = 3
"""How many servers are approved at the same time."""


@dataclass(frozen=True, slots=True)
class Gateway:
    house: Installation

    def add(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        launch = {
            "type": "stdio",
            "command": command[0],
            "arguments": list(command[1:]),
            "environment": dict(environment or {}),
            "folder": None if folder is None else str(folder),
        }
        self._ask("POST", "/servers", {"name": name, "launch": launch})

    def add_http(self, name: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        launch = {"type": "http", "url": url, "headers": dict(headers or {})}
        self._ask("POST", "/servers", {"name": name, "launch": launch})

    def allow(self, name: str) -> None:
        """It may be started."""
        pin = self.server(name)["launch_pin"]
        self._ask("POST", f"/servers/{name}/approve-launch", {"launch_pin": pin})

    def restart(self, name: str) -> None:
        """And ask it what it offers."""
        self._ask("POST", f"/servers/{name}/restart")

    def accept(self, name: str) -> None:
        """Its tools as they are now, with the effects that are proposed for them; nobody is there
        who could be asked about one of them."""
        pin = self._ask("GET", f"/servers/{name}/review")["pin"]
        self._ask("POST", f"/servers/{name}/accept", {"pin": pin, "proposed": "all"})
        rule = {"name": f"let-{name}", "decision": "allow", "tools": [f"{name}.*"], "tainted": True}
        assert self.ask("POST", "/policy/rules", rule).status_code in {201, 409}

    def approve(self, *names: str) -> None:
        def both(name: str) -> None:
            self.allow(name)
            self.restart(name)
            self.accept(name)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            for _ in threads.map(both, names):
                pass

    def remove(self, name: str) -> None:
        self._ask("DELETE", f"/servers/{name}")

    def servers(self) -> list[str]:
        """But for the one that is a part of Portico."""
        listed = self._ask("GET", "/servers")
        return [server["name"] for server in listed if server["origin"] != "portico"]

    def starts(self) -> int:
        """How often servers have been started, all together."""
        return sum(server["vitals"]["starts"] for server in self._ask("GET", "/servers"))

    def server(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"/servers/{name}")
        return found

    def tools(self, server: str) -> dict[str, dict[str, Any]]:
        """All of them by name, with their standing and the door that they are called through."""
        page = self._ask("GET", f"/tools?server={server}&limit=200")
        return {line["tool"]: line for line in page["data"]}

    def verb(self, tool: str) -> str:
        return str(self._ask("GET", f"/tools/{tool}")["call_with"])

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answered = self.ask(method, path, body)
        assert answered.is_success, (method, path, answered.text, self.house.log[-3000:])
        return answered.json() if answered.content else None

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        with self.house.client() as client:
            return client.request(method, path, json=body, timeout=120)

    @asynccontextmanager
    async def client(
        self,
        *,
        mode: str = "auto",
        headers: Mapping[str, str] | None = None,
        door: str = "/mcp",
    ) -> AsyncIterator[Client]:
        given = {**(headers or {}), "Authorization": f"Bearer {self.house.key}"}
        async with (
            httpx2.AsyncClient(headers=given, timeout=120) as http,
            Client(
                streamable_http_client(f"{self.house.url}{door}", http_client=http), mode=mode
            ) as client,
        ):
            yield client


def said(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def script_command(plan: Path) -> list[str]:
    """Without site packages: it starts in no time."""
    return [sys.executable, "-I", "-S", str(SCRIPT), str(plan)]


def write_plan(path: Path, plan: Mapping[str, Any]) -> Path:
    """At once, for somebody may be reading."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(plan))
    draft.rename(path)
    return path


def echo(name: str, description: str = "Say the text again.") -> dict[str, Any]:
    """A tool for a plan."""
    properties = {"text": {"type": "string"}, "seconds": {"type": "number"}}
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {"readOnlyHint": True},
    }
