"""A server under measurement, let in as an operator does it: add, approve, look, accept."""

from collections.abc import Mapping
from typing import Any

import httpx2


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


def let_in(client: httpx2.Client, name: str, launch: Mapping[str, Any]) -> int:
    """How many tools it has."""
    added = asked(client, "POST", "/servers", {"name": name, "launch": launch})
    asked(client, "POST", f"/servers/{name}/approve-launch", {"launch_pin": added["launch_pin"]})
    found = asked(client, "POST", f"/servers/{name}/restart")
    pin = asked(client, "GET", f"/servers/{name}/review")["pin"]
    asked(client, "POST", f"/servers/{name}/accept", {"pin": pin, "proposed": "all"})
    return int(found["tools"])
