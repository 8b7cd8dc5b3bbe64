"""A server behind a running Portico, let in as an operator does it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.installation import Installation
from tests.servers import free_port

CONFORMANCE = Path(__file__).with_name("conformance_server.py")


def let_in(house: Installation, name: str, launch: dict[str, Any]) -> None:
    """Every tool of it, as one that only reads."""
    with house.client() as client:

        def asked(method: str, path: str, body: Any = None) -> Any:
            answer = client.request(method, f"/servers{path}", json=body)
            assert answer.status_code < 300, answer.text
            return answer.json()

        added = asked("POST", "", {"name": name, "launch": launch})
        asked("POST", f"/{name}/approve-launch", {"launch_pin": added["launch_pin"]})
        asked("POST", f"/{name}/restart")
        review = asked("GET", f"/{name}/review")
        effects = {tool["tool"].partition(".")[2]: "local_read" for tool in review["tools"]}
        asked("POST", f"/{name}/accept", {"pin": review["pin"], "effects": effects})


def conformance_launch(era: str) -> dict[str, Any]:
    return {
        "type": "stdio",
        "command": sys.executable,
        "arguments": [str(CONFORMANCE), era],
    }


@contextmanager
def conformance_over_http() -> Iterator[dict[str, Any]]:
    """The same in a process of its own, which speaks both eras."""
    port = free_port()
    with subprocess.Popen([sys.executable, CONFORMANCE, "http", str(port)]) as process:
        try:
            until = time.monotonic() + 30
            while not _listens(port):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
