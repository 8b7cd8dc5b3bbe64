"""Where the programs of real servers are looked for."""

from pathlib import Path

import pytest

from portico.bench.real_programs import PACKAGES, Programs, find_programs


def test_a_program_is_found_where_it_was_said_to_be_and_nothing_is_installed_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    program = tmp_path / "mcp-server-memory"
    program.write_text("#!/usr/bin/env node\n")
    program.chmod(0o755)

    found = find_programs(list(PACKAGES), [tmp_path], None)

    assert found.find("mcp-server-memory") == str(program)
    assert found.command("mcp-server-memory") == ["node", str(program)]
    assert found.missing(["mcp-server-memory", "mcp-server-git"]) == ["mcp-server-git"]
    assert Programs([]).command("mcp-server-git") == ["mcp-server-git"]


def test_what_cannot_be_installed_is_missing_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))

    found = find_programs(["mcp-server-memory"], [], tmp_path / "servers")

    assert found.missing(["mcp-server-memory"]) == ["mcp-server-memory"]
    assert "server-memory@" in capsys.readouterr().err
