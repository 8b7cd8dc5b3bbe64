"""The scripted model of `just bench agents` from outside: what it plays, what it was asked."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from benchmarks.agents_model import Asked
from benchmarks.agents_scripts import Script
from portico.bench.processes import answering, free_port

_SERVER: Final = (sys.executable, "-m", "benchmarks.agents_model")


@dataclass(frozen=True, slots=True)
class Stage:
    url: str
    client: httpx2.Client

    @property
    def base(self) -> str:
        """As a provider of models is configured."""
        return f"{self.url}/v1"

    def put(self, script: Script) -> None:
        self.client.put("/scripts", json=script.as_json()).raise_for_status()

    def asked(self) -> list[Asked]:
        """Since it was last forgotten."""
        answer = self.client.get("/asked").raise_for_status()
        return [Asked(**each) for each in answer.json()["asked"]]

    def forget(self) -> None:
        self.client.delete("/asked").raise_for_status()


@contextmanager
def stage(scripts: Sequence[Script], env: Mapping[str, str], log: Path) -> Iterator[Stage]:
    url = f"http://127.0.0.1:{(port := free_port())}"
    with (
        answering([*_SERVER, str(port)], f"{url}/v1/models", env, log),
        httpx2.Client(base_url=url, timeout=30, trust_env=False) as client,
    ):
        made = Stage(url, client)
        for script in scripts:
            made.put(script)
        yield made
