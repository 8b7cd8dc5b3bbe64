"""What each client's file says, with the quirks of each."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from portico.gateway.core.client_configs import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CODEX,
    CURSOR,
    GEMINI,
    MCP_JSON,
    PORTICO_TOML,
    VSCODE,
    WINDSURF,
    ZED,
    Client,
)
from portico.gateway.core.launch import to_json
from portico.gateway.core.servers import Http
from tests.gateway.core.client_files.reading import by_name, left_out, said, text_of

DESKTOP = "/home/ana/.config/Claude/claude_desktop_config.json"
CODE = "/home/ana/.claude.json"
PROJECT = "/srv/shop/.mcp.json"
CURSORS = "/srv/shop/.cursor/mcp.json"
CODES = "/srv/shop/.vscode/mcp.json"
SURF = "/home/ana/.codeium/windsurf/mcp_config.json"
ZEDS = "/home/ana/.config/zed/settings.json"
TOML = "/home/ana/.codex/config.toml"
GEMINIS = "/home/ana/.gemini/settings.json"
OURS = "/home/ana/.config/portico/portico.toml"

FILES = [
    (CLAUDE_DESKTOP, "claude_desktop_config.json", DESKTOP),
    (CLAUDE_CODE, "claude.json", CODE),
    (MCP_JSON, "mcp.json", PROJECT),
    (CURSOR, "cursor-mcp.json", CURSORS),
    (VSCODE, "vscode-mcp.json", CODES),
    (WINDSURF, "mcp_config.json", SURF),
    (ZED, "zed-settings.json", ZEDS),
    (CODEX, "codex-config.toml", TOML),
    (GEMINI, "gemini-settings.json", GEMINIS),
    (PORTICO_TOML, "portico.toml", OURS),
]


@pytest.mark.requirement("gateway:import:secrets-stay")
@pytest.mark.parametrize(("client", "file", "path"), FILES, ids=[each[0].name for each in FILES])
def test_no_secret_leaves_its_file(client: Client, file: str, path: str) -> None:
    text = text_of(file)

    told = said(client, text, path)

    assert told.wishes
    assert "SECRET" in text or client in (MCP_JSON, VSCODE, CURSOR, CLAUDE_CODE)
    assert "SECRET" not in repr(told)


@pytest.mark.parametrize(("client", "file", "path"), FILES, ids=[each[0].name for each in FILES])
def test_each_file_is_read_with_its_clients_quirks(client: Client, file: str, path: str) -> None:
    """What is read of the files in `files` stands in `read`."""
    told = said(client, text_of(file), path)

    assert {
        "for_a_project": told.for_a_project,
        "servers": [{**asdict(wish), "launch": to_json(wish.launch)} for wish in told.wishes],
        "problems": [asdict(problem) for problem in told.problems],
    } == json.loads(Path(__file__).with_name("read").joinpath(f"{client.name}.json").read_text())


def test_portico_does_not_stand_behind_its_own_door() -> None:
    text = """{"mcpServers": {
        "a": {"command": "/usr/bin/portico", "args": ["stdio"]},
        "b": {"command": "uvx", "args": ["portico", "stdio"]},
        "c": {"url": "http://localhost:3100/mcp"},
        "d": {"command": "portico-tools", "args": ["stdio"]},
        "e": {"url": "http://localhost:3200/mcp"}
    }}"""

    assert list(by_name(said(CLAUDE_DESKTOP, text, DESKTOP))) == ["d", "e"]


def test_in_a_file_for_all_projects_there_is_no_project_to_name() -> None:
    told = said(CURSOR, text_of("cursor-mcp.json"), "/home/ana/.cursor/mcp.json")

    assert not told.for_a_project
    assert left_out(told) == {"notes": "it names ${workspaceFolder}, which only its client knows"}


def test_what_zed_could_not_read_either_is_told() -> None:
    for written in ("5", '{"command": {}}', '{"command": {"path": 1}}'):
        told = said(ZED, f'{{"context_servers": {{"x": {written}}}}}', ZEDS)

        assert not told.wishes, written
        assert [each.server for each in told.problems] == ["x"], written


def test_codex_headers_that_are_none_are_passed_over() -> None:
    text = """
        [mcp_servers.x]
        url = "https://x.example"
        env_http_headers = { A = 1 }
        tool_timeout_sec = true
        [mcp_servers.y]
        url = "https://y.example"
        env_http_headers = 5
        tool_timeout_sec = 100000
    """

    found = by_name(said(CODEX, text, TOML))

    assert found["x"].launch == Http("https://x.example", transport="streamable")
    assert found["y"].launch == Http("https://y.example", transport="streamable")
    assert (found["x"].timeout, found["y"].timeout) == (None, None)


def test_gemini_uses_only_what_it_allows() -> None:
    text = """{"mcp": {"allowed": ["a"]}, "mcpServers": {
        "a": {"command": "a"}, "b": {"command": "b"}}}"""

    told = said(GEMINI, text, GEMINIS)

    assert [wish.enabled for wish in told.wishes] == [True, False]
