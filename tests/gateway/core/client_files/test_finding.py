"""Where each client keeps its file, and whose file a file is."""

import pytest

from portico.gateway.core.client_files.client import names_in, seconds
from portico.gateway.core.client_files.clients import (
    CLIENTS,
    client_of,
    project_files,
    user_files,
)


def test_every_client_has_a_name_of_its_own_and_a_place() -> None:
    assert len({client.name for client in CLIENTS}) == len(CLIENTS) == 9
    assert all(client.user for client in CLIENTS)


def test_files_are_where_the_environment_says() -> None:
    usual = user_files({}, "/home/ana")
    moved = user_files(
        {"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"},
        "/home/ana",
    )

    for path in (
        "/home/ana/.config/Claude/claude_desktop_config.json",
        "/home/ana/Library/Application Support/Claude/claude_desktop_config.json",
        "/home/ana/.claude.json",
        "/home/ana/.cursor/mcp.json",
        "/home/ana/.config/Code/User/mcp.json",
        "/home/ana/Library/Application Support/Code - Insiders/User/mcp.json",
        "/home/ana/.codeium/windsurf/mcp_config.json",
        "/home/ana/.config/zed/settings.json",
        "/home/ana/.codex/config.toml",
        "/home/ana/.gemini/settings.json",
        "/home/ana/.copilot/mcp-config.json",
    ):
        assert path in usual
    for path in (
        "/cfg/Claude/claude_desktop_config.json",
        "/codex/config.toml",
        "/claude/.claude.json",
        "/cfg/zed/settings.json",
    ):
        assert path in moved


def test_a_project_has_files_too() -> None:
    assert {path: client.name for path, client in project_files("/srv").items()} == {
        "/srv/.cursor/mcp.json": "cursor",
        "/srv/.vscode/mcp.json": "vscode",
        "/srv/.zed/settings.json": "zed",
        "/srv/.codex/config.toml": "codex",
        "/srv/.gemini/settings.json": "gemini",
        "/srv/.mcp.json": "mcp-json",
    }


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("/home/ana/.claude.json", "", "claude-code"),
        ("/srv/.cursor/mcp.json", "", "cursor"),
        ("/srv/x.json", '{"context_servers": {}}', "zed"),
        ("/srv/x.json", '{"servers": {}}', "vscode"),
        ("/srv/x.toml", "[mcp_servers.x]", "codex"),
        ("/srv/x.json", '{"mcpServers": {}}', "mcp-json"),
        ("/srv/x.json", "{", "mcp-json"),
    ],
)
def test_a_file_is_known_by_its_place_or_by_its_top(path: str, text: str, name: str) -> None:
    assert client_of(path, text, user_files({}, "/home/ana")).name == name


def test_lists_and_spans_are_taken_as_far_as_they_are_some() -> None:
    assert names_in(["a", 1, "b"]) == ["a", "b"]
    assert names_in("ab") == []
    assert seconds(1500, 0.001) == 1.5
    assert [seconds(each) for each in (0, -1, "5", True, None, 4000)] == [None] * 6
