"""Serving starts without what only a call needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LATE = {"pydantic_monty", "portico.adapters.monty.interpreter", "portico.adapters.files.folder"}
SCRIPT = """
import sys
from portico.main.builtin import BuiltinDoors, open_builtin
from portico.main.ground import Ground

async def no_box():
    raise NotImplementedError

ground = Ground()
open_builtin(ground, BuiltinDoors(ground), no_box)
print(*sys.modules, sep="\\n")
"""


@pytest.mark.timeout(60)
def test_interpreter_and_files_are_loaded_when_they_are_first_used(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PORTICO_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "portico.adapters.builtin.run_code" in loaded
    assert loaded & LATE == set()
