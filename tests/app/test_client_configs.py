"""The command that a client is told to start, and what is said about it."""

from pathlib import Path

import pytest

from portico.app.app_context import AppContext
from portico.app.client_configs import connections, own_program


def executable(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_the_whole_path_is_given_and_a_link_stays_one(tmp_path: Path) -> None:
    program = executable(tmp_path / "venv/bin/portico")
    link = tmp_path / "bin" / "portico"
    link.parent.mkdir()
    link.symlink_to(program)

    assert own_program(str(link), "/usr/bin/python3") == [str(link)]


def test_as_a_module_it_is_the_program_beside_python_if_there_is_one(tmp_path: Path) -> None:
    program = executable(tmp_path / "portico")

    assert own_program("x/__main__.py", str(tmp_path / "python")) == [str(program)]
    assert own_program("x/__main__.py", "/no/python") == ["/no/python", "-m", "portico"]


def test_which_installation_it_is_is_part_of_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = executable(tmp_path / "archive-v0" / "x" / "bin" / "portico")
    monkeypatch.setattr("sys.argv", [str(cached)])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PORTICO_HOME", str(tmp_path / "p"))
    monkeypatch.setenv("PORTICO_CONFIG", str(tmp_path / "ignored.toml"))
    monkeypatch.delenv("PORTICO_DATABASE__RUN_AS", raising=False)
    monkeypatch.setenv("PORTICO_SERVER__PORT", "3999")
    config = tmp_path / "portico.toml"
    config.write_text("")

    made = connections(AppContext(config))
    proposal = made.proposed("cursor")
    notes = " ".join(proposal.notes)

    assert proposal.entry == {
        "command": str(cached),
        "args": ["--config", str(config), "stdio", "--start"],
        "env": {"PORTICO_HOME": str(tmp_path / "p")},
    }
    assert "portico init" in notes
    assert "is in a cache" in notes
    assert "PORTICO_SERVER__PORT" in notes
    assert notes.endswith("portico config set server.port VALUE")
    assert "PORTICO_CONFIG" not in notes
    assert proposal.also_listed == []
