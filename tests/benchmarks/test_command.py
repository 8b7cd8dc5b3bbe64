"""Which benchmarks `just bench` has: every one that is here, and those of `portico bench`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.command import app
from portico.bench.command import app as shipped
from portico.interfaces.cli.app import run
from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.house import ScriptedHouse

EXTRA: Mapping[str, tuple[str, str]] = {"bench": ("benchmarks.command:app", "Measure.")}
NAMES = [name for name in app.resolved_commands() if not name.startswith("-")]


@pytest.mark.parametrize("name", NAMES)
def test_each_of_them_says_what_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    done = run(ScriptedHouse(tmp_path), ["bench", name, "--help"], extra=EXTRA)

    assert done == Exit.OK
    assert "--json" in capsys.readouterr().out


def test_what_ships_is_among_them() -> None:
    names = {name for name in shipped.resolved_commands() if not name.startswith("-")}

    assert names < set(NAMES)
