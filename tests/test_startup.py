"""A command loads what it uses: this is what keeps the start short as rooms are added."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.interfaces.cli.commands import COMMANDS, OPTIONS, overview

HEAVY = {
    "asyncio",
    "cryptography",
    "cyclopts",
    "dbos",
    "fastapi",
    "httpx2",
    "jwt",
    "keyring",
    "opentelemetry",
    "prometheus_client",
    "psycopg",
    "pydantic",
    "pyrage",
    "sqlalchemy",
    "starlette",
    "structlog",
    "tomlkit",
    "uvicorn",
}


def loaded_by(arguments: Sequence[str], home: Path) -> set[str]:
    """The top-level modules that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "portico", *arguments],
        env={**os.environ, "PORTICO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return set(re.findall(r"^import time:.*\|\s+(\w+)", done.stderr, flags=re.MULTILINE))


@pytest.mark.requirement("house:start:loads-late")
@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        ([], set()),
        (["keys", "--help"], {"asyncio", "cyclopts", "httpx2"}),
        (["runs", "--help"], {"asyncio", "cyclopts", "httpx2"}),
        (["debate", "--help"], {"asyncio", "cyclopts", "httpx2"}),
        (["version"], {"cyclopts"}),
        (["config", "show"], {"cyclopts", "pydantic"}),
        (["config", "path"], {"cyclopts", "pydantic"}),
    ],
)
def test_a_command_loads_only_what_it_uses(
    arguments: list[str], needed: set[str], tmp_path: Path
) -> None:
    loaded = loaded_by(arguments, tmp_path)

    assert "portico" in loaded
    assert loaded & HEAVY <= needed


@pytest.mark.requirement("release:import:light")
def test_importing_the_package_takes_next_to_nothing() -> None:
    """Processor time, of the quickest of three: what else runs here does not count."""
    code = "import time; a = time.process_time(); import portico; print(time.process_time() - a)"
    run = [sys.executable, "-c", code]
    took = [float(subprocess.check_output(run, text=True)) for _ in range(3)]

    assert min(took) <= 0.1


def test_the_overview_names_every_command_and_option() -> None:
    extra = {"bench": ("nowhere", "Measure.")}
    text = overview(extra)

    named = {name for group in COMMANDS.values() for name in group} | {"bench"} | set(OPTIONS)
    assert {name for name in named if f"  {name} " not in text} == set()


def test_whoever_reads_only_the_beginning_of_the_overview_is_told_no_more() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "portico"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
