"""The processes of `just bench workflow` from outside: each is told what to carry out."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.workflow_shapes import Shape
from portico.bench.processes import DidNotAnswer

Timed = Mapping[str, float]
"""`seconds` by the clock, and `cpu` of the process."""


class Child:
    def __init__(self, tells: IO[str], hears: IO[str], log: Path) -> None:
        self._tells = tells
        self._hears = hears
        self._log = log

    def said(self) -> str:
        line = self._hears.readline()
        if not line:
            raise DidNotAnswer(self._log.read_text(encoding="utf-8")[-2000:])
        return line

    def timed(self, way: str, shape: Shape, server: str) -> Timed:
        asked = {"way": way, "server": server, "name": shape.name, "nominal": shape.nominal}
        found: Timed = self.told({**asked, "needs": shape.needs})
        return found

    def told(self, asked: Mapping[str, object]) -> Any:  # noqa: ANN401 # JSON
        self._tells.write(json.dumps(asked) + "\n")
        self._tells.flush()
        return json.loads(self.said())


@contextmanager
def child(
    name: str, env: Mapping[str, str], home: Path, module: str = "benchmarks.workflow_child"
) -> Iterator[Child]:
    """Ready to be told."""
    log = home / f"{name}.log"
    command = [sys.executable, "-m", module, name]
    pipe = subprocess.PIPE
    with (
        log.open("ab") as stream,
        subprocess.Popen(
            command, env=dict(env), stdin=pipe, stdout=pipe, stderr=stream, text=True
        ) as process,
    ):
        if process.stdin is None or process.stdout is None:
            raise DidNotAnswer(name)
        made = Child(process.stdin, process.stdout, log)
        made.said()
        try:
            yield made
        finally:
            process.terminate()
