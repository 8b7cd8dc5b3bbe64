"""What every test of a command may ask for."""

from pathlib import Path

import pytest

from tests.interfaces.cli.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)
