"""A Portico of its own for `portico bench call`, with the two servers behind it let in."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil

from portico.bench.processes import PORTICO, answering, environment
from portico.bench.scratch import free_port, scratch_home

ECHO: Final = (sys.executable, "-m", "portico.bench.call_echo")
BY_HTTP: Final = "echo-http"
BY_STDIO: Final = "echo-stdio"
_NEVER_REACHED: Final = "1000000"
"""A limit of calls a minute; to count against it belongs to what a call costs."""


@dataclass(frozen=True, slots=True)
class House:
    url: str
    key: str
    direct: str
    """The far end itself, over HTTP."""
    process: psutil.Process
    """Whose CPU time is the gateway's."""

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def cpu(self) -> float:
        """Seconds so far, of the server and nothing that it has started."""
        used = self.process.cpu_times()
        return used.user + used.system


@contextmanager
def house(run_as: str) -> Iterator[House]:
    with scratch_home() as home:
        port, far = free_port(), free_port()
        env = _environment(home, port, run_as)
        log = home / "server.log"
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        key = (home / "config" / "client.key").read_text().strip()
        url = f"http://127.0.0.1:{port}"
        with _far_end(far, env, log), answering([*PORTICO, "serve"], f"{url}/readyz", env, log):
            made = House(url, key, f"http://127.0.0.1:{far}/mcp", listening(port))
            _let_in(made, BY_HTTP, {"type": "http", "url": made.direct})
            command = {"type": "stdio", "command": ECHO[0], "arguments": [*ECHO[1:], "stdio"]}
            _let_in(made, BY_STDIO, command)
            yield made


def _environment(home: Path, port: int, run_as: str) -> dict[str, str]:
    return environment(
        PORTICO_HOME=str(home),
        PORTICO_SERVER__PORT=str(port),
        PORTICO_DATABASE__RUN_AS=run_as,
        PORTICO_LIMITS__CALLS_A_MINUTE=_NEVER_REACHED,
        PORTICO_LOG__LEVEL="warning",
    )


@contextmanager
def _far_end(port: int, env: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as stream:
        command = [*ECHO, "http", str(port)]
        with subprocess.Popen(command, env=dict(env), stdout=stream, stderr=stream) as process:
            try:
                yield
            finally:
                process.terminate()


def listening(port: int) -> psutil.Process:
    """Our own child that holds the port."""
    for child in psutil.Process(os.getpid()).children(recursive=True):
        if any(each.laddr.port == port for each in child.net_connections("tcp")):
            return child
    raise RuntimeError("no child of this process listens on the port")


def _let_in(made: House, name: str, launch: Mapping[str, Any]) -> None:
    """As an operator does it: add, approve the launch, look, and say what each tool can change."""
    with httpx2.Client(
        base_url=f"{made.url}/api/v1", headers=made.headers, timeout=60, trust_env=False
    ) as client:

        def asked(method: str, path: str, **sent: Any) -> Any:  # noqa: ANN401 # JSON
            answer = client.request(method, f"/servers{path}", **sent)
            answer.raise_for_status()
            return answer.json()

        added = asked("POST", "", json={"name": name, "launch": launch})
        pin = {"launch_pin": added["launch_pin"]}
        asked("POST", f"/{name}/approve-launch", json=pin)
        asked("POST", f"/{name}/restart")
        review = asked("GET", f"/{name}/review")
        effects = {"echo": "pure", "requests": "local_read"}
        asked("POST", f"/{name}/accept", json={"pin": review["pin"], "effects": effects})
