"""A real server of a real model, as a process of its own: llama.cpp with SmolLM2, one thread."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.models.weights import NAME, smollm2
from tests.servers import free_port

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class LlamaServer:
    port: int
    model: str = NAME

    @property
    def url(self) -> str:
        """Where it speaks as Anthropic does; behind `/v1` as OpenAI does."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def llama_server(slots: int = 4) -> Iterator[LlamaServer]:
    made = LlamaServer(free_port())
    command = [sys.executable, "-m", "tests.models.llama_program"]
    given = [str(smollm2()), str(made.port), str(slots), made.model]
    process = subprocess.Popen(
        [*command, *given],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "ready\n" in process.stdout, "it ended before it was ready"
        yield made
    finally:
        process.kill()
        process.communicate()
