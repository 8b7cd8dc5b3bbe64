"""aimock, which speaks as OpenAI, Anthropic and Ollama do, and says what a test has told it to."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.real_servers.install import NODE
from tests.scenarios.node_packages import installed
from tests.servers import free_port

PACKAGE, VERSION = "@copilotkit/aimock", "1.43.0"


@dataclass
class MockServer:
    url: str
    _known: int = 0

    def requests(self) -> list[dict[str, Any]]:
        """What it was asked since the last time."""
        with httpx2.Client(base_url=self.url, trust_env=False) as client:
            found: list[dict[str, Any]] = client.get("/__aimock/journal").json()
        before, self._known = self._known, len(found)
        return found[before:]


@contextmanager
def mock_server(fixtures: Sequence[dict[str, Any]], folder: Path) -> Iterator[MockServer]:
    file, port = folder / "fixtures.json", free_port()
    file.write_text(json.dumps({"fixtures": list(fixtures)}))
    program = installed(PACKAGE, VERSION) / "dist" / "cli.js"
    command = [str(NODE), str(program), "--port", str(port), "--fixtures", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    ) as process:
        made = MockServer(f"http://127.0.0.1:{port}")
        try:
            _until_there(made.url, process)
            yield made
        finally:
            process.kill()


def _until_there(url: str, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            httpx2.get(f"{url}/v1/models", trust_env=False)
        except httpx2.TransportError:
            continue
        return
    raise AssertionError("aimock ended before it was there")
