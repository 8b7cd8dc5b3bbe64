"""Which benchmarks `portico bench` has."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.interfaces.cli.app import run
from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.house import ScriptedHouse

EXTRA: Mapping[str, tuple[str, str]] = {"bench": ("portico.bench.command:app", "Measure.")}
KEPT = ["start", "call", "context", "search", "first-minute"]


@pytest.mark.parametrize("name", KEPT)
def test_each_of_them_says_what_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    done = run(ScriptedHouse(tmp_path), ["bench", name, "--help"], extra=EXTRA)

    assert done == Exit.OK
    assert f"portico bench {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ahead", "debate"])
def test_another_one_is_an_unknown_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    done = run(ScriptedHouse(tmp_path), ["bench", name], extra=EXTRA)

    assert done == Exit.USAGE
    assert name in capsys.readouterr().err
