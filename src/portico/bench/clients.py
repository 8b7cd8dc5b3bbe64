"""Clients of a server under measurement: REST, as an operator lets servers in, and the least of a
client of the older protocol, which is shown what a model would be."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2

_VERSION: Final = "2025-06-18"
_HELLO: Final = {
    "protocolVersion": _VERSION,
    "capabilities": {},
    "clientInfo": {"name": "portico-bench", "version": "1"},
}


def rest(url: str, key: str) -> httpx2.Client:
    """What is asked is our own server, on loopback."""
    return httpx2.Client(
        base_url=f"{url}/api/v1",
        headers={"Authorization": f"Bearer {key}"},
        timeout=120,
        trust_env=False,
    )


def asked(client: httpx2.Client, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 # JSON
    answer = client.request(method, path, json=body)
    answer.raise_for_status()
    return answer.json()


def let_in(
    client: httpx2.Client,
    name: str,
    launch: Mapping[str, Any],
    effects: Mapping[str, str] | None = None,
) -> int:
    """Add, approve the launch, look, and accept what is proposed, or these effects by tool. Gives
    how many tools it has."""
    added = asked(client, "POST", "/servers", {"name": name, "launch": launch})
    asked(client, "POST", f"/servers/{name}/approve-launch", {"launch_pin": added["launch_pin"]})
    found = asked(client, "POST", f"/servers/{name}/restart")
    pin = asked(client, "GET", f"/servers/{name}/review")["pin"]
    said = {"proposed": "all"} if effects is None else {"effects": effects}
    asked(client, "POST", f"/servers/{name}/accept", {"pin": pin, **said})
    return int(found["tools"])


@dataclass(frozen=True, slots=True)
class McpClient:
    client: httpx2.Client
    url: str

    def listed(self) -> list[dict[str, Any]]:
        return list(self._asked("tools/list", {})["tools"])

    def called(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result in the protocol's own form."""
        return dict(self._asked("tools/call", {"name": tool, "arguments": arguments}))

    def greet(self) -> None:
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO}
        answer = self.client.post(self.url, json=body)
        answer.raise_for_status()
        self.client.headers["Mcp-Session-Id"] = answer.headers.get("mcp-session-id", "")
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.client.post(self.url, json=done).raise_for_status()

    def _asked(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 # JSON
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.client.post(self.url, json=body)
        answer.raise_for_status()
        return _message(answer.text)["result"]


@contextmanager
def mcp_client(url: str, key: str) -> Iterator[McpClient]:
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
    }
    with httpx2.Client(headers=headers, timeout=120, trust_env=False) as client:
        opened = McpClient(client, f"{url}/mcp")
        opened.greet()
        yield opened


def _message(text: str) -> Any:  # noqa: ANN401 # JSON
    """The answer itself, or the last event of a stream, which holds it."""
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    return json.loads(lines[-1] if lines else text)
